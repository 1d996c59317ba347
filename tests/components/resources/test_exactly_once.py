"""Exactly-once as one setting: what it sets in workers and connectors, and the step that running workers need."""

from typing import Any

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.deployments import flow_objects
from kafka_replication.components.render.kafka_connectors import connector_config
from kafka_replication.components.render.planned_objects import ObjectRole
from kafka_replication.components.resources.registration import refuse_exactly_once
from tests.builders import a_resolved_flow

SUPPORT = "exactly.once.source.support"


def worker_config(**overrides: Any) -> dict[str, Any]:
    objects = {planned.role: planned.manifest for planned in flow_objects(a_resolved_flow(**overrides))}
    return dict(objects[ObjectRole.CONNECT]["spec"]["config"])


@pytest.mark.parametrize(("step", "support"), [("disabled", None), ("preparing", "preparing"), ("enabled", "enabled")])
def test_each_step_sets_exactly_once_support_of_the_workers(step: str, support: str | None) -> None:
    assert worker_config(exactlyOnce=step).get(SUPPORT) == support


def test_only_the_enabled_step_has_connectors_that_require_exactly_once() -> None:
    """Preparing workers refuse a connector that already requires exactly-once."""
    usual, preparing, enabled = (
        connector_config(a_resolved_flow(exactlyOnce=step), "source") for step in ("disabled", "preparing", "enabled")
    )
    assert preparing == usual
    assert dict(enabled.items() - usual.items()) == {
        "exactly.once.support": "required",
        "source.consumer.isolation.level": "read_committed",
    }


def test_heartbeats_keep_their_offsets_and_transactions_on_the_source() -> None:
    """Otherwise the connector would read offsets from the target within a transaction on the source, and fail."""
    config = connector_config(a_resolved_flow(exactlyOnce="enabled"), "heartbeat")
    for prefix in ("consumer.override.", "admin.override."):
        assert {key: value for key, value in config.items() if key.startswith(prefix)} == {
            key.replace("producer.override.", prefix): value
            for key, value in config.items()
            if key.startswith("producer.override.")
        }


@pytest.mark.parametrize(
    "inputs",
    [
        {"kind": "KafkaConnect", "spec": {"config": {"group.id": "mirror"}}},
        {"kind": "KafkaConnect", "spec": {"config": {SUPPORT: "disabled"}}},
        {"kind": "KafkaConnect", "spec": {"config": {f"consumer.{SUPPORT}": "enabled"}}},
        {"kind": "KafkaMirrorMaker2", "spec": {"clusters": [{"alias": "a"}, {"alias": "b", "config": {}}]}},
    ],
    ids=["not set", "disabled", "of a client, which does not know it", "in no cluster of a KafkaMirrorMaker2"],
)
def test_running_workers_may_not_enable_exactly_once_in_one_step(inputs: dict[str, Any]) -> None:
    with pytest.raises(CannotRunError, match=r"at replications\.orders\.exactlyOnce.*exactlyOnce: preparing") as caught:
        refuse_exactly_once("replications.orders.exactlyOnce", inputs)
    assert str(caught.value).startswith("exactly-once-in-one-step: ")


@pytest.mark.parametrize("support", ["preparing", "enabled"])
@pytest.mark.parametrize("place", ["spec.config", "spec.target.config", "spec.clusters"])
def test_prepared_workers_may_enable_exactly_once(support: str, place: str) -> None:
    places: dict[str, Any] = {
        "spec.config": {"config": {SUPPORT: support}},
        "spec.target.config": {"target": {"config": {SUPPORT: support}}},
        "spec.clusters": {"clusters": [{"alias": "a"}, {"alias": "b", "config": {SUPPORT: support}}]},
    }
    refuse_exactly_once("replications.orders.exactlyOnce", {"spec": places[place]})
