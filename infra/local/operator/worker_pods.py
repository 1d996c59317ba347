"""Keeps the Pods that stand for Connect workers, so that the API server decides which workers may run."""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from infra.local.operator import pod_objects
from infra.local.operator.resources import CLUSTER_LABEL, ConnectResource
from infra.local.operator.worker_plan import WorkerState


@dataclass(frozen=True)
class WorkerPods:
    """Raises ApiError if the API server does not answer, and, except in admit(), if it refuses."""

    api: KubernetesApi

    def of(self, connect: ConnectResource) -> dict[int, Object]:
        """The Pods of the workers of one resource, by index."""
        selector = f"{CLUSTER_LABEL}={connect.name},strimzi.io/name={connect.component_name}"
        return pod_objects.pods_by_index(connect, self.api.list_all("v1", "Pod", label_selector=selector))

    def admit(self, connect: ConnectResource, index: int, digest: str, pod: Object | None) -> str | None:
        """Create the worker's Pod. Return None if the worker may start, otherwise why not; the next round tries again.

        A Pod of another revision is deleted first, because its resources cannot be changed.
        """
        if pod is None:
            try:
                self.api.apply(pod_objects.worker_pod(connect, index, digest))
            except ApiError as error:
                if error.status == 0:
                    raise
                return error.message
            return None
        if pod_objects.is_there(pod) and pod_objects.is_of_revision(pod, digest):
            return None
        self._delete(connect, index)
        return f"its Pod {pod['metadata']['name']} is being replaced"

    def tidy(
        self, connect: ConnectResource, replicas: int, pods: Mapping[int, Object], states: Mapping[int, WorkerState]
    ) -> None:
        """Delete the Pods that no worker needs, and write into the others whether their worker serves."""
        for index in pod_objects.surplus(pods, replicas, states):
            self._delete(connect, index)
        for index, state in states.items():
            pod, ready = pods.get(index), state is WorkerState.READY
            if pod is not None and not pod_objects.shows(pod, ready=ready):
                status = pod_objects.pod_status(connect, pod, ready=ready)
                self.api.apply_status(self._reference(connect, index), status)

    def _delete(self, connect: ConnectResource, index: int) -> None:
        self.api.delete(self._reference(connect, index))

    def _reference(self, connect: ConnectResource, index: int) -> Reference:
        return Reference("v1", "Pod", connect.namespace, pod_objects.pod_name(connect, index))
