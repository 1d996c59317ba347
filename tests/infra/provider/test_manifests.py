"""Inputs to manifests and back: what goes wrong here either loses a property or writes a secret into the state."""

import base64
from typing import Any

import pytest

from kafka_replication.infra.kubernetes.api import Reference
from kafka_replication.infra.local.provider import manifests


def a_secret(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "east", "namespace": "mirror"}, **fields}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_string_data_is_applied_as_data() -> None:
    applied = manifests.manifest(a_secret(stringData={"password": "p"}, data={"ca.crt": encoded("c")}))
    assert applied == a_secret(data={"ca.crt": encoded("c"), "password": encoded("p")})


def test_nulls_are_not_applied() -> None:
    assert manifests.manifest(a_secret(type=None, data={"a": None})) == a_secret(data={})


def test_outputs_are_the_inputs_and_the_uid() -> None:
    live = a_secret(data={"password": encoded("p")}, status={"x": 1})
    live["metadata"] |= {"uid": "u-1", "managedFields": []}
    given = a_secret(stringData={"password": "p"})
    expected = {**given, "metadata": {**given["metadata"], "uid": "u-1"}}
    assert manifests.outputs(given, live) == expected


def test_a_refresh_sees_drift_only_in_fields_that_were_set() -> None:
    live = a_secret(data={"password": encoded("changed"), "added-by-others": encoded("x")}, type="Opaque")
    live["metadata"]["resourceVersion"] = "7"
    assert manifests.live_inputs(a_secret(stringData={"password": "p"}), live) == a_secret(
        stringData={"password": "changed"}
    )


def test_an_import_leaves_out_what_the_server_wrote() -> None:
    live = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"b": "c"}, "uid": "u", "managedFields": [], "resourceVersion": "1"},
        "data": {"k": "v"},
        "status": {},
    }
    assert manifests.imported_inputs(live) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"b": "c"}},
        "data": {"k": "v"},
    }


def test_an_imported_custom_resource_has_its_spec_in_the_outputs_only() -> None:
    """The real provider answers so, and a hook that reads the old inputs finds no spec there."""
    identity = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnect"}
    live = {
        **identity,
        "metadata": {"name": "orders", "namespace": "mirror", "labels": {"a": "b"}, "uid": "u"},
        "spec": {"replicas": 1},
        "status": {"replicas": 1},
    }
    inputs = manifests.imported_inputs(live)
    metadata = {"name": "orders", "namespace": "mirror"}
    assert inputs == {**identity, "metadata": metadata}
    imported = {**identity, "metadata": {**metadata, "uid": "u"}, "spec": {"replicas": 1}}
    assert manifests.outputs(inputs, live) == imported


@pytest.mark.parametrize(
    ("identifier", "namespace", "name"),
    [
        pytest.param("mirror/east", "mirror", "east", id="namespaced"),
        pytest.param("mirror", None, "mirror", id="cluster-wide"),
    ],
)
def test_a_resource_id_identifies_its_object(identifier: str, namespace: str | None, name: str) -> None:
    found = manifests.reference_of_id(identifier, {"apiVersion": "v1", "kind": "Secret"})
    assert found == Reference("v1", "Secret", namespace, name)
