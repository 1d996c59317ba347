"""Pairs and splits are flows: what each half or part is given, and where the file says it."""

from typing import Any

import pytest

from components.expansion import NamedFlow, Shape, expand
from components.model import Policy, StartFrom
from components.parsing import parse_topology
from tests.builders import a_topology


def expanded(**replication: Any) -> list[NamedFlow]:
    return list(expand(parse_topology(a_topology(replications={"ledger": replication}))))


def a_pair(**overrides: Any) -> dict[str, Any]:
    return {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"], **overrides}


def a_split(**overrides: Any) -> dict[str, Any]:
    parts = {"fast": {"topics": ["orders"]}, "bulk": {"topics": ["logs-.*"]}}
    split = {"kind": "split", "source": "useast", "target": "uswest", "groups": ["audit"], "parts": parts}
    return {**split, **overrides}


def test_a_pair_is_a_guarded_identity_flow_in_each_direction() -> None:
    halves = expanded(**a_pair())
    assert [(half.name, half.flow.source, half.flow.target) for half in halves] == [
        ("ledger-to-uswest", "useast", "uswest"),
        ("ledger-to-useast", "uswest", "useast"),
    ]
    for half in halves:
        assert half.shape is Shape.PREFIXLESS_PAIR
        assert half.flow.policy is Policy.IDENTITY
        assert half.flow.loop_guard
        assert not half.flow.offset_syncs.enabled
        assert not half.flow.connectors.checkpoint.enabled
        assert half.flow.connectors.heartbeat.enabled


def test_the_first_part_of_a_split_alone_has_the_heartbeats() -> None:
    """Two source connectors that replicate heartbeats would write each of them twice."""
    parts = expanded(**a_split())
    assert [(part.name, part.flow.replicate_heartbeats, part.flow.connectors.heartbeat.enabled) for part in parts] == [
        ("ledger-fast", True, True),
        ("ledger-bulk", False, False),
    ]
    assert [part.flow.topics for part in parts] == [("orders",), ("logs-.*",)]


def test_a_problem_of_a_half_or_part_is_told_where_the_file_says_it() -> None:
    (half, _), (fast, _) = expanded(**a_pair()), expanded(**a_split())
    assert half.where("target") == "replications.ledger.between"
    assert half.where("topics.0") == "replications.ledger.topics.0"
    assert fast.where("topics.0") == "replications.ledger.parts.fast.topics.0"
    assert fast.where("groups.0") == "replications.ledger.groups.0"
    assert fast.where() == "replications.ledger.parts.fast"


@pytest.mark.parametrize(
    "replication",
    [
        pytest.param(a_pair(), id="both halves of a pair"),
        pytest.param(a_split(), id="every part of a split"),
        pytest.param({"kind": "mirrorMaker2", "between": ["useast", "uswest"], "topics": ["ledger"]}, id="mirrors"),
    ],
)
def test_every_flow_of_a_replication_starts_where_that_says(replication: dict[str, Any]) -> None:
    flows = expanded(**replication, startFrom="latest")
    assert [each.flow.start_from for each in flows] == [StartFrom.LATEST] * 2
