"""Makes the objects that the operator creates for Connect workers, as far as they matter on one machine: their account
and its kubeconfig, their configuration, and the Pods that represent them, by which the API server admits workers.

Their owner is the KafkaConnect or KafkaMirrorMaker2, so the garbage collector deletes them with it.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kafka_replication.components.flows.operators import CLUSTER_LABEL
from kafka_replication.components.render.planned_objects import rule
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, reference
from kafka_replication.infra.local.operator.resources import ConnectResource, owner_reference
from kafka_replication.infra.local.operator.worker_processes import WorkerState
from kafka_replication.infra.local.operator.worker_properties import (
    PORT_NAME,
    as_properties_file,
    port_of,
    secrets_used,
    trust_secret_name,
    worker_properties,
)
from kafka_replication.infra.local.parts.processes import free_port, is_free

CONFIG_KEY = "kafka-connect.properties"


def owned_objects(connect: ConnectResource, trusted_certificates: Mapping[str, str]) -> list[Object]:
    """Return the objects of the workers; `trusted_certificates` are PEM, by key of the operator's Secret."""
    name = connect.component_name
    items = [owned_object(connect, "v1", "ServiceAccount", name)]
    if connect.has_values_in_files:
        # The container makes its own configuration from mounted Secrets, which the service account cannot read.
        return items
    configuration = as_properties_file(worker_properties(connect))
    items.append(owned_object(connect, "v1", "ConfigMap", f"{name}-config", data={CONFIG_KEY: configuration}))
    if trusted_certificates:
        data = {key: base64.b64encode(pem.encode()).decode() for key, pem in trusted_certificates.items()}
        items.append(owned_object(connect, "v1", "Secret", trust_secret_name(connect.name), data=data))
    secrets, group = secrets_used(connect), "rbac.authorization.k8s.io"
    # A rule without names would allow every Secret of the namespace.
    rules = [rule("", "secrets", secrets, "get")]
    bound = {
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": connect.namespace}],
    }
    return [
        *items,
        owned_object(connect, f"{group}/v1", "Role", name, rules=rules if secrets else []),
        owned_object(connect, f"{group}/v1", "RoleBinding", name, **bound),
    ]


def owned_object(connect: ConnectResource, api_version: str, kind: str, name: str, **body: object) -> Object:
    """Return an object with Strimzi's labels that is deleted with the resource that it is created for."""
    component = connect.component
    labels = {
        "app.kubernetes.io/instance": connect.name,
        "app.kubernetes.io/managed-by": "strimzi-cluster-operator",
        "app.kubernetes.io/name": component.type,
        "app.kubernetes.io/part-of": f"strimzi-{connect.name}",
        "strimzi.io/cluster": connect.name,
        "strimzi.io/component-type": component.type,
        "strimzi.io/kind": component.kind,
        "strimzi.io/name": connect.component_name,
    }
    owners = [owner_reference(connect.reference, connect.uid)]
    metadata = {"name": name, "namespace": connect.namespace, "labels": labels, "ownerReferences": owners}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


IMAGE = "local-process/kafka-connect"
LOOPBACK = "127.0.0.1"
#: Annotation with the digest of what the worker was started with; Strimzi uses it for its own digest of the Pod.
REVISION = "strimzi.io/revision"


def pod_name(connect: ConnectResource, index: int) -> str:
    return f"{connect.component_name}-{index}"


def worker_pod(connect: ConnectResource, index: int, digest: str, metrics_port: int | None = None) -> Object:
    """Return the Pod that represents a worker's process, at whose `metrics_port` Prometheus scrapes it.

    Admission (ResourceQuota, LimitRange) judges the Pod before the process may start. It has no node, so the API server
    deletes it at once, and does not wait until a kubelet confirms the end.
    """
    name = pod_name(connect, index)
    container: Object = {"name": connect.component_name, "image": IMAGE}
    if connect.resources:
        container["resources"] = dict(connect.resources)
    if metrics_port is not None:
        # A pod has port 9404 to itself; here it is a port of this machine.
        container["ports"] = [{"name": PORT_NAME, "containerPort": metrics_port, "protocol": "TCP"}]
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
    """Return the Pods whose names are those of this resource's workers, by the index of the worker."""
    pods = {}
    for item in items:
        name = item["metadata"]["name"]
        suffix = name.removeprefix(f"{connect.component_name}-")
        ours = suffix.isdecimal() and name == pod_name(connect, int(suffix))
        if ours and item["metadata"]["namespace"] == connect.namespace:
            pods[int(suffix)] = item
    return pods


