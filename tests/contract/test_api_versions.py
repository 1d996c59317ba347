"""Both versions of Strimzi's API, as each release defines it and as the local stack serves the two together."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.kubernetes.api import KubernetesApi, reference
from tests.contract.api_servers import BOTH, ApiServer, strict_apply

NAMES = {"groupId": "g", "configStorageTopic": "g-c", "offsetStorageTopic": "g-o", "statusStorageTopic": "g-s"}
V1 = {"replicas": 1, "bootstrapServers": "kafka:9093", **NAMES, "config": {"offset.flush.timeout.ms": 5000}}
V1BETA2 = {"replicas": 1, "bootstrapServers": "kafka:9093", "config": {"group.id": "g"}}
"""A Connect cluster as either version writes it."""


def a_connect(version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaConnect",
        "metadata": {"name": "flow", "namespace": "contract"},
        "spec": spec,
    }


def test_a_server_takes_its_own_version(api_server: ApiServer) -> None:
    spec = {"v1": V1, "v1beta2": V1BETA2}[api_server.version]
    assert strict_apply(api_server, a_connect(api_server.version, spec)) == []


def test_a_server_does_not_know_the_other_version(api_server: ApiServer) -> None:
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
"""Each with fields that the other version lacks."""


@pytest.fixture
def both(api_server_of: Callable[[str], ApiServer]) -> Iterator[KubernetesApi]:
    """A server of both versions, as the local stack's is; the cluster is removed afterwards."""
    api = api_server_of(BOTH).api
    yield api
    api.delete(reference(a_connect("v1", {})))


@pytest.mark.parametrize("version", WHOLE)
def test_what_is_written_in_a_version_is_whole_when_it_is_read_in_it(both: KubernetesApi, version: str) -> None:
    """Pruned by the version that is stored it would lose what only the other one knows, and nobody would be told."""
    manifest = a_connect(version, WHOLE[version])
    both.apply(manifest)
    found = both.get(reference(manifest))
    assert found is not None
    assert found["spec"] == WHOLE[version]


@pytest.mark.parametrize("order", [("v1beta2", "v1"), ("v1", "v1beta2")], ids=["forward", "back"])
def test_an_object_goes_over_to_the_other_version_in_place(both: KubernetesApi, order: tuple[str, str]) -> None:
    """With 0.45's own schema the server cannot read as v1beta2 what was just merged as v1, and refuses."""
    ordinary = {"v1": WHOLE["v1"], "v1beta2": V1BETA2}
    before, after = (both.apply(a_connect(version, ordinary[version])) for version in order)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == ordinary[order[1]]


def test_an_object_with_more_than_v1_knows_goes_over_and_loses_it(both: KubernetesApi) -> None:
    both.apply(a_connect("v1beta2", WHOLE["v1beta2"]))
    assert both.apply(a_connect("v1", WHOLE["v1"]))["spec"] == WHOLE["v1"]


def test_a_status_written_as_v1beta2_takes_nothing_from_an_object_of_either_version(both: KubernetesApi) -> None:
    """The local operator does so, and would otherwise take away what only one version has."""
    for version, spec in WHOLE.items():
        manifest = a_connect(version, spec)
        both.apply(manifest)
        both.apply_status(reference(a_connect("v1beta2", {})), {"observedGeneration": 1})
        found = both.get(reference(manifest))
        assert found is not None
        assert (found["spec"], found["status"]["observedGeneration"]) == (spec, 1)
        both.delete(reference(manifest))


def test_v1_is_as_strict_beside_v1beta2_as_alone(api_server_of: Callable[[str], ApiServer]) -> None:
    for field in ("externalConfiguration", "groupID"):
        complaints = strict_apply(api_server_of(BOTH), a_connect("v1", {**V1, field: {}}))
        assert f".spec.{field}: field not declared in schema" in complaints[0]
