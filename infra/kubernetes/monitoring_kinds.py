"""The kinds of the Prometheus operator, without which a stack cannot be monitored."""

from components.contract.problems import CannotRunError
from components.render.monitoring import API_VERSION
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import ApiError, KubernetesApi

KINDS = ("PodMonitor", "PrometheusRule")
_WHY = "`monitoring` of the topology declares custom resources of the Prometheus operator."


def require_prometheus_operator(api: KubernetesApi) -> None:
    """Raise a CannotRunError if the cluster does not have the kinds that `monitoring` of a topology asks for."""
    for kind in KINDS:
        with asking_kubernetes(f"kind {kind}", _WHY, f"let your user list the kinds of {API_VERSION}."):
            try:
                api.is_namespaced(API_VERSION, kind)
            except ApiError as error:
                if not error.not_found:
                    raise
                raise CannotRunError(
                    "prometheus-operator-missing",
                    f"the Kubernetes cluster has no kind {kind}",
                    "the Kubernetes cluster of the stack",
                    _WHY,
                    "install the Prometheus operator, or remove `monitoring`.",
                ) from error
