"""Pairs and splits become flows: the settings of each half or part, and their paths in the file."""

from typing import Any

import pytest

from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape, expand
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.topology.connectors import StartFrom
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_topology


def expanded(**replication: Any) -> list[ExpandedFlow]:
    return list(expand(parse_topology(a_topology(replications={"ledger": replication}))))


def a_pair(**overrides: Any) -> dict[str, Any]:
    return {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"], **overrides}


def a_split(**overrides: Any) -> dict[str, Any]:
    parts = {"fast": {"topics": ["orders"]}, "bulk": {"topics": ["logs-.*"]}}
    split = {"kind": "split", "source": "useast", "target": "uswest", "groups": ["audit"], "parts": parts}
    return {**split, **overrides}


def test_a_pair_is_a_guarded_identity_flow_in_each_direction() -> None:
    halves = expanded(**a_pair())
    assert [(half.name, half.settings.source, half.settings.target) for half in halves] == [
        ("ledger-to-uswest", "useast", "uswest"),
        ("ledger-to-useast", "uswest", "useast"),
    ]
    for half in halves:
        assert half.shape is FlowShape.PREFIXLESS_PAIR
        assert half.settings.policy is Policy.IDENTITY
        assert half.settings.loop_guard
        assert not half.settings.offset_syncs.enabled
        assert not half.settings.connectors.checkpoint.enabled
        assert half.settings.connectors.heartbeat.enabled


def test_only_the_first_part_of_a_split_has_heartbeats() -> None:
    """If two source connectors replicated heartbeats, each heartbeat would be written twice."""
    parts = expanded(**a_split())
    assert [
        (part.name, part.settings.replicate_heartbeats, part.settings.connectors.heartbeat.enabled) for part in parts
    ] == [
        ("ledger-fast", True, True),
        ("ledger-bulk", False, False),
    ]
    assert [part.settings.topics for part in parts] == [("orders",), ("logs-.*",)]


def test_a_problem_of_a_half_or_part_is_reported_at_its_path_in_the_file() -> None:
    (half, _), (fast, _) = expanded(**a_pair()), expanded(**a_split())
    assert half.where("target") == "replications.ledger.between"
    assert half.where("offsetSyncs.enabled") == "replications.ledger.offsetSyncs.enabled"
    assert half.where("policy") == "replications.ledger.kind"
    assert half.where("connectors.checkpoint") == "replications.ledger.kind"
    assert half.where("namespace.create") == "replications.ledger.createNamespaces"
    assert half.where("connectors.source.config") == "replications.ledger.connectors.source.config"
    assert half.where("topics.0") == "replications.ledger.topics.0"
    assert fast.where("topics.0") == "replications.ledger.parts.fast.topics.0"
    assert fast.where("replicateHeartbeats") == "replications.ledger.parts"
    assert fast.where("loopGuard") == "replications.ledger.kind"
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
def test_every_flow_of_a_replication_inherits_start_from(replication: dict[str, Any]) -> None:
    flows = expanded(**replication, startFrom="latest")
    assert [flow.settings.start_from for flow in flows] == [StartFrom.LATEST] * 2