def is_there(pod: Object | None) -> bool:
    """Return whether the Pod exists and is not being deleted."""
    return pod is not None and "deletionTimestamp" not in pod["metadata"]


def is_of_revision(pod: Object, digest: str) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(REVISION) == digest


def surplus(indexes: Iterable[int], replicas: int, states: Mapping[int, WorkerState]) -> list[int]:
    """Return the indexes of Pods that no worker needs any longer: they are beyond the replicas and have no process."""
    without_process = {index for index in indexes if states.get(index, WorkerState.ENDED) is WorkerState.ENDED}
    return sorted(index for index in without_process if index >= replicas)


def pod_status(pod: Object, *, ready: bool) -> Object:
    """Return the status that a kubelet would write: the container runs, at this address, and is ready or not."""
    since = pod["metadata"]["creationTimestamp"]
    conditions = {"Initialized": True, "Ready": ready, "ContainersReady": ready, "PodScheduled": True}
    (container,) = pod["spec"]["containers"]
    return {
        "phase": "Running",
        "startTime": since,
        "podIP": LOOPBACK,
        "podIPs": [{"ip": LOOPBACK}],
        "conditions": [{"type": name, "status": str(met)} for name, met in conditions.items()],
        "containerStatuses": [container_status(container, ready, {"running": {"startedAt": since}})],
    }


def container_status(container: Object, ready: bool, state: Mapping[str, Any]) -> Object:
    """Return the status of a Pod's container that never restarts, as a kubelet would write it."""
    about = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
    return {**about, "ready": ready, "started": "running" in state, "state": dict(state)}


def shows(pod: Object, *, ready: bool) -> bool:
    """Return whether the Pod's status already reports this readiness."""
    containers = pod.get("status", {}).get("containerStatuses") or []
    return [container.get("ready") for container in containers] == [ready]


def worker_pods(api: KubernetesApi, connect: ConnectResource) -> dict[int, Object]:
    """Return the Pods of the workers of one resource, by index. Raises ApiError."""
    selector = f"{CLUSTER_LABEL}={connect.name},strimzi.io/name={connect.component_name}"
    return pods_by_index(connect, api.list_all("v1", "Pod", label_selector=selector))


def admit(api: KubernetesApi, connect: ConnectResource, index: int, digest: str, pod: Object | None) -> Object | str:
    """Create the worker's Pod. Return it if the worker may start, otherwise why not; the next round tries again.

    A Pod of another revision, or one whose port another process has taken, is deleted first, because neither its
    resources nor its ports can be changed. Raises ApiError if the API server does not answer.
    """
    if pod is None:
        port = free_port() if connect.metrics else None
        try:
            return api.apply(worker_pod(connect, index, digest, port))
        except ApiError as error:
            if error.unreachable:
                raise
            return error.message
    port = port_of(pod)
    if is_there(pod) and is_of_revision(pod, digest) and (port is None or is_free(port)):
        return pod
    api.delete(reference(pod))
    return f"its Pod {pod['metadata']['name']} is being replaced"


def tidy(api: KubernetesApi, replicas: int, pods: Mapping[int, Object], states: Mapping[int, WorkerState]) -> None:
    """Delete the Pods that no worker needs, and write into the others whether their worker serves. Raises ApiError."""
    for index in surplus(pods, replicas, states):
        api.delete(reference(pods[index]))
    for index, state in states.items():
        pod, ready = pods.get(index), state is WorkerState.READY
        if pod is not None and not shows(pod, ready=ready):
            api.apply_status(reference(pod), pod_status(pod, ready=ready))


TOKEN_LIFETIME_SECONDS = 24 * 3600
RENEW_BEFORE_SECONDS = TOKEN_LIFETIME_SECONDS / 2


def cluster_entry(kubeconfig: Path) -> dict[str, Any]:
    """Return how to reach the API server: the cluster of the kubeconfig's current context, without any user."""
    document = yaml.load(kubeconfig.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    contexts, clusters = ({entry["name"]: entry for entry in document[kind]} for kind in ("contexts", "clusters"))
    return dict(clusters[contexts[document["current-context"]]["context"]["cluster"]]["cluster"])


def token_in(kubeconfig_text: str) -> str:
    return str(json.loads(kubeconfig_text)["users"][0]["user"]["token"])


def is_usable(token: str, service_account_uid: str, now: float) -> bool:
    """Return whether the token is this service account's and valid for long enough; `now` is in epoch seconds."""
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    same = claims["kubernetes.io"]["serviceaccount"]["uid"] == service_account_uid
    return bool(same and claims["exp"] - now > RENEW_BEFORE_SECONDS)
