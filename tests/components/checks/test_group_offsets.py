"""Two identity flows into one target are reported if both sync the same group's offsets in the same topic."""

from typing import Any

import pytest

from components.checks import check_topology
from components.contract.problems import Severity
from components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology

IDENTITY: dict[str, Any] = {"target": "c", "policy": "identity", "topics": ["orders"], "groups": ["billing-.*"]}
OTHER: dict[str, Any] = {**IDENTITY, "source": "b"}


def reported(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The problems of two flows."""
    clusters = {alias: a_cluster(bootstrapServers=f"{alias}.example.com:9093") for alias in "abc"}
    flows = {"first": a_flow(**first), "second": a_flow(**second)}
    found = check_topology(parse_topology(a_topology(clusters=clusters, replications=flows)))
    problems = [problem for problem in found if problem.code == "group-offsets-mixed"]
    assert all(problem.severity is Severity.WARNING for problem in problems)
    return [problem.what for problem in problems]


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
