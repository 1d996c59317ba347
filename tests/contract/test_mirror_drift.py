"""A real API server records who edited an entry in a KafkaMirrorMaker2's lists; a deployment reverts the edit."""

import copy
from collections.abc import Callable, Iterator

import pytest
from kubernetes import client, config

from kafka_replication.components.flows.operators import strimzi
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.api import KubernetesApi, reference
from kafka_replication.infra.review.comparison import Drift, compare
from kafka_replication.infra.review.live_comparison import running
from kafka_replication.infra.review.snapshots import Snapshot
from tests.builders import a_cluster, a_topology
from tests.contract.api_servers import NAMESPACE, ApiServer

SOURCES = {"useast": {"topics": ["orders"]}, "eu": {"topics": ["ledger"]}}


@pytest.fixture(params=["1.2", "0.45"])
def operator(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(operator: str, api_server_of: Callable[[str], ApiServer]) -> ApiServer:
    return api_server_of(strimzi(operator).api.value)


@pytest.fixture
def deployed(server: ApiServer, operator: str) -> Iterator[tuple[Manifest, KubernetesApi]]:
    """A KafkaMirrorMaker2 with two sources that Pulumi deployed, and the client with which Pulumi deploys it again."""
    clusters = {alias: a_cluster(bootstrapServers=f"{alias}:9093") for alias in (*SOURCES, "uswest")}
    mirror = {"kind": "mirrorMaker2", "target": "uswest", "sources": SOURCES, "namespace": {"name": NAMESPACE}}
    flows = resolve_flows(parse_topology(a_topology(mirror, clusters=clusters, strimzi=operator)), None, {})
    planned = [item for each in deployments(flows) for item in each.objects]
    (body,) = [item.manifest for item in planned if item.kind == "KafkaMirrorMaker2"]
    with KubernetesApi(server.kubeconfig, field_manager="pulumi-kubernetes-0a1b2c3d") as pulumi:
        pulumi.apply(body)
        yield body, pulumi
        pulumi.delete(reference(body))


def compared(body: Manifest, api: KubernetesApi) -> tuple[list[Drift], list[tuple[str, str]]]:
    """The drift, and the fields that a deployment would change. There is no operator, so nothing is ever ready."""
    declared = Snapshot(others={"orders": {"mirror-maker2": body}})
    live = api.get(reference(body))
    assert live is not None
    found = running("test", declared, [live])
    changes = compare("test", "", found.snapshot, declared).objects
    fields = [(field.path, change.change.value) for change in changes for field in change.fields]
    return [each for each in found.drift if each.code != "not-ready"], fields


def edit(server: ApiServer, body: Manifest) -> None:
    """Change one property of one mirror as `kubectl edit` does, which sends the whole list."""
    mirrors = copy.deepcopy(body["spec"]["mirrors"])
    mirrors[1]["sourceConnector"]["config"]["offset.lag.max"] = 7
    group, version = body["apiVersion"].split("/")
    api: client.ApiClient = config.new_client_from_config(str(server.kubeconfig))  # type: ignore[no-untyped-call]
    client.CustomObjectsApi(api).patch_namespaced_custom_object(
        group,
        version,
        NAMESPACE,
        "kafkamirrormaker2s",
        body["metadata"]["name"],
        {"spec": {"mirrors": mirrors}},
        field_manager="kubectl-edit",
    )


def test_an_edited_property_is_reported_with_its_author_and_a_deployment_reverts_it(
    server: ApiServer, deployed: tuple[Manifest, KubernetesApi]
) -> None:
    body, pulumi = deployed
    before = compared(body, pulumi)
    edit(server, body)
    (drift,), changes = compared(body, pulumi)
    pulumi.apply(body)
    assert before == compared(body, pulumi) == ([], [])
    path = "spec.mirrors[useast].sourceConnector.config.offset.lag.max"
    assert (drift.code, drift.by) == ("field-edited", "kubectl-edit")
    assert drift.what == f"{path} is 7, and the stack declares 100"
    assert drift.since
    assert changes == [(path, "changed")]
