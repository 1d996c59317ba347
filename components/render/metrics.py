"""Metrics of the workers and their connectors: what each of the two exporters needs to report them.

Both report a metric under the same name: Kafka's domain, type and attribute, such as
`kafka_connect_mirror_mirrorsourceconnector_record_count`. With `metric.names.formats: new` (KIP-1280, Kafka 4.3) the
type is `plugins`. `tests/contract/test_metrics.py` compares the names with what Kafka registers.
"""

from collections.abc import Mapping
from pathlib import Path

from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.naming import config_map_name
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.components.properties.values import Value
from kafka_replication.components.render.config_layers import Config
from kafka_replication.components.render.planned_objects import Manifest, ObjectRole, PlannedObject, flow_object
from kafka_replication.components.topology.workers import JmxMetrics, Metrics, ReporterMetrics

_SOURCE = "kafka_connect_mirror_mirrorsourceconnector_"
_CHECKPOINT = "kafka_connect_mirror_mirrorcheckpointconnector_"
_TASKS = "kafka_connect_connect_worker_metrics_connector_"
_NEW = "kafka_connect_plugins_"

#: The metrics that alerts and the dashboard read, by their names in the form `legacy`.
RECORD_COUNT = f"{_SOURCE}record_count"
LATENCY_MAX = f"{_SOURCE}replication_latency_ms_max"
CHECKPOINT_LATENCY = f"{_CHECKPOINT}checkpoint_latency_ms"
FAILED_TASKS = f"{_TASKS}failed_task_count"
RUNNING_TASKS = f"{_TASKS}running_task_count"
RECORDS_LAG = "kafka_consumer_consumer_fetch_manager_metrics_records_lag"
READ = (RECORD_COUNT, LATENCY_MAX, CHECKPOINT_LATENCY, FAILED_TASKS, RUNNING_TASKS, RECORDS_LAG)

#: Names of the form `new` that alerts read from the source connectors.
NEW_NAMES = (f"{_NEW}record_count", f"{_NEW}replication_latency_ms_max")
#: Pattern of names in the form `new` -> the name in the form `legacy`. Source: KIP-1280.
LEGACY_NAMES = {
    f"{_NEW}((record|byte|replication)_.+)": f"{_SOURCE}$1",
    f"{_NEW}(checkpoint_latency_.+)": f"{_CHECKPOINT}$1",
}
#: Property of source and checkpoint connectors with the forms in which they report.
FORMS = "metric.names.formats"
#: Patterns that match whole names. The operator's own list for a KafkaConnect has no MirrorMaker metric.
#: Source: Strimzi KafkaConnectCluster.DEFAULT_METRICS_ALLOW_LIST.
ALLOW_LIST = ("kafka_connect_.*", RECORDS_LAG, "jvm_.*", "process_.*")

_REPORTER = "io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter"
#: Key of the rules in our own ConfigMap.
RULES_KEY = "rules.yaml"


def metrics_fields(flow: ResolvedFlow) -> Manifest:
    """Return the workers' `metricsConfig`, or nothing. Source: Strimzi MetricsConfig."""
    metrics = flow.settings.connect.metrics
    match metrics:
        case None:
            return {}
        case JmxMetrics():
            name, key = metrics.config_map or _config_map(flow), metrics.key or RULES_KEY
            return {
                "metricsConfig": {"type": metrics.type, "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}
            }
        case ReporterMetrics():
            return {"metricsConfig": {"type": metrics.type, "values": {"allowList": list(allow_list(metrics))}}}


def allow_list(metrics: ReporterMetrics) -> tuple[str, ...]:
    """Return the patterns of the metrics that Strimzi's reporter reports."""
    return metrics.allow_list or ALLOW_LIST


def metrics_objects(flow: ResolvedFlow) -> list[PlannedObject]:
    """Return the ConfigMap with our rules for the JMX exporter, unless the workers need none or use a user's own."""
    metrics = flow.settings.connect.metrics
    if not isinstance(metrics, JmxMetrics) or metrics.config_map is not None:
        return []
    fields: Manifest = {"immutable": True, "data": _data(metrics)}
    return [flow_object(flow, ObjectRole.METRICS_CONFIG, "v1", "ConfigMap", _config_map(flow), **fields)]


def _config_map(flow: ResolvedFlow) -> str:
    metrics = flow.settings.connect.metrics
    return config_map_name(flow.workers, "metrics", _data(metrics))


def _data(metrics: Metrics | None) -> dict[str, str]:
    key = metrics.key if isinstance(metrics, JmxMetrics) else None
    return {key or RULES_KEY: jmx_rules()}


def jmx_rules() -> str:
    """Return our rules for the JMX exporter as YAML; any change of the text, also of a comment, restarts workers.

    JMX quotes names with characters such as `>`. Only the rule of task counts removes the quotes, since alerts compare
    the names of connectors.
    """
    return Path(__file__).with_name("jmx_rules.yaml").read_text()


def metrics_properties(flow: ResolvedFlow, role: ConnectorRole, own: Config) -> Config:
    """Return the properties that a connector needs so that its metrics are reported.

    `own` is what the user has configured for it; the user's own reporters stay. The operator configures only the
    connectors of a KafkaMirrorMaker2, and no consumer. Source: Strimzi KafkaMirrorMaker2Connectors.
    """
    if not isinstance(flow.settings.connect.metrics, ReporterMetrics) or role == "heartbeat":
        return {}
    properties: Config = {}
    if flow.expanded.shape is not FlowShape.MIRROR_MAKER2:
        properties |= _reporter("", own)
    if role == "source":
        properties |= _reporter("source.consumer.", own)
        properties["source.consumer.prometheus.metrics.reporter.allowlist"] = RECORDS_LAG
    return properties


def _reporter(prefix: str, own: Config) -> Config:
    """Return the properties that add the reporter to those of a client; without its listener, which the worker has."""
    given = [entry for entry in str(own.get(f"{prefix}metric.reporters", "")).split(",") if entry.strip()]
    joined = ",".join(given if _REPORTER in given else [*given, _REPORTER])
    return {f"{prefix}metric.reporters": joined, f"{prefix}prometheus.metrics.reporter.listener.enable": False}


def reports_new(config: Mapping[str, Value]) -> bool:
    """Return whether a connector with this configuration reports under the names of the form `new`."""
    return "new" in _forms(config)


def reports_both(config: Mapping[str, Value]) -> bool:
    """Return whether a connector with this configuration reports each metric twice, once in each form."""
    return {"legacy", "new"} <= _forms(config)


def _forms(config: Mapping[str, Value]) -> set[str]:
    return {entry.strip() for entry in str(config.get(FORMS, "legacy")).split(",")}


def label_defaults(flow: ResolvedFlow, role: ConnectorRole) -> Config:
    """Return the property by which old versions label metrics with the source. Source: MirrorSourceConfig of 3.9."""
    known = "add.source.alias.to.metrics" in definitions(flow.expanded.kafka, Owner.SOURCE)
    asked = flow.settings.connect.metrics is not None and role == "source"
    return {"add.source.alias.to.metrics": True} if known and asked else {}
