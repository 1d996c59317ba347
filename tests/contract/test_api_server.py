"""Every object of every example is taken by a real API server, strictly, against Strimzi's own definitions."""

from collections.abc import Callable
from typing import Any

import pytest

from components.resolved import resolve_flows
from components.specs.flow import flow_objects
from infra.settings import read_settings, stack_names
from tests.builders import a_cluster, a_resolved_flow
from tests.contract.api_servers import ApiServer, strict_apply

ADDRESSES = {f"{alias}Bootstrap": f"{alias}:9093" for alias in ("useast", "uswest")}


@pytest.fixture
def server(api_server_of: Callable[[str], ApiServer]) -> ApiServer:
    """The API in which the examples are written."""
    return api_server_of("v1")


@pytest.mark.parametrize("stack", stack_names())
def test_every_object_of_an_example_is_accepted_with_nothing_dropped(server: ApiServer, stack: str) -> None:
    settings = read_settings(stack)
    for flow in resolve_flows(settings.topology, settings.region, {**settings.values, **ADDRESSES}):
        for planned in flow_objects(flow):
            assert strict_apply(server, planned.manifest) == [], planned.key


@pytest.mark.parametrize(
    "cluster",
    [
        {"authentication": {"type": "tls", "secret": "client"}},
        {"authentication": {"type": "plain", "username": "m", "password": {"secret": "s", "key": "p"}}, "tls": {}},
        {"authentication": None, "tls": None},
    ],
    ids=["mutual TLS", "PLAIN, trusting the JVM's authorities", "no security"],
)
def test_every_security_of_a_target_is_accepted(server: ApiServer, cluster: dict[str, Any]) -> None:
    resolved = a_resolved_flow({"useast": a_cluster(), "uswest": a_cluster("us-west-2", **cluster)})
    for planned in flow_objects(resolved):
        assert strict_apply(server, planned.manifest) == [], planned.key


def test_a_full_connect_cluster_is_accepted(server: ApiServer) -> None:
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
        assert strict_apply(server, planned.manifest) == [], planned.key


def test_a_misspelt_field_is_refused_by_name(server: ApiServer) -> None:
    """Without this the tests above would pass on anything."""
    manifest = next(planned.manifest for planned in flow_objects(a_resolved_flow()) if planned.kind == "KafkaConnect")
    (complaint,) = strict_apply(server, {**manifest, "spec": {**manifest["spec"], "groupID": "x"}})
    assert "groupID" in complaint
