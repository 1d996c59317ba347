"""Every object of every example is taken by a real API server, strictly, against Strimzi's own definitions."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from components.resolved import resolve_flows
from components.specs.flow import flow_objects
from infra.local.endpoints import Endpoints
from infra.local.kubernetes_api import ApiError, KubernetesApi, Reference
from infra.settings import read_settings, stack_names
from tests.builders import a_cluster, a_resolved_flow

ADDRESSES = {f"{alias}Bootstrap": f"{alias}:9093" for alias in ("useast", "uswest")}
NAMESPACE = "contract"


@pytest.fixture(scope="module")
def api(endpoints: Endpoints) -> Iterator[KubernetesApi]:
    with KubernetesApi(endpoints.kubeconfig, field_manager="contract") as found:
        found.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield found
        found.delete(Reference("v1", "Namespace", None, NAMESPACE))


def _apply(api: KubernetesApi, manifest: dict[str, Any]) -> dict[str, Any]:
    """Dry run in a namespace that exists."""
    item = copy.deepcopy(manifest)
    if "namespace" in item["metadata"]:
        item["metadata"]["namespace"] = NAMESPACE
    return api.apply(item, dry_run=True)


@pytest.mark.parametrize("stack", stack_names())
def test_every_object_of_an_example_is_accepted_with_nothing_dropped(api: KubernetesApi, stack: str) -> None:
    settings = read_settings(stack)
    for flow in resolve_flows(settings.topology, settings.region, {**settings.values, **ADDRESSES}):
        for planned in flow_objects(flow):
            accepted = _apply(api, planned.manifest)
            for key in ("spec", "data", "rules", "roleRef"):
                if key in planned.manifest:
                    assert _contains(accepted[key], planned.manifest[key]), f"{planned.key}.{key}"


def _contains(found: Any, wanted: Any) -> bool:
    """Whether everything that was sent is in what came back, which may hold defaults beside it."""
    if isinstance(wanted, dict):
        return all(key in found and _contains(found[key], value) for key, value in wanted.items())
    return bool(found == wanted)


@pytest.mark.parametrize(
    "cluster",
    [
        {"authentication": {"type": "tls", "secret": "client"}},
        {"authentication": {"type": "plain", "username": "m", "password": {"secret": "s", "key": "p"}}, "tls": {}},
        {"authentication": None, "tls": None},
    ],
    ids=["mutual TLS", "PLAIN, trusting the JVM's authorities", "no security"],
)
def test_every_security_of_a_target_is_accepted(api: KubernetesApi, cluster: dict[str, Any]) -> None:
    resolved = a_resolved_flow({"useast": a_cluster(), "uswest": a_cluster("us-west-2", **cluster)})
    for planned in flow_objects(resolved):
        _apply(api, planned.manifest)


def test_a_full_connect_cluster_is_accepted(api: KubernetesApi) -> None:
    password = {"secret": "ca", "key": "password"}
    trust = {"format": "JKS", "secret": "ca", "key": "truststore.jks", "password": password}
    resolved = a_resolved_flow(
        {"useast": a_cluster(tls={"trust": trust}), "uswest": a_cluster("us-west-2")},
        connect={
            "replicas": 2,
            "version": "4.2.0",
            "image": "registry.example.com/connect:1",
            "imagePullSecret": "registry",
            "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "2Gi"}},
            "jvmOptions": {"-Xmx": "1g"},
        },
        connectors={"heartbeat": {"enabled": False}, "source": {"autoRestart": {"maxRestarts": 5}, "state": "paused"}},
        quota={"hard": {"pods": 3, "limits.memory": "8Gi"}, "defaultLimits": {"memory": "2Gi"}},
    )
    for planned in flow_objects(resolved):
        _apply(api, planned.manifest)


def test_a_misspelt_field_is_refused_by_name(api: KubernetesApi) -> None:
    """Without this the tests above would pass on anything."""
    manifest = next(planned.manifest for planned in flow_objects(a_resolved_flow()) if planned.kind == "KafkaConnect")
    with pytest.raises(ApiError, match="groupID"):
        _apply(api, {**manifest, "spec": {**manifest["spec"], "groupID": "x"}})
