"""Pods that stand for Connect workers: what they say, and which of them are left over. Pure."""

from collections.abc import Iterable, Mapping

from infra.local.kubernetes_api import Object
from infra.local.operator.owned_objects import owned_object
from infra.local.operator.resources import ConnectResource
from infra.local.operator.worker_plan import WorkerState

IMAGE = "local-process/kafka-connect"
REVISION = "strimzi.io/revision"
"""Annotation with the digest of what the worker was started with; Strimzi keeps its own digest of the Pod there."""


def pod_name(connect: ConnectResource, index: int) -> str:
    return f"{connect.component_name}-{index}"


def worker_pod(connect: ConnectResource, index: int, digest: str) -> Object:
    """Pod of one worker, which runs nothing: it stands for the worker's process.

    There is no kubelet, the worker is a process of the operator, and the image does not exist. The Pod is what
    admission (ResourceQuota, LimitRange) judges before the process may start. It names no node: the API server removes
    such a Pod as soon as it is told to, where it would wait for a kubelet to confirm the end of another.
    """
    name = pod_name(connect, index)
    container: Object = {"name": connect.component_name, "image": IMAGE}
    if connect.resources:
        container["resources"] = dict(connect.resources)
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
    """Those of the Pods that are named as workers of this KafkaConnect are, by the index of the worker."""
    found = {}
    for item in items:
        name = item["metadata"]["name"]
        suffix = name.removeprefix(f"{connect.component_name}-")
        ours = suffix.isdecimal() and name == pod_name(connect, int(suffix))
        if ours and item["metadata"]["namespace"] == connect.namespace:
            found[int(suffix)] = item
    return found


def is_there(pod: Object | None) -> bool:
    """Whether the Pod exists, and is not about to go."""
    return pod is not None and "deletionTimestamp" not in pod["metadata"]


def is_of_revision(pod: Object, digest: str) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(REVISION) == digest


def surplus(indexes: Iterable[int], replicas: int, states: Mapping[int, WorkerState]) -> list[int]:
    """Indexes of Pods that no worker needs any more: beyond the replicas, and without a process."""
    without_process = {index for index in indexes if states.get(index, WorkerState.ENDED) is WorkerState.ENDED}
    return sorted(index for index in without_process if index >= replicas)


def pod_status(connect: ConnectResource, pod: Object, *, ready: bool) -> Object:
    """Status that a kubelet would write: the container runs, and is ready or not."""
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
        "conditions": [
            {"type": "Initialized", **met},
            {"type": "Ready", **served},
            {"type": "ContainersReady", **served},
            {"type": "PodScheduled", **met},
        ],
        "containerStatuses": [container],
    }


def shows(pod: Object, *, ready: bool) -> bool:
    """Whether the Pod's status says so already."""
    containers = pod.get("status", {}).get("containerStatuses") or []
    return [each.get("ready") for each in containers] == [ready]
