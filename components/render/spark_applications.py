"""The validation job as a SparkApplication of the Spark operator of Kubeflow, API v1beta2.

The operator calls spark-submit in cluster mode. This creates the driver's pod from a template, and the driver creates
the executors' pods. The templates hold the settings for which the resource has no field; with them, the operator's
webhook changes no pod.
Source: Spark operator 2.5, internal/controller/sparkapplication/submission.go; Spark 4.2, KubernetesDriverBuilder.
"""

from collections.abc import Mapping
from typing import Any

from components.contract.parameters import FlowParameters
from components.contract.spark_conf import DRIVER_HEAP, SparkSettings
from components.flows.naming import validation_run_name
from components.render.executor_pods import GUARDED, LOCAL_VOLUME, executor_template
from components.render.job_pods import job_arguments, mounted, resources
from components.render.planned_objects import Manifest
from components.render.validation_pods import CONTAINER_SECURITY, DRIVER_COMMAND, POD_SECURITY, run_labels
from components.topology.in_cluster import Executors, InCluster
from components.topology.sizes import heap_bytes, quantity_value

API_VERSION = "sparkoperator.k8s.io/v1beta2"
#: The Spark in the job's image.
SPARK_VERSION = "4.2.0"
#: The job in the image, where `spark/Dockerfile` puts it. Spark recognises Python by the file's name.
APPLICATION = "local:///opt/replication/validate.py"
#: Before each retry the operator waits this long, times the number of tries so far.
RETRY_SECONDS = 10
#: The operator looks for containers of these names.
_DRIVER, _EXECUTOR = "spark-kubernetes-driver", "spark-kubernetes-executor"
#: The resources that the fields `coreRequest`, `coreLimit` and `memory` set.
_IN_FIELDS = frozenset({"cpu", "memory"})


def application_spec(
    flow: FlowParameters, parameters: str, asked: InCluster, depth: str, spark: SparkSettings
) -> dict[str, Any]:
    """The spec of a SparkApplication. `parameters` names the ConfigMap with the document."""
    assert asked.executors is not None, "checked"
    return {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": SPARK_VERSION,
        "image": asked.image,
        **({"imagePullSecrets": [asked.image_pull_secret]} if asked.image_pull_secret else {}),
        "mainApplicationFile": APPLICATION,
        "arguments": list(job_arguments(flow, asked, depth)),
        "sparkConf": {**spark.conf, **GUARDED},
        # Otherwise Spark adds 40% to an executor's heap for Python, which no executor runs here.
        "memoryOverheadFactor": "0.1",
        "restartPolicy": _restart_policy(asked.retries),
        "driver": _driver(flow, parameters, asked, spark.driver_memory or DRIVER_HEAP),
        "executor": _executor(flow, asked, asked.executors),
    }


def scheduled_spec(
    flow: FlowParameters, parameters: str, asked: InCluster, depth: str, spark: SparkSettings
) -> dict[str, Any]:
    """The spec of a ScheduledSparkApplication."""
    return {
        "schedule": asked.schedule,
        "timeZone": asked.time_zone,
        "concurrencyPolicy": "Forbid",
        "successfulRunHistoryLimit": asked.history.successful,
        "failedRunHistoryLimit": asked.history.failed,
        "template": application_spec(flow, parameters, asked, depth, spark),
    }


def longest_seconds(asked: InCluster) -> int:
    """The longest time that all tries of a SparkApplication can take together: each has the whole deadline."""
    return (asked.retries + 1) * asked.deadline_seconds + sum(range(asked.retries + 1)) * RETRY_SECONDS


def _restart_policy(retries: int) -> dict[str, Any]:
    if not retries:
        return {"type": "Never"}
    return {
        "type": "OnFailure",
        "onFailureRetries": retries,
        "onFailureRetryInterval": RETRY_SECONDS,
        "onSubmissionFailureRetries": retries,
        "onSubmissionFailureRetryInterval": RETRY_SECONDS,
    }


def _driver(flow: FlowParameters, parameters: str, asked: InCluster, heap: str) -> Manifest:
    requests, limits = asked.resources.requests, asked.resources.limits
    beside_heap = int((quantity_value(limits["memory"]) - heap_bytes(heap)) // 1024**2)
    mounts, volumes = mounted(flow, parameters, LOCAL_VOLUME)
    others = [{key: each for key, each in side.items() if key not in _IN_FIELDS} for side in (requests, limits)]
    container = {
        "name": _DRIVER,
        "command": list(DRIVER_COMMAND),
        "env": [{"name": "HOME", "value": "/tmp"}],
        **({"resources": found} if (found := resources(*others)) else {}),
        "securityContext": CONTAINER_SECURITY,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    spec = {
        # The resource has no field for a deadline.
        "activeDeadlineSeconds": asked.deadline_seconds,
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        "containers": [container],
        "volumes": volumes,
    }
    return {
        # Without a request, Kubernetes would request the limit, and Spark would request a whole core.
        "coreRequest": str(requests.get("cpu", limits.get("cpu", 0))),
        **({"coreLimit": str(limits["cpu"])} if "cpu" in limits else {}),
        "memory": heap,
        "memoryOverhead": f"{beside_heap}m",
        "serviceAccount": validation_run_name(flow.name),
        "template": {"metadata": {"labels": run_labels(flow.name)}, "spec": spec},
    }


def _executor(flow: FlowParameters, asked: InCluster, executors: Executors) -> Manifest:
    template: Mapping[str, Any] = executor_template(flow.name, asked, _EXECUTOR)
    # The resource names this Secret for the driver and the executors.
    spec = {key: each for key, each in template["spec"].items() if key != "imagePullSecrets"}
    return {
        "instances": executors.instances,
        "cores": executors.cores,
        "memory": executors.memory,
        **({"coreRequest": str(executors.cpu)} if executors.cpu is not None else {}),
        # Otherwise Spark gives executors the driver's account.
        "serviceAccount": "default",
        "template": {"metadata": template["metadata"], "spec": spec},
    }
