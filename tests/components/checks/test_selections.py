"""A selection that replicates nothing is reported: the connector would run without any error."""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology


def reported(**flow: Any) -> list[tuple[str, str]]:
    problems = check_topology(parse_topology(a_topology(a_flow(**flow))))
    return [(problem.code, problem.where.removeprefix("replications.orders.")) for problem in problems]


@pytest.mark.parametrize(
    ("topic", "policy"),
    [
        pytest.param("mm2-offsets.uswest.internal", "identity", id="MirrorMaker's internal topics"),
        pytest.param("orders.replica", "identity", id="Kafka's own exclusions"),
        pytest.param("uswest.orders", "default", id="a topic that came from the target"),
        pytest.param("eu.heartbeats", "default", id="heartbeats, which are replicated anyway"),
        pytest.param("órdenes", "default", id="a character that no topic has"),
        pytest.param("a{250}", "default", id="longer than any topic"),
    ],
)
def test_a_topic_that_is_never_replicated_is_reported(topic: str, policy: str) -> None:
    assert reported(topics=["orders", topic], policy=policy) == [("nothing-selected", "topics.1")]


@pytest.mark.parametrize(("version", "codes"), [("3.9.1", ["nothing-selected"]), ("4.0.0", []), ("4.2.1", [])])
@pytest.mark.parametrize("topic", ["orders-internal", "orders.internal"])
def test_a_topic_that_ends_like_an_internal_one_is_replicated_from_kafka_4_on(
    topic: str, version: str, codes: list[str]
) -> None:
    connect = {"version": version, "image": "registry.example.com/connect:1"}
    assert [code for code, _ in reported(topics=[topic], connect=connect)] == codes


def test_the_identity_policy_may_select_a_topic_with_the_targets_alias_as_prefix() -> None:
    assert reported(topics=["uswest.orders"], policy="identity") == []


def test_a_topic_that_is_both_selected_and_excluded_is_reported() -> None:
    assert reported(topics=["orders", "payments"], topicsExclude=["ord.*"]) == [("selected-and-excluded", "topics.0")]


def test_each_of_several_source_connectors_must_select_a_topic() -> None:
    sources = {"fast": {"topics": ["orders"]}, "bulk": {"topics": ["logs"]}}
    problems = reported(topics=[], topicsExclude=["logs"], connectors={"sources": sources})
    assert problems == [("selected-and-excluded", "connectors.sources.bulk.topics.0")]


def test_a_group_that_kafka_itself_excludes_is_reported() -> None:
    assert reported(groups=["checkout", "connect-sink"]) == [("selected-and-excluded", "groups.1")]


@pytest.mark.parametrize("policy", ["default", "identity"])
def test_an_invalid_exclusion_does_not_stop_the_overlap_check(policy: str) -> None:
    """The overlap check must not try to match the invalid exclusion."""
    topology = a_topology(a_flow(topics=[".*"], topicsExclude=["("], policy=policy))
    topology["replications"]["back"] = a_flow(source="uswest", target="useast", topics=["ledger"], policy="default")
    topology["replications"]["more"] = a_flow(topics=["ledger"], policy=policy)
    codes = {problem.code for problem in check_topology(parse_topology(topology))}
    assert codes == {"bad-pattern", "topics-overlap"}


@pytest.mark.parametrize("pattern", ["m.*", "_.*", "h.*", "[a-z]*", "heartbeats|orders"])
def test_a_pattern_that_also_matches_internal_topics_is_accepted(pattern: str) -> None:
    """MirrorMaker skips internal topics by itself."""
    assert reported(topics=[pattern]) == []


def test_a_pattern_that_cannot_be_judged_does_not_hide_a_mistake_in_another_entry() -> None:
    problems = reported(topics=[r"\p{Alpha}+", "heartbeats"])
    assert problems == [("pattern-not-judged", "topics.0"), ("heartbeats-selected", "topics.1")]


@pytest.mark.parametrize(
    ("topics", "codes"),
    [(["(?i)orders", "payments"], ["pattern-not-judged"]), (["payments", "(?i)orders"], [])],
    ids=["an entry after it", "the last entry"],
)
def test_a_regex_flag_is_reported_only_if_another_entry_follows_it(topics: list[str], codes: list[str]) -> None:
    assert [code for code, _ in reported(topics=topics)] == codes


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        (r"[b\..*]", r"write `(b\..*)` if a group was meant; otherwise remove `*`."),
        ("orders-[eu|us]", "write `orders-(eu|us)` if a group was meant; otherwise remove `|`."),
        ("[a-z]+-[eu?].*", "write `[a-z]+-(eu?).*` if a group was meant; otherwise remove `?`."),
        ("orders.*|pay/.*", "correct or remove it."),
        ("(orders|pay ments).*", "correct or remove it."),
    ],
)
@pytest.mark.parametrize("key", ["topics", "topicsExclude"])
def test_a_part_of_a_pattern_that_matches_no_topic_is_reported(key: str, pattern: str, remedy: str) -> None:
    topology = parse_topology(a_topology(a_flow(**{"topics": ["ledger"], key: ["ledger", pattern][key != "topics" :]})))
    found = [(problem.code, problem.severity.value, problem.remedy) for problem in check_topology(topology)]
    assert found == [("part-never-matches", "warning", remedy)]


def test_an_exclusion_that_matches_no_topic_at_all_is_reported() -> None:
    assert reported(topicsExclude=["orders/.*"]) == [("part-never-matches", "topicsExclude.0")]


@pytest.mark.parametrize(
    "pattern",
    ["[a-z]+", "orders-[0-9][0-9]?", "[^*]+", r"orders-[\w.]+", "x[.]y.*", "(eu|us)-(?!a).*", r"a\.(b|c)*", "[]a]+x"],
)
def test_a_class_or_a_group_that_topic_names_can_match_is_accepted(pattern: str) -> None:
    assert [code for code, _ in reported(topics=[pattern]) if code != "pattern-not-judged"] == []


def test_a_class_in_a_pattern_of_groups_may_have_any_character() -> None:
    assert reported(groups=["checkout[-|]eu"]) == []
