"""A selection that replicates nothing is reported: the connector would run without any error."""

from typing import Any

import pytest

from components.checks import check_topology
from components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology


def reported(**flow: Any) -> list[tuple[str, str]]:
    found = check_topology(parse_topology(a_topology(a_flow(**flow))))
    return [(problem.code, problem.where.removeprefix("replications.orders.")) for problem in found]


@pytest.mark.parametrize(
    ("topic", "policy"),
    [
        pytest.param("mm2-offsets.uswest.internal", "identity", id="MirrorMaker's internal topics"),
        pytest.param("orders.replica", "identity", id="Kafka's own exclusions"),
        pytest.param("uswest.orders", "default", id="what came from the target"),
        pytest.param("eu.heartbeats", "default", id="heartbeats, which pass by themselves"),
        pytest.param("órdenes", "default", id="a character that no topic has"),
        pytest.param("a{250}", "default", id="longer than any topic"),
    ],
)
def test_a_topic_that_is_never_replicated_is_told(topic: str, policy: str) -> None:
    assert reported(topics=["orders", topic], policy=policy) == [("nothing-selected", "topics.1")]


@pytest.mark.parametrize(("version", "codes"), [("3.9.1", ["nothing-selected"]), ("4.0.0", []), ("4.2.1", [])])
@pytest.mark.parametrize("topic", ["orders-internal", "orders.internal"])
def test_a_topic_that_ends_like_an_internal_one_is_replicated_from_kafka_4_on(
    topic: str, version: str, codes: list[str]
) -> None:
    connect = {"version": version, "image": "registry.example.com/connect"}
    assert [code for code, _ in reported(topics=[topic], connect=connect)] == codes


def test_a_topic_of_the_targets_name_is_one_like_any_other_under_the_identity_policy() -> None:
    assert reported(topics=["uswest.orders"], policy="identity") == []


def test_a_topic_that_an_exclusion_takes_away_is_reported_at_the_topic() -> None:
    assert reported(topics=["orders", "payments"], topicsExclude=["ord.*"]) == [("selected-and-excluded", "topics.0")]


def test_each_of_several_source_connectors_is_held_to_select_something() -> None:
    sources = {"fast": {"topics": ["orders"]}, "bulk": {"topics": ["logs"]}}
    found = reported(topics=[], topicsExclude=["logs"], connectors={"sources": sources})
    assert found == [("selected-and-excluded", "connectors.sources.bulk.topics.0")]


def test_a_group_that_kafka_itself_excludes_is_told() -> None:
    assert reported(groups=["checkout", "connect-sink"]) == [("selected-and-excluded", "groups.1")]


@pytest.mark.parametrize("policy", ["default", "identity"])
def test_an_exclusion_that_does_not_compile_is_reported_beside_a_pattern_that_it_may_meet(policy: str) -> None:
    """The comparison of selections must not try to match it."""
    topology = a_topology(a_flow(topics=[".*"], topicsExclude=["("], policy=policy))
    topology["replications"]["back"] = a_flow(source="uswest", target="useast", topics=["ledger"], policy="default")
    topology["replications"]["more"] = a_flow(topics=["ledger"], policy=policy)
    codes = {problem.code for problem in check_topology(parse_topology(topology))}
    assert codes == {"bad-pattern", "topics-overlap"}


@pytest.mark.parametrize("pattern", ["m.*", "_.*", "h.*", "[a-z]*", "heartbeats|orders"])
def test_a_pattern_may_match_internal_topics_beside_others(pattern: str) -> None:
    """MirrorMaker leaves them out by itself."""
    assert reported(topics=[pattern]) == []


def test_a_pattern_that_is_not_judged_hides_no_mistake_of_another_entry() -> None:
    found = reported(topics=[r"\p{Alpha}+", "heartbeats"])
    assert found == [("pattern-not-judged", "topics.0"), ("heartbeats-selected", "topics.1")]


@pytest.mark.parametrize(
    ("topics", "codes"),
    [(["(?i)orders", "payments"], ["pattern-not-judged"]), (["payments", "(?i)orders"], [])],
    ids=["an entry after it", "the last entry"],
)
def test_a_flag_matters_only_to_the_entries_after_it(topics: list[str], codes: list[str]) -> None:
    assert [code for code, _ in reported(topics=topics)] == codes
