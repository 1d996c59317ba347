"""Keeps the Pods that represent Connect workers, so that the API server decides which workers may run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from infra.kubernetes.api import ApiError, KubernetesApi, Object, reference
from infra.local.operator.owned_objects import owned_object
from infra.local.operator.resources import CLUSTER_LABEL, ConnectResource
from infra.local.operator.worker_metrics import container_ports, port_of
from infra.local.operator.worker_plan import WorkerState
from infra.local.parts.processes import free_port, is_free

IMAGE = "local-process/kafka-connect"
LOOPBACK = "127.0.0.1"
REVISION = "strimzi.io/revision"
"""Annotation with the digest of what the worker was started with; Strimzi uses it for its own digest of the Pod."""


def pod_name(connect: ConnectResource, index: int) -> str:
    return f"{connect.component_name}-{index}"


def worker_pod(connect: ConnectResource, index: int, digest: str, metrics_port: int | None = None) -> Object:
    """The Pod of one worker. It runs nothing and represents the worker's process.

    There is no kubelet and no image; the worker is a process of the operator. Admission (ResourceQuota, LimitRange)
    judges the Pod before the process may start. The Pod has no node, so the API server deletes it at once; for a Pod
    with a node it would wait until a kubelet confirms the end. Prometheus finds `metrics_port` in it.
    """
    name = pod_name(connect, index)
    container: Object = {"name": connect.component_name, "image": IMAGE}
    if connect.resources:
        container["resources"] = dict(connect.resources)
    if metrics_port is not None:
        container["ports"] = container_ports(metrics_port)
    spec = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "restartPolicy": "Always",
        "serviceAccountName": connect.component_name,
    }
    pod = owned_object(connect, "v1", "Pod", name, spec=spec)
    pod["metadata"]["annotations"] = {REVISION: digest}
    pod["metadata"]["labels"] |= {
        "statefulset.kubernetes.io/pod-name": name,
        "strimzi.io/controller": "strimzipodset",
        "strimzi.io/controller-name": connect.component_name,
        "strimzi.io/pod-name": name,
    }
    return pod


def pods_by_index(connect: ConnectResource, items: Iterable[Object]) -> dict[int, Object]:
    """The Pods whose names are those of this resource's workers, by the index of the worker."""
    found = {}
    for item in items:
        name = item["metadata"]["name"]
        suffix = name.removeprefix(f"{connect.component_name}-")
        ours = suffix.isdecimal() and name == pod_name(connect, int(suffix))
        if ours and item["metadata"]["namespace"] == connect.namespace:
            found[int(suffix)] = item
    return found


def is_there(pod: Object | None) -> bool:
    """Whether the Pod exists and is not being deleted."""
    return pod is not None and "deletionTimestamp" not in pod["metadata"]


def is_of_revision(pod: Object, digest: str) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(REVISION) == digest


def surplus(indexes: Iterable[int], replicas: int, states: Mapping[int, WorkerState]) -> list[int]:
    """Indexes of Pods that no worker needs any longer: they are beyond the replicas and have no process."""
    without_process = {index for index in indexes if states.get(index, WorkerState.ENDED) is WorkerState.ENDED}
    return sorted(index for index in without_process if index >= replicas)


def pod_status(connect: ConnectResource, pod: Object, *, ready: bool) -> Object:
    """The status that a kubelet would write: the container runs, at this address, and is ready or not."""
    since = pod["metadata"]["creationTimestamp"]
    met, served = {"status": "True"}, {"status": "True" if ready else "False"}
    container = {
        "name": connect.component_name,
        "image": IMAGE,
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "started": True,
        "state": {"running": {"startedAt": since}},
    }
    return {
        "phase": "Running",
        "startTime": since,
        "podIP": LOOPBACK,
        "podIPs": [{"ip": LOOPBACK}],
        "conditions": [
            {"type": "Initialized", **met},
            {"type": "Ready", **served},
            {"type": "ContainersReady", **served},
            {"type": "PodScheduled", **met},
        ],
        "containerStatuses": [container],
    }


def shows(pod: Object, *, ready: bool) -> bool:
    """Whether the Pod's status already reports this readiness."""
    containers = pod.get("status", {}).get("containerStatuses") or []
    return [each.get("ready") for each in containers] == [ready]


@dataclass(frozen=True)
class WorkerPods:
    """Raises ApiError if the API server does not answer, and, except in admit(), if it refuses."""

    api: KubernetesApi

    def of(self, connect: ConnectResource) -> dict[int, Object]:
        """The Pods of the workers of one resource, by index."""
        selector = f"{CLUSTER_LABEL}={connect.name},strimzi.io/name={connect.component_name}"
        return pods_by_index(connect, self.api.list_all("v1", "Pod", label_selector=selector))

    def admit(self, connect: ConnectResource, index: int, digest: str, pod: Object | None) -> Object | str:
        """Create the worker's Pod. Return it if the worker may start, otherwise why not; the next round tries again.

        A Pod of another revision, or one whose port another process has taken, is deleted first, because neither its
        resources nor its ports can be changed.
        """
        if pod is None:
            port = free_port() if connect.metrics else None
            try:
                return self.api.apply(worker_pod(connect, index, digest, port))
            except ApiError as error:
                if error.unreachable:
                    raise
                return error.message
        port = port_of(pod)
        if is_there(pod) and is_of_revision(pod, digest) and (port is None or is_free(port)):
            return pod
        self.api.delete(reference(pod))
        return f"its Pod {pod['metadata']['name']} is being replaced"

    def tidy(
        self, connect: ConnectResource, replicas: int, pods: Mapping[int, Object], states: Mapping[int, WorkerState]
    ) -> None:
        """Delete the Pods that no worker needs, and write into the others whether their worker serves."""
        for index in surplus(pods, replicas, states):
            self.api.delete(reference(pods[index]))
        for index, state in states.items():
            pod, ready = pods.get(index), state is WorkerState.READY
            if pod is not None and not shows(pod, ready=ready):
                status = pod_status(connect, pod, ready=ready)
                self.api.apply_status(reference(pod), status)
