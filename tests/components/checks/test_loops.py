"""A ring in which records would circulate forever is reported by its path; a policy or a guard can stop it."""

from time import process_time
from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.clusters import check_addresses
from kafka_replication.components.contract.problems import Problem, Severity
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology

IDENTITY = {"policy": "identity"}
GUARDED = {**IDENTITY, "loopGuard": True}
DEFAULT: dict[str, Any] = {}


def reported(*ways: tuple[str, dict[str, Any]]) -> list[str]:
    """The paths of the rings that are reported for these flows."""
    problems = loops_of(*ways)
    assert all(problem.severity is Severity.ERROR for problem in problems)
    return [problem.what.partition(",")[0].rpartition("the ring ")[2] for problem in problems]


def loops_of(*ways: tuple[str, dict[str, Any]]) -> list[Problem]:
    """The loops reported for these flows; each flow is given as `source-target` and its settings."""
    aliases = sorted({alias for way, _ in ways for alias in way.split("-")})
    clusters = {alias: a_cluster(bootstrapServers=f"{alias}.example.com:9093") for alias in aliases}
    flows = {}
    for way, more in ways:
        source, target = way.split("-")
        flows[f"{source}{target}"] = a_flow(**{"source": source, "target": target, "topics": [".*"], **more})
    problems = check_topology(parse_topology(a_topology(clusters=clusters, replications=flows)))
    return [problem for problem in problems if problem.code == "replication-loop"]


@pytest.mark.parametrize(
    ("ways", "paths"),
    [
        pytest.param(
            [("a-b", IDENTITY), ("b-c", IDENTITY), ("c-a", IDENTITY)], ["a -> b -> c -> a"], id="three clusters"
        ),
        pytest.param(
            [("a-b", GUARDED), ("b-c", IDENTITY), ("c-a", GUARDED)], ["b -> c -> a -> b"], id="one without the guard"
        ),
        pytest.param([("a-b", DEFAULT), ("b-a", IDENTITY)], ["b -> a -> b"], id="each round adds a prefix"),
        pytest.param(
            [("a-b", IDENTITY), ("b-c", DEFAULT), ("c-a", IDENTITY)], ["a -> b -> c -> a"], id="both policies in three"
        ),
        pytest.param(
            [("a-b", IDENTITY), ("b-a", IDENTITY), ("b-c", DEFAULT), ("c-b", IDENTITY)],
            ["a -> b -> a", "c -> b -> c"],
            id="two rings through one cluster",
        ),
        pytest.param([("a-b", DEFAULT), ("b-a", GUARDED)], ["a -> b -> a"], id="only the default flow lacks the guard"),
        pytest.param(
            [("a-b", GUARDED), ("b-c", DEFAULT), ("c-a", GUARDED)],
            ["b -> c -> a -> b"],
            id="the same with three clusters",
        ),
    ],
)
def test_a_ring_that_nothing_stops_is_reported_by_its_path(
    ways: list[tuple[str, dict[str, Any]]], paths: list[str]
) -> None:
    assert reported(*ways) == paths


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param([("a-b", DEFAULT), ("b-a", DEFAULT)], id="the default policy knows what came from its target"),
        pytest.param([("a-b", DEFAULT), ("b-c", IDENTITY), ("c-a", DEFAULT)], id="also after a flow that keeps names"),
        pytest.param([("a-b", GUARDED), ("b-c", GUARDED), ("c-a", GUARDED)], id="the guard on every flow"),
        pytest.param([("a-b", {**DEFAULT, "loopGuard": True}), ("b-a", GUARDED)], id="the guard under both policies"),
        pytest.param(
            [("a-b", {"topics": ["orders"]}), ("b-a", {**IDENTITY, "topics": ["orders"]})],
            id="the topic comes back under another name",
        ),
        pytest.param(
            [("a-b", {"topics": ["orders"]}), ("b-a", {**IDENTITY, "topics": ["a.orders"]})], id="records go round once"
        ),
        pytest.param(
            [("a-b", IDENTITY), ("b-a", {**IDENTITY, "topics": ["__x.*"]})], id="topics that are never replicated"
        ),
    ],
)
def test_a_ring_that_a_policy_guard_or_selection_stops_is_not_reported(ways: list[tuple[str, dict[str, Any]]]) -> None:
    assert reported(*ways) == []


def test_a_longer_ring_is_reported_beside_a_shorter_one_that_ends() -> None:
    """A record that comes back through b-a is in topic `b.orders`, which b-a does not select."""
    ending = {"topics": ["orders"]}
    assert reported(("a-b", IDENTITY), ("b-a", ending), ("b-c", IDENTITY), ("c-a", IDENTITY)) == ["a -> b -> c -> a"]


def test_flows_with_different_separators_are_told_to_use_the_same() -> None:
    (problem,) = loops_of(("a-b", DEFAULT), ("b-a", {"separator": "_"}))
    assert (problem.where, problem.what.partition(",")[0], problem.why, problem.remedy) == (
        "replications.ab.separator",
        "flows with the default policy and different separators form the ring a -> b -> a",
        "Each flow recognizes remote topics by its own separator, here `.` or `_`. So it takes the topics that the "
        "others wrote for original ones, and each round adds a prefix.",
        "set the same `separator` on `ab`, `ba`, or select different topics.",
    )


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        ([("a-b", DEFAULT), ("b-a", IDENTITY)], "the flow with the default policy only adds a prefix"),
        (
            [("a-b", DEFAULT), ("b-c", IDENTITY), ("c-d", DEFAULT), ("d-a", IDENTITY)],
            "the flows with the default policy only add a prefix",
        ),
    ],
)
def test_a_ring_of_both_policies_says_why_the_default_policy_does_not_stop_it(
    ways: list[tuple[str, dict[str, Any]]], said: str
) -> None:
    assert [said in problem.why for problem in loops_of(*ways)] == [True]


def test_a_ring_of_clusters_that_all_have_one_address_is_judged_in_seconds() -> None:
    """Such as `kafka:9092` in each Kubernetes cluster. A search that visits each alias anew for each two takes minutes
    for a large fleet.
    """
    aliases = [f"c{number}" for number in range(100)]
    clusters = {alias: a_cluster(bootstrapServers="kafka:9092", region="here") for alias in aliases}
    flows = {
        f"{source}{target}": a_flow(source=source, target=target)
        for source, target in zip(aliases, [*aliases[1:], aliases[0]], strict=True)
    }
    topology, began = parse_topology(a_topology(clusters=clusters, replications=flows)), process_time()
    problems = list(check_addresses(topology, {}))
    assert process_time() - began < 3
    assert {(problem.code, problem.severity) for problem in problems} == {("same-cluster", Severity.ERROR)}
    assert len(problems) == 100 * 99 / 2
