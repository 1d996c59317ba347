"""Waits until an executor pod has joined the session. Without this, Spark would wait until the deadline of the Job."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from components.contract.problems import CannotRunError
from spark.jvm import log_of_pods
from spark.waiting import wait_until

#: As long as a node may take to start, and to pull the image.
JOIN_SECONDS = 300.0
_KUBERNETES_TIMEOUT_SECONDS = 10
_NO_POD = "Kubernetes shows the job no executor pod, because there is none or the job could not list pods"


def await_executors(spark: SparkSession, conf: Mapping[str, str], deadline_seconds: float = JOIN_SECONDS) -> None:
    """Return once an executor has joined; raises CannotRunError if none does before the deadline.

    `conf` is the session's. If Spark is to start executors as tasks need them, there is nothing to wait for.
    """
    if _on_demand(conf):
        return
    context = spark.sparkContext

    def joined() -> bool:
        # The driver counts as one of them.
        return int(context._jsc.sc().getExecutorMemoryStatus().size()) > 1

    if not wait_until(joined, deadline_seconds):
        reasons = dict.fromkeys(_reasons(_pods(_namespace(conf), str(context.applicationId))))
        raise executors_missing("; ".join(reasons or log_of_pods[-1:]) or _NO_POD, conf)


def executors_missing(why: str, conf: Mapping[str, str]) -> CannotRunError:
    """The error of a session that has no executor."""
    return CannotRunError(
        "executors-missing",
        f"Spark has no executor: {why}",
        f"namespace {_namespace(conf)}",
        "Without an executor, Spark cannot run any task.",
        "see the log of the job. If the namespace has no room, raise its quota, or ask for fewer or smaller executors "
        "in `inCluster.executors` of the stack file; if they end at once, build the image from this version.",
    )


def lost_executors(conf: Mapping[str, str]) -> CannotRunError:
    """The error of a session that Spark ended, or did not start, after `log_of_pods` said why."""
    # The first refusal by Kubernetes says more than Spark's last message, which only counts failures.
    return executors_missing("; ".join(dict.fromkeys((log_of_pods[0], log_of_pods[-1]))), conf)


def _on_demand(conf: Mapping[str, str]) -> bool:
    dynamic = conf.get("spark.dynamicAllocation.enabled", "false").strip().lower() == "true"
    return dynamic and "spark.executor.instances" not in conf


def _namespace(conf: Mapping[str, str]) -> str:
    return conf.get("spark.kubernetes.namespace", "default")


def _pods(namespace: str, application: str) -> Sequence[Mapping[str, Any]]:
    """The session's executor pods; none if Kubernetes does not answer."""
    from kubernetes import client
    from urllib3.exceptions import HTTPError

    from spark.kubernetes_access import api_client

    try:
        access = api_client(None)
        found = client.CoreV1Api(access).list_namespaced_pod(
            namespace,
            # In cluster mode the driver also has the selector.
            label_selector=f"spark-app-selector={application},spark-role=executor",
            _request_timeout=_KUBERNETES_TIMEOUT_SECONDS,
        )
        pods: Sequence[Mapping[str, Any]] = access.sanitize_for_serialization(found.items)  # type: ignore[no-untyped-call]
    except (client.ApiException, HTTPError, CannotRunError):
        return ()
    return pods


def _reasons(pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why pods do not run, as their status says."""
    for pod in pods:
        status = pod.get("status") or {}
        said = list(_said(status))
        yield from said or [f"a pod is {status.get('phase', 'Pending')}"]


def _said(status: Mapping[str, Any]) -> Iterator[str]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield f"{condition.get('reason', '')} {condition.get('message', '')}".strip()
    for container in status.get("containerStatuses") or ():
        for state in (container.get("state") or {}).values():
            if state and "reason" in state:
                yield f"{state['reason']} {state.get('message', '')}".strip()
