"""Drift on a running flow: manual changes are reported, and the remedies repair them."""

from functools import partial
from typing import Any

import httpx
import pytest
from kubernetes import client, watch

from kafka_replication.components.render.kafka_connectors import replication_config_map
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.review.comparison import Comparison, Drift
from kafka_replication.infra.review.drift import running_otherwise
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.stack.session import OpenStack
from tests.local.flows import ARRIVAL_SECONDS, READY_SECONDS, Deployed, suspended

_STRIMZI = ("kafka.strimzi.io", "v1")
_NAMESPACE = "mirror-orders"
_HEARTBEAT = "orders-heartbeat"
_JSON_PATCH = "application/json-patch+json"
_HAND: dict[str, Any] = {"field_manager": "somebody", "_request_timeout": 20}


def _compared(deployed: Deployed) -> Comparison:
    return compare_with_cluster(OpenStack(deployed.settings))


def _expect_clean(deployed: Deployed) -> None:
    found = _compared(deployed)
    if found.drift or found.objects:
        raise NotYetError(f"{found.drift} {found.objects}")


@pytest.fixture(autouse=True)
def _clean(deployed: Deployed) -> None:
    """A deployment that Pulumi, the API server and the operator have completed has neither drift nor changes."""
    wait_for("no drift", lambda: _expect_clean(deployed), ARRIVAL_SECONDS)


def test_manual_changes_are_reported_and_their_remedies_repair_them(deployed: Deployed) -> None:
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
        ("deployment-incomplete", "deployment orders", ""),
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
    announced = deployment.preview(deployed.settings, lambda _: None, refresh=True)
    assert deployment.up(deployed.settings, lambda _: None, refresh=True) == announced
    deployment.wait_ready(deployed.settings, READY_SECONDS)
    left = _compared(deployed)
    assert [each.code for each in left.drift] == ["field-added"], left
    assert '{"op":"remove","path":"/spec/config/made.by.hand"}' in left.drift[0].remedy
    remove = [{"op": "remove", "path": "/spec/config/made.by.hand"}]
    custom.patch_namespaced_custom_object(
        *place, "kafkaconnectors", "orders-heartbeat", remove, _content_type=_JSON_PATCH, **_HAND
    )
    wait_for("no drift", lambda: _expect_clean(deployed), ARRIVAL_SECONDS)


def test_while_the_operator_is_down_only_drift_that_kubernetes_shows_is_reported(deployed: Deployed) -> None:
    """Kubernetes then does not show a pause through Connect's REST interface, and a changed spec has no effect."""
    custom = client.CustomObjectsApi(deployed.api)
    place = (*_STRIMZI, _NAMESPACE, "kafkaconnectors", "orders-checkpoint")
    # Connect and its connectors continue.
    with suspended("operator"):
        _over_rest("pause")
        wait_for("the connector to be paused", partial(_expect_state, "PAUSED"), ARRIVAL_SECONDS)
        paused = _compared(deployed)
        custom.patch_namespaced_custom_object(*place, {"spec": {"tasksMax": 2}}, **_HAND)
        behind = _compared(deployed)
    wait_for("the connector to run", partial(_expect_state, "RUNNING"), ARRIVAL_SECONDS)
    deployment.up(deployed.settings, lambda _: None, refresh=True)
    wait_for("no drift", lambda: _expect_clean(deployed), ARRIVAL_SECONDS)
    assert paused.drift == ()
    assert {(each.code, each.where, each.by) for each in behind.drift} == {
        (code, f"KafkaConnector {_NAMESPACE}/orders-checkpoint", "somebody") for code in ("field-edited", "not-ready")
    }


def test_a_pause_through_connects_rest_interface_is_reported_before_the_operator_undoes_it(
    deployed: Deployed,
) -> None:
    """The operator asks Connect to resume, and writes the state that Connect reports at that moment: mostly PAUSED."""
    drift = wait_for("a status that shows a pause", lambda: _drift_of_a_pause(deployed), ARRIVAL_SECONDS)
    wait_for("no drift", lambda: _expect_clean(deployed), ARRIVAL_SECONDS)
    assert (drift.code, drift.by) == ("connector-state", "Connect's REST interface")
    assert "orders-heartbeat is PAUSED, and its spec says running" in drift.what
    assert drift.since


def _drift_of_a_pause(deployed: Deployed) -> Drift:
    """Pause a connector now; returns what `diff` would report for the first status that shows the pause."""
    custom = client.CustomObjectsApi(deployed.api)
    before = deployed.connector(_HEARTBEAT)["metadata"]["resourceVersion"]
    _over_rest("pause")
    events = watch.Watch().stream(  # type: ignore[no-untyped-call]
        custom.list_namespaced_custom_object,
        *(*_STRIMZI, _NAMESPACE, "kafkaconnectors"),
        resource_version=before,
        timeout_seconds=5,
    )
    bodies = (event["object"] for event in events if event["object"]["metadata"]["name"] == _HEARTBEAT)
    found = next((drift for body in bodies for drift in running_otherwise("local", "orders", body, {})), None)
    if found is None:
        raise NotYetError("Connect had resumed it when it was asked")
    return found


def _over_rest(verb: str) -> None:
    ports = [worker.port for worker in operator_part.workers()]
    urls = [f"http://127.0.0.1:{port}/connectors/{_HEARTBEAT}/{verb}" for port in ports]
    assert 202 in [httpx.put(url, trust_env=False).status_code for url in urls]


def _expect_state(wanted: str) -> None:
    for worker in operator_part.workers():
        status = httpx.get(f"http://127.0.0.1:{worker.port}/connectors/{_HEARTBEAT}/status", trust_env=False)
        if status.status_code == 200 and status.json()["connector"]["state"] == wanted:
            return
    raise NotYetError(f"not {wanted}")
