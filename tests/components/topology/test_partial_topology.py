"""A topology with mistakes in its form is checked as far as possible, and no mistake causes a second report."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.components.topology.partial_topology import partial_topology
from tests.builders import a_cluster, a_flow, a_topology


def found_beside(data: dict[str, Any]) -> set[tuple[str, str]] | None:
    """The code and path of each problem that the checks find besides the mistakes in the form."""
    left = partial_topology(data)
    if left is None:
        return None
    problems = [*check_topology(left.certain), *(problem for alone in left.alone for problem in check_topology(alone))]
    return {(problem.code, problem.where) for problem in problems if left.is_certain(problem.where)}


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param({"offsetSync": {"lagMax": 3}}, id="a misspelt key"),
        pytest.param({"quantity": 3}, id="an unknown key"),
        pytest.param({"policy": "identiy"}, id="a value that is not accepted"),
        pytest.param({"connect": {"replicas": "many"}}, id="a value of another type"),
        pytest.param({"topics": "orders"}, id="text for a list"),
    ],
)
def test_a_mistake_is_found_despite_one_in_the_form_of_the_same_replication(mistake: dict[str, Any]) -> None:
    assert found_beside(a_topology(a_flow(target="useast", **mistake))) == {
        ("equal-aliases", "replications.orders.target")
    }


def test_a_misspelt_key_is_not_also_reported_as_missing() -> None:
    flow = a_flow(groops=["checkout"], topcs=["orders"])
    del flow["topics"], flow["groups"]
    assert found_beside(a_topology(flow)) == set()


def test_nothing_is_reported_as_missing_beside_an_unknown_key() -> None:
    flow = a_flow(selection=["orders"])
    del flow["topics"]
    assert found_beside(a_topology(flow)) == set()


def test_a_cluster_with_a_mistake_is_not_also_reported_as_unknown() -> None:
    topology = a_topology(a_flow(connectors={"source": {"config": {"producer.override.acks": "0"}}}))
    del topology["clusters"]["useast"]["region"]
    assert found_beside(topology) == set()


def test_replications_without_mistakes_are_checked_against_each_other() -> None:
    topology = a_topology()
    topology["replications"] |= {"again": a_flow(), "broken": a_flow(source=[])}
    codes = {code for code, _ in found_beside(topology) or ()}
    assert "topics-overlap" in codes


@pytest.mark.parametrize("top", ["strimzi", "clusters", "replications"])
def test_nothing_is_checked_if_a_top_level_key_is_missing(top: str) -> None:
    topology = a_topology(a_flow(target="useast"))
    del topology[top]
    assert found_beside(topology) is None


def test_a_version_without_quotation_marks_does_not_stop_the_checks() -> None:
    assert found_beside(a_topology(a_flow(target="useast"), strimzi=1.2)) == {
        ("equal-aliases", "replications.orders.target")
    }


def paths(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*path, key)
        yield from paths(value, (*path, key))


def with_one_mistake(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The data with each of its keys misspelt and garbled in turn, and each of its values replaced."""
    for path in paths(data):
        for kind in ("misspelt", "garbled", "a mapping", "empty"):
            changed = copy.deepcopy(data)
            parent: Any = changed
            for part in path[:-1]:
                parent = parent[part]
            key = path[-1]
            if kind in ("a mapping", "empty"):
                parent[key] = {"other": 1} if kind == "a mapping" else None
            elif isinstance(key, str):
                entries = {
                    (key[:-1] if kind == "misspelt" else "zzz") if path == key else path: parent[path]
                    for path in parent
                }
                parent.clear()
                parent.update(entries)
            yield f"{'.'.join(map(str, path))} {kind}", changed


def test_a_single_mistake_causes_no_second_report() -> None:
    """Each possible mistake in the form of a correct topology, one at a time; the checks find nothing besides it."""
    flow = a_flow(
        policy="identity",
        loopGuard=True,
        offsetSyncs={"location": "target", "lagMax": 10},
        tuning={"preset": "throughput", "roundTripMilliseconds": 70, "bytesPerSecondPerPartition": 1_000_000},
        quota={"hard": {"limits.memory": "4Gi"}},
        connect={"replicas": 2, "resources": {"limits": {"memory": "2Gi"}}, "jvmOptions": {"-Xmx": "1g"}},
        connectors={"source": {"tasksMax": 2, "config": {"producer.override.linger.ms": 5}}},
    )
    clusters = {
        "useast": a_cluster(
            bootstrapServers="kafka.useast.example.com:9093", kafkaUser={"cluster": "k", "namespace": "n"}
        ),
        "uswest": a_cluster("us-west-2", bootstrapServers="kafka.uswest.example.com:9093"),
    }
    topology = a_topology(flow, clusters=clusters)
    topology["replications"]["back"] = a_flow(
        source="uswest", target="useast", topics=["stock"], loopGuard=True, policy="identity"
    )
    assert set(check_topology(parse_topology(topology))) == set()
    mistakes = 0
    for mistake, changed in with_one_mistake(topology):
        try:
            parse_topology(changed)
        except ReplicationError:
            mistakes += 1
            # A cluster that the file does not declare under the name that flows use is a mistake of its own.
            beside = {problem_ for problem_ in found_beside(changed) or () if problem_[0] != "unknown-alias"}
            assert beside == set(), mistake
    assert mistakes > 200
