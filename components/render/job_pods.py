"""The pods of a validation: the job's, which is the driver, and the template that Spark 4.2 completes for executors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import (
    CertificateAuthentication,
    ClusterParameters,
    FlowParameters,
    PasswordAuthentication,
    SecretReference,
)
from kafka_replication.components.contract.spark_conf import SparkSettings
from kafka_replication.components.flows.naming import validation_run_name
from kafka_replication.components.render.planned_objects import PART_OF, Manifest
from kafka_replication.components.topology.in_cluster import Executors, InCluster
from kafka_replication.components.topology.workers import Quantity

#: The label of the pods, and of the Jobs that the CronJob creates. They do not have the label of our objects, because
#: nobody declares them.
COMPONENT = "app.kubernetes.io/component"
VALIDATION, EXECUTOR, EXPORTER = "validation", "validation-executor", "exporter"
#: How the image starts the job in a Job's pod, the job in a driver pod that Spark created, and a Spark executor.
COMMAND, DRIVER_COMMAND = (
    ("python", "-m", "kafka_replication.spark.validate"),
    ("python", "-m", "kafka_replication.spark.driver"),
)
EXECUTOR_COMMAND = ("python", "-m", "kafka_replication.spark.executor")
EXPORTER_COMMAND = ("python", "-m", "kafka_replication.infra.commands.app")
#: Where the volume `parameters` is in the job's pod.
PARAMETERS_FOLDER = "/etc/replication/parameters"
#: The Pod Security Standard `restricted`. The root file system is read-only.
POD_SECURITY = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


def run_labels(flow: str, component: str = VALIDATION) -> dict[str, str]:
    """Return the labels of a pod of a flow's validation; a selector for the flow finds its runs, too."""
    return {PART_OF: flow, COMPONENT: component}


