"""The kinds of other operators that a stack may declare: without them, its deployment would stop half way."""

from collections.abc import Iterable

from components.contract.problems import CannotRunError
from components.render.monitoring import API_VERSION
from components.render.validation_jobs import API_VERSION as SPARK_OPERATOR
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import ApiError, KubernetesApi

KINDS = ("PodMonitor", "PrometheusRule")
_WHERE = "the Kubernetes cluster of the stack"
_MONITORING = "`monitoring` of the topology declares custom resources of the Prometheus operator."
_VALIDATION = "`inCluster.workload` of the stack file asks for custom resources of the Spark operator."


def require_prometheus_operator(api: KubernetesApi) -> None:
    """Raise a CannotRunError if the cluster does not have the kinds that `monitoring` of a topology asks for."""
    for kind in _missing(api, API_VERSION, KINDS, _MONITORING):
        raise CannotRunError(
            "prometheus-operator-missing",
            f"the Kubernetes cluster has no kind {kind}",
            _WHERE,
            _MONITORING,
            "install the Prometheus operator, or remove `monitoring`.",
        )


def require_spark_operator(api: KubernetesApi) -> None:
    """Raise a CannotRunError if the cluster does not have the kinds that `workload: SparkApplication` asks for."""
    for kind in _missing(api, SPARK_OPERATOR, ("SparkApplication", "ScheduledSparkApplication"), _VALIDATION):
        raise CannotRunError(
            "spark-operator-missing",
            f"the Kubernetes cluster has no kind {kind}",
            _WHERE,
            _VALIDATION,
            "install Kubeflow's Spark operator, 2.2 or later, or remove `workload`: then a Job and a CronJob validate.",
        )


def _missing(api: KubernetesApi, version: str, kinds: Iterable[str], why: str) -> Iterable[str]:
    """Yield the kinds that the cluster does not serve."""
    for kind in kinds:
        with asking_kubernetes(f"kind {kind}", why, f"let your user list the kinds of {version}."):
            try:
                api.is_namespaced(version, kind)
            except ApiError as error:
                if not error.not_found:
                    raise
                yield kind
