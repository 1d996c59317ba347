"""How workers report metrics, as `metricsConfig` of their resource says. Pure.

Source: Strimzi 1.2 KafkaConnectConfigurationBuilder, KafkaConnectCluster, kafka_connect_run.sh.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.kubernetes.api import Object
from infra.machine import versions

REPORTER = "io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter"
_REPORTER_TYPE = "strimziMetricsReporter"
_REPORTER_PREFIX = "prometheus.metrics.reporter."
_LISTENER = f"{_REPORTER_PREFIX}listener"

PORT_NAME = "tcp-prometheus"
"""The name of the port of a worker's Pod at which Prometheus scrapes it."""

#: The operator's own list for a KafkaConnect. Source: KafkaConnectCluster.DEFAULT_METRICS_ALLOW_LIST.
_ALLOW_LIST = (
    "kafka_admin_client_admin_client_metrics_connection_count",
    "kafka_connect_connect_worker_metrics_.*",
    "kafka_connect_connector_task_metrics_.*",
    "kafka_connect_sink_task_metrics_.*",
    "kafka_connect_source_task_metrics_.*",
    "kafka_connect_task_error_metrics_.*",
    "kafka_consumer_consumer_metrics_.*",
    "kafka_producer_producer_metrics_.*",
    "jvm_.*",
    "process_.*",
)


@dataclass(frozen=True)
class Exported:
    """Where one worker serves its metrics: a port of this machine.

    With `rules`, the JMX exporter serves them; without, Strimzi's reporter.
    """

    port: int
    rules: str | None = field(default=None, repr=False)


def uses_reporter(config: Mapping[str, Any]) -> bool:
    """Whether `metricsConfig` asks for Strimzi's reporter."""
    return config.get("type") == _REPORTER_TYPE


def reporter_properties(config: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, str]:
    """The worker's properties for its reporter; reporters of the user's `own` configuration stay."""
    if not uses_reporter(config):
        return {}
    allowed = (config.get("values") or {}).get("allowList") or _ALLOW_LIST
    return {
        "metric.reporters": ",".join(filter(None, (own.get("metric.reporters"), REPORTER))),
        f"{_LISTENER}.enable": "true",
        _LISTENER: "http://:9404",
        f"{_REPORTER_PREFIX}allowlist": ",".join(allowed),
    }


def on_this_port(properties: Mapping[str, str], exported: Exported | None) -> dict[str, str]:
    """The properties with the address at which this worker's reporter listens, on loopback only."""
    if exported is None or _LISTENER not in properties:
        return dict(properties)
    return {**properties, _LISTENER: f"http://127.0.0.1:{exported.port}"}


def agent(lib: Path, exported: Exported | None, rules: Path) -> list[str]:
    """The options of a JVM that runs the JMX exporter with the rules in this file; none if it is not used."""
    if exported is None or exported.rules is None:
        return []
    jar = lib / f"jmx_prometheus_javaagent-{versions.JMX_EXPORTER}.jar"
    return [f"-javaagent:{jar}=127.0.0.1:{exported.port}:{rules}"]


def container_ports(port: int) -> list[Object]:
    """The ports of a worker's container. A pod has port 9404 to itself; here it is a port of this machine."""
    return [{"name": PORT_NAME, "containerPort": port, "protocol": "TCP"}]


def port_of(pod: Object) -> int | None:
    """The port at which the worker of this Pod serves its metrics."""
    (container,) = pod["spec"]["containers"]
    found = (each["containerPort"] for each in container.get("ports") or [] if each.get("name") == PORT_NAME)
    return next(found, None)
