"""What the pods of a validation have in common: the labels by which they are found, and what they may not do."""

from typing import Any

from components.render.planned_objects import PART_OF

#: The label of the pods, and of the Jobs that the CronJob creates. They do not have the label of our objects, because
#: nobody declares them.
COMPONENT = "app.kubernetes.io/component"
VALIDATION, EXECUTOR = "validation", "validation-executor"
#: How the image starts the job in a Job's pod, the job in a driver pod that Spark created, and a Spark executor.
COMMAND, DRIVER_COMMAND = ("python", "-m", "spark.validate"), ("python", "-m", "spark.driver")
EXECUTOR_COMMAND = ("python", "-m", "spark.executor")
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
    """The labels of a pod of a flow's validation; a selector for the flow finds its runs, too."""
    return {PART_OF: flow, COMPONENT: component}


def pull_secrets(name: str | None) -> dict[str, Any]:
    """The field of a pod with the login for the image's registry."""
    return {"imagePullSecrets": [{"name": name}]} if name else {}