def restricted_pod(
    container: Manifest, mounts: list[Manifest], volumes: list[Manifest], pull_secret: str | None, **spec: Any
) -> dict[str, Any]:
    """Return a pod of the Pod Security Standard `restricted` that runs one container of the image."""
    secured = {
        **container,
        "securityContext": CONTAINER_SECURITY,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    return {
        **spec,
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        **({"imagePullSecrets": [{"name": pull_secret}]} if pull_secret else {}),
        "containers": [secured],
        "volumes": volumes,
    }


#: The template's key in the ConfigMap of the parameters.
TEMPLATE = "executor.json"
#: The address at which pods reach the API server, in every cluster.
API_SERVER = "https://kubernetes.default.svc"
#: Spark keeps its files in a volume with this name. Without one, it would add its own volume at the driver's
#: SPARK_LOCAL_DIRS; ours is mounted at the same path, so Kubernetes would refuse the pod. Source: LocalDirsFeatureStep.
LOCAL_VOLUME = "spark-local-dir-1"
#: The root file system is read-only.
HOME = {"name": "HOME", "value": "/tmp"}
POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
#: The variables that tell the job's container its pod's name and address.
OWN_POD = [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, POD_IP]
#: Everything that Spark needs with the settings in `GUARDED`. When it ends, it deletes its pods by their label.
RULE = {
    "apiGroups": [""],
    "resources": ["pods"],
    "verbs": ["get", "list", "watch", "create", "delete", "deletecollection"],
}

#: The Spark settings that protect what executors receive, and with which `RULE` is enough.
GUARDED = {
    # Tasks carry the logins of both clusters.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    # Otherwise Spark would need rights to more than pods.
    "spark.kubernetes.executor.disableConfigMap": "true",
    "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
}


def executor_template(flow: str, asked: InCluster, container_name: str = EXECUTOR) -> Mapping[str, Any]:
    """Return the pod that Spark completes for each executor. Tasks bring the logins, encrypted; it has no Secret."""
    container = {
        "name": container_name,
        "command": list(EXECUTOR_COMMAND),
        "env": [HOME],
    }
    mounts, volumes = [{"name": LOCAL_VOLUME, "mountPath": "/tmp"}], [{"name": LOCAL_VOLUME, "emptyDir": {}}]
    spec = restricted_pod(container, mounts, volumes, asked.image_pull_secret, automountServiceAccountToken=False)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": run_labels(flow, EXECUTOR)}, "spec": spec}


def executor_settings(namespace: str, image: str, asked: Executors) -> Mapping[str, str]:
    """Return the settings of Spark that the job gets. A kubelet replaces $(POD_NAME) and $(POD_IP)."""
    settings: dict[str, str] = {
        "spark.executor.instances": str(asked.instances),
        "spark.executor.cores": str(asked.cores),
        "spark.executor.memory": asked.memory,
        "spark.kubernetes.namespace": namespace,
        "spark.kubernetes.container.image": image,
        # The executors belong to this pod, so they are deleted with it.
        "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
        "spark.driver.host": "$(POD_IP)",
        "spark.driver.bindAddress": "$(POD_IP)",
        "spark.kubernetes.executor.podTemplateFile": f"{PARAMETERS_FOLDER}/{TEMPLATE}",
        "spark.kubernetes.executor.podTemplateContainerName": EXECUTOR,
        **GUARDED,
    }
    if asked.cpu is not None:
        settings["spark.kubernetes.executor.request.cores"] = str(asked.cpu)
    return settings


PARAMETERS = "parameters.json"
_SECRETS_FOLDER = "/etc/replication/secrets"


@dataclass(frozen=True)
class JobRun:
    """A run of the job for one flow; `parameters` names the ConfigMap with the document."""

    flow: FlowParameters
    parameters: str
    asked: InCluster
    spark: SparkSettings
    depth: str


def pod_spec(run: JobRun) -> dict[str, Any]:
    """Return the pod of a Job."""
    flow, asked = run.flow, run.asked
    arguments = [*job_arguments(run), *run.spark.arguments]
    if asked.executors is not None:
        settings = executor_settings(flow.namespace, asked.image, asked.executors)
        arguments += [f"--master=k8s://{API_SERVER}", *(f"--spark-conf={key}={settings[key]}" for key in settings)]
    mounts, volumes = mounted(run, "tmp")
    container = {
        "name": VALIDATION,
        "image": asked.image,
        "command": list(COMMAND),
        "args": arguments,
        "env": [HOME, {"name": "SPARK_LOCAL_DIRS", "value": "/tmp"}, *(OWN_POD if asked.executors else ())],
        "resources": resources(asked.resources.requests, asked.resources.limits),
    }
    account = validation_run_name(flow.name)
    secret = asked.image_pull_secret
    return restricted_pod(container, mounts, volumes, secret, serviceAccountName=account, restartPolicy="Never")


def resources(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> dict[str, dict[str, str]]:
    """Return the resources of a container."""
    return {
        kind: {key: str(value) for key, value in values.items()}
        for kind, values in (("requests", requests), ("limits", limits))
        if values
    }


def job_arguments(run: JobRun) -> list[str]:
    """Return the job's arguments, except those about Spark."""
    secrets = ["--secrets", _SECRETS_FOLDER] if _mounted_secrets(run.flow) else []
    return [
        *("--parameters", f"{PARAMETERS_FOLDER}/{PARAMETERS}", *secrets),
        *("--flow", run.flow.name, "--depth", run.depth, "--publish"),
        f"--ready-seconds={run.asked.ready_seconds}",
        f"--catch-up-seconds={run.asked.catch_up_seconds}",
    ]


def mounted(run: JobRun, scratch: str) -> tuple[list[Manifest], list[Manifest]]:
    """Return what the job's container mounts, and its pod's volumes; `scratch` names the one for its own files."""
    secrets = _mounted_secrets(run.flow)
    mounts: list[Manifest] = [
        {"name": "parameters", "mountPath": PARAMETERS_FOLDER, "readOnly": True},
        *([{"name": "secrets", "mountPath": _SECRETS_FOLDER, "readOnly": True}] if secrets else []),
        {"name": scratch, "mountPath": "/tmp"},
    ]
    volumes: list[Manifest] = [
        {"name": "parameters", "configMap": {"name": run.parameters}},
        *([{"name": "secrets", "projected": {"sources": secrets}}] if secrets else []),
        {"name": scratch, "emptyDir": {}},
    ]
    return mounts, volumes


def _mounted_secrets(flow: FlowParameters) -> list[dict[str, Any]]:
    """Return the sources of a volume with exactly the keys that the job reads, at NAMESPACE/NAME/KEY."""
    keys = grouped(
        ((secret.namespace, secret.name), secret.key)
        for cluster in (flow.source, flow.target)
        for secret in secrets_of(cluster)
    )
    return [
        {
            "secret": {
                "name": name,
                "items": [{"key": key, "path": f"{namespace}/{name}/{key}"} for key in sorted({*names})],
            }
        }
        for (namespace, name), names in sorted(keys.items())
    ]


def secrets_of(cluster: ClusterParameters) -> Iterator[SecretReference]:
    """Yield the keys of Secrets with which a client reaches a cluster."""
    references = []
    if cluster.trust is not None:
        references += [cluster.trust.certificates, cluster.trust.password]
    match cluster.authentication:
        case PasswordAuthentication(password=password):
            references.append(password)
        case CertificateAuthentication(certificate=certificate, key=key):
            references += [certificate, key]
    yield from (reference.secret for reference in references if reference is not None and reference.secret is not None)
