"""The user's own ConfigMaps that the operator reads. If one is missing it creates no worker, and only a status says
why.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.contract.problems import CannotRunError
from components.flows.resolved import ResolvedFlow
from components.render.metrics import RULES_KEY
from components.topology.workers import ExternalLogging, JmxMetrics
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, Reference

_WHY = "The operator reads metrics rules and logging configuration from ConfigMaps, and creates no worker without them."


def require_config_maps(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> None:
    """Raise a CannotRunError that names each ConfigMap that workers need and that does not exist.

    Source: Strimzi JmxPrometheusExporterModel.metricsJson, LoggingUtils.
    """
    missing = []
    for namespace, name, key in sorted({wanted for flow in flows for wanted in _wanted(flow)}):
        where = f"ConfigMap {namespace}/{name}"
        with asking_kubernetes(where, _WHY, f"let your user `get` the {where}."):
            said = lacking(api.get(Reference("v1", "ConfigMap", namespace, name)), key)
        if said:
            missing.append(f"{where} {said}")
    if missing:
        raise CannotRunError(
            "config-map-missing",
            "; ".join(missing),
            "the Kubernetes cluster of the stack",
            _WHY,
            "create it; the operator then continues by itself.",
        )


def _wanted(flow: ResolvedFlow) -> Iterator[tuple[str, str, str]]:
    """Namespace, name and key of each ConfigMap."""
    connect = flow.settings.connect
    for given in (connect.metrics, connect.logging):
        if isinstance(given, JmxMetrics | ExternalLogging) and given.config_map is not None:
            yield flow.namespace, given.config_map, given.key or RULES_KEY


def lacking(config_map: Mapping[str, Any] | None, key: str) -> str:
    """What a ConfigMap lacks, empty if nothing."""
    if config_map is None:
        return f"does not exist; it needs the key `{key}`"
    return "" if key in (config_map.get("data") or {}) else f"has no key `{key}`"
