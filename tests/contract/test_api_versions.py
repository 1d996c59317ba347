"""Both versions of Strimzi's API, as each release defines them and as the local stack serves both together."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_replication.infra.kubernetes.api import KubernetesApi, reference
from tests.contract.api_servers import BOTH, ApiServer, strict_apply

NAMES = {"groupId": "g", "configStorageTopic": "g-c", "offsetStorageTopic": "g-o", "statusStorageTopic": "g-s"}
V1 = {"replicas": 1, "bootstrapServers": "kafka:9093", **NAMES, "config": {"offset.flush.timeout.ms": 5000}}
V1BETA2 = {"replicas": 1, "bootstrapServers": "kafka:9093", "config": {"group.id": "g"}}
"""The spec of a Connect cluster in each version."""


def a_connect(version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaConnect",
        "metadata": {"name": "flow", "namespace": "contract"},
        "spec": spec,
    }


def test_a_server_accepts_its_own_api_version(api_server: ApiServer) -> None:
    spec = {"v1": V1, "v1beta2": V1BETA2}[api_server.version]
    assert strict_apply(api_server, a_connect(api_server.version, spec)) == []


def test_a_server_does_not_serve_the_other_api_version(api_server: ApiServer) -> None:
    other, spec = {"v1": ("v1beta2", V1BETA2), "v1beta2": ("v1", V1)}[api_server.version]
    (complaint,) = strict_apply(api_server, a_connect(other, spec))
    assert "the API server does not serve KafkaConnect" in complaint


@pytest.mark.parametrize("field", NAMES)
def test_a_field_of_v1_is_refused_by_name_in_v1beta2(api_server_of: Callable[[str], ApiServer], field: str) -> None:
    """Operators before 0.49 would drop it; without it in `config` the worker joins the group `connect-cluster`."""
    (complaint,) = strict_apply(api_server_of("v1beta2"), a_connect("v1beta2", {**V1BETA2, field: "x"}))
    assert f".spec.{field}: field not declared in schema" in complaint


WHOLE = {
    "v1": {**V1, "plugins": [{"name": "mirror", "artifacts": [{"type": "image", "reference": "mirror:1"}]}]},
    "v1beta2": {
        **V1BETA2,
        "authentication": {"type": "oauth", "clientId": "mirror"},
        "externalConfiguration": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
        "template": {"deployment": {"metadata": {"labels": {"a": "b"}}}},
    },
}
"""Specs with fields that the other version lacks."""


@pytest.fixture
def both(api_server_of: Callable[[str], ApiServer]) -> Iterator[KubernetesApi]:
    """A server of both versions, like the local stack's; the Connect cluster is removed afterwards."""
    api = api_server_of(BOTH).api
    yield api
    api.delete(reference(a_connect("v1", {})))


@pytest.mark.parametrize("version", WHOLE)
def test_an_object_keeps_every_field_when_it_is_read_in_the_version_it_was_written_in(
    both: KubernetesApi, version: str
) -> None:
    """If it were pruned to the stored version, it would silently lose the fields of the other version."""
    manifest = a_connect(version, WHOLE[version])
    both.apply(manifest)
    found = both.get(reference(manifest))
    assert found is not None
    assert found["spec"] == WHOLE[version]


@pytest.mark.parametrize("order", [("v1beta2", "v1"), ("v1", "v1beta2")], ids=["forward", "back"])
def test_an_object_moves_to_the_other_api_version_in_place(both: KubernetesApi, order: tuple[str, str]) -> None:
    """With 0.45's own schema, the server could not read an object as v1beta2 after merging it as v1."""
    ordinary = {"v1": WHOLE["v1"], "v1beta2": V1BETA2}
    before, after = (both.apply(a_connect(version, ordinary[version])) for version in order)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == ordinary[order[1]]


def test_an_object_that_moves_to_v1_loses_the_fields_that_v1_lacks(both: KubernetesApi) -> None:
    both.apply(a_connect("v1beta2", WHOLE["v1beta2"]))
    assert both.apply(a_connect("v1", WHOLE["v1"]))["spec"] == WHOLE["v1"]


def test_a_status_written_in_v1beta2_removes_no_field_of_either_version(both: KubernetesApi) -> None:
    """The local operator writes statuses this way and must not remove fields that only one version has."""
    for version, spec in WHOLE.items():
        manifest = a_connect(version, spec)
        both.apply(manifest)
        both.apply_status(reference(a_connect("v1beta2", {})), {"observedGeneration": 1})
        found = both.get(reference(manifest))
        assert found is not None
        assert (found["spec"], found["status"]["observedGeneration"]) == (spec, 1)
        both.delete(reference(manifest))


def test_v1_is_as_strict_when_v1beta2_is_served_too(api_server_of: Callable[[str], ApiServer]) -> None:
    for field in ("externalConfiguration", "groupID"):
        complaints = strict_apply(api_server_of(BOTH), a_connect("v1", {**V1, field: {}}))
        assert f".spec.{field}: field not declared in schema" in complaints[0]
