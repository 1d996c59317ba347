"""The pod of the validation job: its arguments, and what it mounts and may use. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.contract.clusters import CertificateAuthentication, ClusterParameters, PasswordAuthentication
from components.contract.parameters import FlowParameters
from components.contract.spark_conf import SparkSettings
from components.flows.naming import validation_run_name
from components.render.executor_pods import OWN_POD, executor_arguments
from components.render.planned_objects import Manifest
from components.render.validation_pods import (
    COMMAND,
    CONTAINER_SECURITY,
    PARAMETERS_FOLDER,
    POD_SECURITY,
    VALIDATION,
    pull_secrets,
)
from components.topology.in_cluster import InCluster
from components.topology.workers import Quantity

PARAMETERS = "parameters.json"
_SECRETS_FOLDER = "/etc/replication/secrets"


def pod_spec(
    flow: FlowParameters, parameters: str, asked: InCluster, depth: str, spark: SparkSettings
) -> dict[str, Any]:
    """The pod of a Job. `parameters` names the ConfigMap with the document."""
    arguments = [
        *job_arguments(flow, asked, depth),
        *spark.arguments,
        *(executor_arguments(flow.namespace, asked.image, asked.executors) if asked.executors else ()),
    ]
    mounts, volumes = mounted(flow, parameters, "tmp")
    container = {
        "name": VALIDATION,
        "image": asked.image,
        "command": list(COMMAND),
        "args": arguments,
        # The root file system is read-only.
        "env": [
            {"name": "HOME", "value": "/tmp"},
            {"name": "SPARK_LOCAL_DIRS", "value": "/tmp"},
            *(OWN_POD if asked.executors else ()),
        ],
        "resources": resources(asked.resources.requests, asked.resources.limits),
        "securityContext": CONTAINER_SECURITY,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    return {
        "serviceAccountName": validation_run_name(flow.name),
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        **pull_secrets(asked.image_pull_secret),
        "containers": [container],
        "volumes": volumes,
    }


def resources(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> dict[str, dict[str, str]]:
    """The resources of a container."""
    return {
        kind: {key: str(value) for key, value in values.items()}
        for kind, values in (("requests", requests), ("limits", limits))
        if values
    }


def job_arguments(flow: FlowParameters, asked: InCluster, depth: str) -> Iterator[str]:
    """Yield the job's arguments, except those about Spark."""
    yield from ("--parameters", f"{PARAMETERS_FOLDER}/{PARAMETERS}")
    yield from (("--secrets", _SECRETS_FOLDER) if _mounted_secrets(flow) else ())
    yield from ("--flow", flow.name)
    yield from ("--depth", depth)
    yield "--publish"
    yield f"--ready-seconds={asked.ready_seconds}"
    yield f"--catch-up-seconds={asked.catch_up_seconds}"


def mounted(flow: FlowParameters, parameters: str, scratch: str) -> tuple[list[Manifest], list[Manifest]]:
    """What the job's container mounts, and the volumes of its pod. `scratch` names the one for files of its own."""
    secrets = _mounted_secrets(flow)
    mounts: list[Manifest] = [
        {"name": "parameters", "mountPath": PARAMETERS_FOLDER, "readOnly": True},
        *([{"name": "secrets", "mountPath": _SECRETS_FOLDER, "readOnly": True}] if secrets else []),
        {"name": scratch, "mountPath": "/tmp"},
    ]
    volumes: list[Manifest] = [
        {"name": "parameters", "configMap": {"name": parameters}},
        *([{"name": "secrets", "projected": {"sources": secrets}}] if secrets else []),
        {"name": scratch, "emptyDir": {}},
    ]
    return mounts, volumes


def _mounted_secrets(flow: FlowParameters) -> list[dict[str, Any]]:
    """Return the sources of a volume with exactly the keys that the job reads, at NAMESPACE/NAME/KEY."""
    keys: dict[tuple[str, str], set[str]] = {}
    for cluster in (flow.source, flow.target):
        for secret in _secrets(cluster):
            keys.setdefault((secret.namespace, secret.name), set()).add(secret.key)
    return [
        {"secret": {"name": name, "items": [{"key": key, "path": f"{namespace}/{name}/{key}"} for key in sorted(each)]}}
        for (namespace, name), each in sorted(keys.items())
    ]


def _secrets(cluster: ClusterParameters) -> Iterator[Any]:
    references = []
    if cluster.trust is not None:
        references += [cluster.trust.certificates, cluster.trust.password]
    match cluster.authentication:
        case PasswordAuthentication(password=password):
            references.append(password)
        case CertificateAuthentication(certificate=certificate, key=key):
            references += [certificate, key]
    yield from (each.secret for each in references if each is not None and each.secret is not None)
