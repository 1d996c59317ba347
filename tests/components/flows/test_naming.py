"""Derived names, as Kafka's replication policies and Strimzi derive them."""

import pytest

from kafka_replication.components.flows.naming import (
    config_map_name,
    offset_syncs_topic_name,
    replication_policy,
    service_account_name,
)
from kafka_replication.components.topology.model import Flow
from tests.builders import a_flow


def flow(**overrides: object) -> Flow:
    return Flow.model_validate(a_flow(**overrides))


@pytest.mark.parametrize(
    ("overrides", "topic", "remote"),
    [
        pytest.param({}, "orders", "useast.orders", id="the default policy prefixes"),
        pytest.param({"separator": "_"}, "orders", "useast_orders", id="with the flow's separator"),
        pytest.param({"policy": "identity"}, "orders", "orders", id="identity keeps the name"),
        pytest.param({"policy": "identity"}, "heartbeats", "useast.heartbeats", id="identity prefixes heartbeats"),
        pytest.param(
            {"policy": "identity"},
            "app-heartbeats",
            "useast.app-heartbeats",
            id="identity prefixes names that end like heartbeats",
        ),
    ],
)
def test_the_replication_policy_names_the_remote_topic(overrides: dict[str, object], topic: str, remote: str) -> None:
    assert replication_policy(flow(**overrides)).remote(topic) == remote


@pytest.mark.parametrize(
    ("overrides", "topic"),
    [
        pytest.param({}, "mm2-offset-syncs.uswest.internal", id="on the source, named after the target"),
        pytest.param(
            {"offsetSyncs": {"location": "target"}},
            "mm2-offset-syncs.useast.internal",
            id="on the target, named after the source",
        ),
        pytest.param({"separator": "_"}, "mm2-offset-syncs_uswest_internal", id="with the flow's separator"),
    ],
)
def test_offset_syncs_are_kept_in_the_topic_named_after_the_other_cluster(
    overrides: dict[str, object], topic: str
) -> None:
    assert offset_syncs_topic_name(flow(**overrides)) == topic


@pytest.mark.parametrize(
    ("overrides", "topic"),
    [({}, "useast.checkpoints.internal"), ({"separator": "_"}, "useast_checkpoints_internal")],
    ids=["default separator", "another separator"],
)
def test_checkpoints_are_named_after_the_source(overrides: dict[str, object], topic: str) -> None:
    assert replication_policy(flow(**overrides)).checkpoints_topic == topic


def test_a_config_map_with_other_content_has_another_name() -> None:
    """Under the same name a connector would keep the values that it read when it started."""
    first = config_map_name("orders", "source", {"alias": "useast"})
    assert first != config_map_name("orders", "source", {"alias": "uswest"})
    assert first == config_map_name("orders", "source", {"alias": "useast"})


def test_the_service_account_is_the_one_that_strimzi_makes() -> None:
    assert service_account_name("orders") == "orders-connect"
