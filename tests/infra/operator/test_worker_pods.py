"""The API server controls the workers through their Pods: by quotas, by defaults, and by deletion."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.infra.operator.connect_flow import CONNECT, NAMESPACE, ConnectFlow
from tests.infra.operator.workspace import DEADLINE_SECONDS

SMALL = {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}}
MIDDLE = {"requests": {"memory": "96Mi"}, "limits": {"memory": "192Mi"}}


def limit(flow: ConnectFlow, kind: str, **spec: Any) -> None:
    metadata = {"name": "small", "namespace": NAMESPACE}
    flow.api.apply({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec})


def unlimit(flow: ConnectFlow, kind: str) -> None:
    flow.api.delete(Reference("v1", kind, NAMESPACE, "small"))


def pod(flow: ConnectFlow, index: int) -> Object | None:
    return flow.api.get(Reference("v1", "Pod", NAMESPACE, f"{CONNECT}-connect-{index}"))


def expect_pod(flow: ConnectFlow, index: int, *, other_than: str = "") -> Object:
    """The Pod of a worker, once it is Ready and has another uid than `other_than`."""

    def met() -> Object:
        seen = pod(flow, index)
        status = (seen or {}).get("status", {})
        ready = [each["status"] for each in status.get("conditions", []) if each["type"] == "Ready"]
        if seen is None or seen["metadata"]["uid"] == other_than or ready != ["True"]:
            raise NotYetError(f"{seen and seen['metadata']['uid']}, Ready {ready}")
        return seen

    return wait_for(f"Pod {index} to be ready", met, DEADLINE_SECONDS)


def expect_no_pod(flow: ConnectFlow, index: int) -> None:
    def met() -> None:
        if pod(flow, index) is not None:
            raise NotYetError("the Pod is still there")

    wait_for(f"Pod {index} to go", met, DEADLINE_SECONDS)


@pytest.fixture
def unlimited(flow: ConnectFlow) -> Iterator[ConnectFlow]:
    """A ready Connect cluster of one worker in a namespace without limits, before and after."""
    flow.expect_workers(lambda now: len(now) == 1, "one worker")
    yield flow
    unlimit(flow, "ResourceQuota")
    unlimit(flow, "LimitRange")


def test_a_worker_beyond_the_quota_is_refused_until_the_quota_is_raised(unlimited: ConnectFlow) -> None:
    flow = unlimited
    expect_pod(flow, 0)
    limit(flow, "ResourceQuota", hard={"pods": "1"})
    flow.connect(replicas=2)
    refused = f'worker 1 of 2 is not started: pods "{CONNECT}-connect-1" is forbidden: exceeded quota: small'
    flow.expect("KafkaConnect", "NotReady", refused)
    flow.expect("KafkaConnector", "Ready")
    assert len(flow.workers()) == 1
    assert pod(flow, 1) is None
    limit(flow, "ResourceQuota", hard={"pods": "2"})
    assert flow.expect("KafkaConnect", "Ready")["replicas"] == 2
    assert len(flow.workers()) == 2
    expect_pod(flow, 1)
    flow.connect()
    expect_no_pod(flow, 1)
    flow.expect("KafkaConnect", "Ready")


def test_a_memory_quota_refuses_a_worker_until_it_has_a_memory_limit(unlimited: ConnectFlow) -> None:
    flow = unlimited
    limit(flow, "ResourceQuota", hard={"limits.memory": "256Mi"})
    flow.connect(replicas=2)
    flow.expect("KafkaConnect", "NotReady", "must specify limits.memory")
    limit(flow, "LimitRange", limits=[{"type": "Container", "default": {"memory": "128Mi"}}])
    flow.expect("KafkaConnect", "Ready")
    container = expect_pod(flow, 1)["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"memory": "128Mi"}, "requests": {"memory": "128Mi"}}


def test_changed_resources_replace_the_pod_and_roll_the_worker(unlimited: ConnectFlow) -> None:
    flow = unlimited
    limit(flow, "ResourceQuota", hard={"pods": "1"})
    before = expect_pod(flow, 0)["metadata"]["uid"]
    (worker,) = flow.workers()
    for resources in (SMALL, MIDDLE):
        flow.connect(resources=resources)
        flow.expect("KafkaConnect", "Ready")
        found = expect_pod(flow, 0, other_than=before)
        assert found["spec"]["containers"][0]["resources"] == resources
        before = found["metadata"]["uid"]
    assert worker not in flow.workers()


def test_deleting_a_pod_by_hand_replaces_the_pod_and_its_worker(unlimited: ConnectFlow) -> None:
    flow = unlimited
    before = expect_pod(flow, 0)["metadata"]["uid"]
    (worker,) = flow.workers()
    flow.api.delete(Reference("v1", "Pod", NAMESPACE, f"{CONNECT}-connect-0"))
    expect_pod(flow, 0, other_than=before)
    flow.expect("KafkaConnect", "Ready")
    assert worker not in flow.workers()


def test_a_namespace_with_worker_pods_can_be_deleted_without_a_kubelet(unlimited: ConnectFlow) -> None:
    """Only Pods without a node are deleted at once; `tear_down` waits until the namespace is deleted."""
    flow = unlimited
    expect_pod(flow, 0)
    flow.tear_down()
    flow.set_up()


def test_the_pods_of_a_deleted_connect_cluster_are_deleted(unlimited: ConnectFlow) -> None:
    flow = unlimited
    expect_pod(flow, 0)
    flow.delete("KafkaConnect")
    expect_no_pod(flow, 0)
    wait_for("the workers to end", flow.expect_no_worker, DEADLINE_SECONDS)
