"""Which offsets of a mirror go to which source connector of a flow."""

from pathlib import Path
from typing import Any

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.deploy.adoption.moves import connectors_of, offset_moves
from tests.infra.deploy.adoption.test_moves import KEYS, snapshot

ORDERS, CARDS = TopicPartition("orders", 0), TopicPartition("payments-cards", 1)


def parameters(folder: Path, **keys: Any) -> FlowParameters:
    flow = {key: value for key, value in {"kind": "flow", **KEYS, **keys}.items() if value is not None}
    return flow_parameters(snapshot(folder / "flow", {"replications": {"orders": flow}}).deployments["orders"].flows[0])


def test_each_topic_goes_to_the_connector_that_selects_it_and_heartbeats_go_to_the_first(tmp_path: Path) -> None:
    topics = ["orders", "payments-cards", "audit", "heartbeats", "eucentral.heartbeats"]
    assert connectors_of(parameters(tmp_path), ["orders-source"], topics) == dict.fromkeys(
        ["orders", "payments-cards", "heartbeats", "eucentral.heartbeats"], "orders-source"
    )


def test_each_source_connector_of_a_flow_gets_the_offsets_of_its_topics(tmp_path: Path) -> None:
    sources = {"first": {"topics": ["orders"]}, "second": {"topics": ["payments-.*"]}}
    flow = parameters(tmp_path, topics=None, connectors={"sources": sources})
    names = ["orders-source-first", "orders-source-second"]
    found = connectors_of(flow, names, ["orders", "payments-cards", "heartbeats"])
    assert found == {"orders": names[0], "payments-cards": names[1], "heartbeats": names[0]}


def test_offsets_that_connect_has_already_stored_are_not_set_again() -> None:
    mirrored = {ORDERS: 41, CARDS: 7}
    connectors = {"orders": "a", "payments-cards": "b"}
    moves = offset_moves(mirrored, connectors, {("a", ORDERS): 41})
    assert [(each.connector, each.partition, each.stored) for each in moves] == [("b", CARDS, 7)]
    assert offset_moves(mirrored, connectors, {("a", ORDERS): 41, ("b", CARDS): 7}) == []


def test_an_offset_left_by_an_earlier_connector_of_the_same_name_is_removed() -> None:
    """Otherwise the flow would skip the records before that offset, in a partition that the mirror has never copied."""
    left = TopicPartition("orders", 1)
    (move,) = offset_moves({ORDERS: 41}, {"orders": "a"}, {("a", ORDERS): 41, ("a", left): 99})
    assert (move.partition, move.stored) == (left, None)


def test_offsets_of_a_topic_that_no_connector_selects_are_not_carried() -> None:
    assert offset_moves({ORDERS: 41}, {}, {}) == []
