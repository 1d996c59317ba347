"""Every remedy for a pair names a key that a pair has. A pair becomes two flows, whose keys nobody can write."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_topology


def problem_of(pair: dict[str, Any], target: str = "uswest") -> tuple[str, str]:
    """Where the one problem of a pair is, and its remedy."""
    given = {"kind": "prefixlessPair", "between": ["useast", target], "topics": ["ledger"], **pair}
    clusters = {"useast": a_cluster(), target: a_cluster("us-west-2", bootstrapServers="kafka.uswest.example.com:9093")}
    problems = check_topology(parse_topology(a_topology(given, clusters=clusters)))
    ((where, remedy),) = {(problem.where.removeprefix("replications.orders."), problem.remedy) for problem in problems}
    return where, remedy


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("offset.lag.max", "remove it; set `offsetSyncs.lagMax` of the pair."),
        ("replication.policy.class", "remove it; a pair has no `policy`."),
        ("replication.policy.separator", "remove it; set `separator` of the pair."),
        ("source.cluster.alias", "remove it; set `between` of the pair."),
        ("sync.group.offsets.enabled", "remove it here; a pair has no checkpoint connector."),
        ("groupsPattern", "remove it; a pair has no `groups`."),
        ("auto.offset.reset", "set `startFrom` of the pair."),
    ],
)
def test_the_remedy_for_a_property_names_a_key_of_the_pair(key: str, remedy: str) -> None:
    problem = problem_of({"connectors": {"source": {"config": {key: "1"}}}})
    assert problem == (f"connectors.source.config.{key}", remedy)


def test_an_objective_of_groups_can_only_be_removed() -> None:
    assert problem_of({"objectives": {"readAgain": 10}}) == ("objectives.readAgain", "remove `readAgain`.")


def test_a_name_that_is_wrong_because_of_an_alias_is_reported_at_the_aliases() -> None:
    """The replication's own name is right, so renaming it would not help."""
    assert problem_of({}, target="usWest") == ("between", "rename it, for example to `uswest`.")


def test_a_name_that_only_an_alias_makes_too_long_is_not_blamed_on_the_replication() -> None:
    where, remedy = problem_of({}, target="a" * 60)
    assert remedy.startswith(
        f"shorten the replication's name, or the alias `{'a' * 60}`, which these names contain, by"
    )
    assert where == "replications.orders"


def test_a_workers_property_that_several_connectors_have_is_not_sent_to_one_that_a_pair_lacks() -> None:
    problem = problem_of({"connect": {"config": {"consumer.poll.timeout.ms": 1}}})
    assert problem == (
        "connect.config.consumer.poll.timeout.ms",
        "remove it here; set it at `connectors.source.config`.",
    )


def test_a_topic_name_that_no_cluster_can_have_is_not_blamed_on_the_alias() -> None:
    remedy = "correct it; no cluster can have a topic of this name."
    assert problem_of({"topics": ["a" * 250]}) == ("topics", remedy)
