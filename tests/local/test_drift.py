"""Drift on a running flow: what somebody changed past the program is named, and the remedies mend it."""

from typing import Any

import httpx
import pytest
from confluent_kafka.admin import AdminClient
from kubernetes import client

from components.specs.config_maps import replication_config_map
from infra import deployment
from infra.local import operator_part
from infra.local.traffic import create_topics
from infra.local.users import ADMIN
from infra.local.waiting import NotYetError, wait_for
from infra.review.cluster import compare_with_cluster
from infra.review.comparison import Comparison
from spark.report import Verdict
from tests.local.flows import ARRIVAL_SECONDS, READY_SECONDS, Deployed, told

_STRIMZI = ("kafka.strimzi.io", "v1")
_NAMESPACE = "mirror-orders"
_JSON_PATCH = "application/json-patch+json"
_HAND: dict[str, Any] = {"field_manager": "somebody", "_request_timeout": 20}


def _compared(deployed: Deployed) -> Comparison:
    return compare_with_cluster("local", deployed.settings.stacks)


def _expect_clean(deployed: Deployed) -> None:
    found = _compared(deployed)
    if found.drift or found.objects:
        raise NotYetError(f"{found.drift} {found.objects}")


@pytest.fixture(autouse=True)
def _clean(deployed: Deployed) -> None:
    """A deployment as Pulumi, the API server and the operator leave it has neither drift nor a change."""
    wait_for("no drift", lambda: _expect_clean(deployed), ARRIVAL_SECONDS)


def test_what_was_changed_by_hand_is_named_and_mended_by_its_remedy(deployed: Deployed) -> None:
    custom, core = client.CustomObjectsApi(deployed.api), client.CoreV1Api(deployed.api)
    config_map = replication_config_map(deployed.flow("ledger")).name
    place = (*_STRIMZI, _NAMESPACE)
    more = {"spec": {"tasksMax": deployed.connector("orders-source")["spec"]["tasksMax"] + 1}}
    custom.patch_namespaced_custom_object(*place, "kafkaconnectors", "orders-source", more, **_HAND)
    edit = {"spec": {"state": "paused", "config": {"made.by.hand": "1"}}}
    custom.patch_namespaced_custom_object(*place, "kafkaconnectors", "orders-heartbeat", edit, **_HAND)
    custom.delete_namespaced_custom_object(*place, "kafkaconnectors", "orders-checkpoint")
    core.delete_namespaced_config_map(config_map, "mirror-ledger")
    found = _compared(deployed)
    named = {(each.code, each.where, each.by) for each in found.drift}
    assert named >= {
        ("field-edited", f"KafkaConnector {_NAMESPACE}/orders-source", "somebody"),
        ("field-edited", f"KafkaConnector {_NAMESPACE}/orders-heartbeat", "somebody"),
        ("field-added", f"KafkaConnector {_NAMESPACE}/orders-heartbeat", "somebody"),
        ("object-missing", f"KafkaConnector {_NAMESPACE}/orders-checkpoint", ""),
        ("object-missing", f"ConfigMap mirror-ledger/{config_map}", ""),
    }
    assert {(each.change.value, each.name) for each in found.objects} == {
        ("changed", "orders-source"),
        ("changed", "orders-heartbeat"),
        ("added", "orders-checkpoint"),
        ("added", config_map),
    }
    assert "topics-stop" not in {each.code for each in found.effects}, "its connectors still run with what it said"
    assert set(deployment.up(deployed.settings, lambda _: None)) == {"same"}, "Pulumi's state has no drift"
    deployment.up(deployed.settings, lambda _: None, refresh=True)
    deployment.wait_ready(deployed.settings, READY_SECONDS)
    left = _compared(deployed)
    assert [each.code for each in left.drift] == ["field-added"], left
    assert '{"op":"remove","path":"/spec/config/made.by.hand"}' in left.drift[0].remedy
    remove = [{"op": "remove", "path": "/spec/config/made.by.hand"}]
    custom.patch_namespaced_custom_object(
        *place, "kafkaconnectors", "orders-heartbeat", remove, _content_type=_JSON_PATCH, **_HAND
    )
    wait_for("no drift", lambda: _expect_clean(deployed), ARRIVAL_SECONDS)


def test_a_connector_paused_over_connects_rest_interface_is_resumed_by_the_operator(deployed: Deployed) -> None:
    """It shows as drift for no longer than the operator takes to reconcile; a spec that says paused is another test."""
    ports = [worker.port for worker in operator_part.workers()]
    answers = [
        httpx.put(f"http://127.0.0.1:{port}/connectors/orders-heartbeat/pause", trust_env=False) for port in ports
    ]
    assert 202 in [answer.status_code for answer in answers]
    wait_for("the connector to run again", lambda: _expect_running(ports), ARRIVAL_SECONDS)
    wait_for("no drift", lambda: _expect_clean(deployed), ARRIVAL_SECONDS)


def _expect_running(ports: list[int]) -> None:
    for port in ports:
        status = httpx.get(f"http://127.0.0.1:{port}/connectors/orders-heartbeat/status", trust_env=False)
        if status.status_code == 200 and status.json()["connector"]["state"] == "RUNNING":
            return
    raise NotYetError("paused")


def test_a_topic_made_by_hand_where_a_remote_topic_belongs_is_named(deployed: Deployed) -> None:
    target = deployed.endpoints.regions["uswest"]
    admin = AdminClient(target.client_config(ADMIN))
    create_topics(target, {"useast.payments-made-by-hand": 1})
    try:
        outcome = deployed.validate()
    finally:
        (removed,) = admin.delete_topics(["useast.payments-made-by-hand"]).values()
        removed.result(timeout=20)
    assert outcome.verdict is Verdict.PASS, told(outcome)
    assert "foreign-topic: useast.payments-made-by-hand on uswest has the name of orders's remote topic" in told(
        outcome
    )
