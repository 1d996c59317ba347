"""Group offsets that mean nothing on the target: two identity flows into one target sync the same group in the same
topic, or two guarded flows in opposite directions translate offsets of the same topic.
"""

from typing import Any

import pytest

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import Problem, Severity
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology

IDENTITY: dict[str, Any] = {"target": "c", "policy": "identity", "topics": ["orders"], "groups": ["billing-.*"]}
OTHER: dict[str, Any] = {**IDENTITY, "source": "b"}


def problems_of(code: str, first: dict[str, Any], second: dict[str, Any]) -> list[Problem]:
    """The problems of two flows with a code, which are warnings."""
    clusters = {alias: a_cluster(bootstrapServers=f"{alias}.example.com:9093") for alias in "abc"}
    flows = {"first": a_flow(**first), "second": a_flow(**second)}
    every_problem = check_topology(parse_topology(a_topology(clusters=clusters, replications=flows)))
    problems = [problem for problem in every_problem if problem.code == code]
    assert all(problem.severity is Severity.WARNING for problem in problems)
    return problems


def reported(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What two flows are told about mixed offsets."""
    return [problem.what for problem in problems_of("group-offsets-mixed", first, second)]


def test_the_warning_names_a_group_and_a_topic_that_both_flows_sync() -> None:
    (what,) = reported({**IDENTITY, "source": "a", "topics": ["orders", "payments"]}, OTHER)
    assert what.endswith("both sync offsets of groups such as `billing-` in `orders` from a and b")


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({**OTHER, "groups": ["shipping-.*"]}, id="other groups"),
        pytest.param({**OTHER, "groupsExclude": ["billing-.*"]}, id="groups excluded"),
        pytest.param({**OTHER, "topics": ["payments"]}, id="other topics"),
        pytest.param({**OTHER, "syncGroupOffsets": False}, id="groups not synced"),
        pytest.param({**OTHER, "policy": "default"}, id="other topic names on the target"),
        pytest.param({**OTHER, "connectors": {"checkpoint": {"enabled": False}}}, id="no checkpoints"),
        pytest.param({**OTHER, "source": "c", "target": "b", "loopGuard": True}, id="another target"),
        pytest.param({**OTHER, "source": "a"}, id="the same source"),
        pytest.param({**OTHER, "groups": ["("]}, id="an invalid group pattern"),
    ],
)
def test_nothing_is_reported_if_a_groups_offsets_come_from_one_source_only(second: dict[str, Any]) -> None:
    assert reported({**IDENTITY, "source": "a"}, second) == []


def test_an_invalid_group_exclusion_excludes_nothing() -> None:
    """The invalid pattern is reported separately."""
    assert reported({**IDENTITY, "source": "a"}, {**OTHER, "groupsExclude": ["("]}) != []


OUT: dict[str, Any] = {**IDENTITY, "source": "a", "loopGuard": True}
BACK: dict[str, Any] = {**OUT, "source": "c", "target": "a"}
NO_CHECKPOINT: dict[str, Any] = {"groups": [], "connectors": {"checkpoint": {"enabled": False}}}


def test_two_guarded_flows_are_told_why_a_pair_translates_no_offsets() -> None:
    """Each side holds the records in its own order: a translated offset skips records, and nothing else shows it."""
    first, second = problems_of("offsets-both-ways", OUT, BACK)
    assert (first.where, second.where) == ("replications.first.groups", "replications.second.groups")
    assert first.what == (
        "the flow translates offsets in `orders`, and replications.second replicates the topic in the other direction"
    )
    assert "skips records of `c` that it has not read on `a`. For this reason, a `prefixlessPair`" in first.why


def test_only_the_flow_that_translates_is_told() -> None:
    (problem,) = problems_of("offsets-both-ways", {**OUT, **NO_CHECKPOINT}, BACK)
    assert problem.where == "replications.second.groups"


@pytest.mark.parametrize(
    "checkpoint",
    [
        pytest.param({"config": {"emit.checkpoints.enabled": False}}, id="it writes none"),
        pytest.param({"state": "stopped"}, id="it is stopped"),
    ],
)
def test_a_checkpoint_connector_that_does_not_work_translates_nothing(checkpoint: dict[str, Any]) -> None:
    idle = {**OUT, "connectors": {"checkpoint": checkpoint}}
    (problem,) = problems_of("offsets-both-ways", idle, BACK)
    assert problem.where == "replications.second.groups"


@pytest.mark.parametrize(
    "back",
    [
        pytest.param({**BACK, "topics": ["payments"]}, id="other topics"),
        pytest.param({**BACK, "target": "b"}, id="to another cluster"),
        pytest.param(OUT, id="the same direction"),
        pytest.param({**BACK, "policy": "default", "loopGuard": False}, id="under another name"),
        pytest.param(
            {
                **BACK,
                "topics": [],
                "connectors": {"sources": {"one": {"topics": ["o.*"], "topicsExclude": ["orders"]}}},
            },
            id="excluded by its only source connector",
        ),
    ],
)
def test_offsets_are_translated_if_no_guarded_flow_replicates_the_topic_back(back: dict[str, Any]) -> None:
    assert problems_of("offsets-both-ways", OUT, back) == []


def test_the_remedy_leaves_nothing_to_report() -> None:
    assert problems_of("offsets-both-ways", {**OUT, **NO_CHECKPOINT}, {**BACK, **NO_CHECKPOINT}) == []
