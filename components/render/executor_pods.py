"""What the job needs to run Spark's executors as pods: its arguments and rights, and the template of those pods.

The job's pod is the driver, in client mode. Spark 4.2 itself creates the executor pods: its class
BasicExecutorFeatureStep adds the image, the resources and the argument `executor` to the template.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from components.render.validation_pods import (
    CONTAINER_SECURITY,
    EXECUTOR,
    EXECUTOR_COMMAND,
    PARAMETERS_FOLDER,
    POD_SECURITY,
    pull_secrets,
    run_labels,
)
from components.topology.in_cluster import Executors, InCluster

#: The template's key in the ConfigMap of the parameters.
TEMPLATE = "executor.json"
#: The address at which pods reach the API server, in every cluster.
API_SERVER = "https://kubernetes.default.svc"
#: Spark keeps its files in a volume with this name. Without one, it would add its own volume at the driver's
#: SPARK_LOCAL_DIRS; ours is mounted at the same path, so Kubernetes would refuse the pod. Source: LocalDirsFeatureStep.
LOCAL_VOLUME = "spark-local-dir-1"
#: The variables that tell the job's container its pod's name and address.
OWN_POD = [
    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
]
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
    """The pod that Spark completes for each executor.

    It has no access to the API server and no Secret: a task brings the logins that it needs, encrypted in transit.
    """
    container = {
        "name": container_name,
        "command": list(EXECUTOR_COMMAND),
        "env": [{"name": "HOME", "value": "/tmp"}],
        "securityContext": CONTAINER_SECURITY,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": LOCAL_VOLUME, "mountPath": "/tmp"}],
    }
    spec = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        **pull_secrets(asked.image_pull_secret),
        "containers": [container],
        "volumes": [{"name": LOCAL_VOLUME, "emptyDir": {}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": run_labels(flow, EXECUTOR)}, "spec": spec}


def executor_arguments(namespace: str, image: str, asked: Executors) -> Iterator[str]:
    """Yield the job's arguments."""
    yield f"--master=k8s://{API_SERVER}"
    yield from (f"--spark-conf={key}={value}" for key, value in executor_settings(namespace, image, asked).items())


def executor_settings(namespace: str, image: str, asked: Executors) -> Mapping[str, str]:
    """The settings of Spark that the job gets. A kubelet replaces $(POD_NAME) and $(POD_IP)."""
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
