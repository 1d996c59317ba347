"""What KafkaConnect and KafkaMirrorMaker2 take alike of a replication's workers, without their clusters."""

from collections.abc import Mapping
from typing import Any

from components.clusters import Model
from components.specs.planned import Manifest
from components.workers import ConnectCluster, ExternalLogging, InlineLogging, JmxMetrics, Logging, Metrics


def worker_fields(connect: ConnectCluster, mounts: Manifest) -> Manifest:
    """Fields of the workers but their number, cluster and configuration.

    `mounts` is the part of the pod template that the replication itself needs. Source: Strimzi
    AbstractKafkaConnectSpec, whose fields these have the same names in every API version.
    """
    fields: Manifest = {
        "version": connect.version,
        "image": connect.image,
        "resources": connect.resources,
        "jvmOptions": connect.jvm_options,
        "logging": None if connect.logging is None else _logging(connect.logging),
        "metricsConfig": None if connect.metrics is None else _metrics(connect.metrics),
        "readinessProbe": _as_written(connect.readiness_probe),
        "livenessProbe": _as_written(connect.liveness_probe),
        "rack": _as_written(connect.rack),
        "tracing": _as_written(connect.tracing),
        "template": _template(connect, mounts) or None,
    }
    return {key: _copied(value) for key, value in fields.items() if value is not None}


def _as_written(part: Model | None) -> Manifest | None:
    """A part of the model whose keys are Strimzi's own."""
    return None if part is None else part.model_dump(by_alias=True, exclude_none=True, mode="json")


def _logging(logging: Logging) -> Manifest:
    match logging:
        case InlineLogging():
            return {"type": logging.type, "loggers": logging.loggers}
        case ExternalLogging():
            return {"type": logging.type, "valueFrom": _config_map_key(logging.config_map, logging.key)}


def _metrics(metrics: Metrics) -> Manifest:
    if isinstance(metrics, JmxMetrics):
        return {"type": metrics.type, "valueFrom": _config_map_key(metrics.config_map, metrics.key)}
    return {"type": metrics.type} | ({"values": {"allowList": metrics.allow_list}} if metrics.allow_list else {})


def _config_map_key(name: str, key: str) -> Manifest:
    return {"configMapKeyRef": {"name": name, "key": key}}


def _template(connect: ConnectCluster, mounts: Manifest) -> Manifest:
    ours = mounts
    if connect.image_pull_secret is not None:
        ours = joined_templates(ours, {"pod": {"imagePullSecrets": [{"name": connect.image_pull_secret}]}})
    return joined_templates(connect.template or {}, ours)


def joined_templates(first: Mapping[str, Any], second: Mapping[str, Any]) -> Manifest:
    """Both templates in one: lists are joined, each entry once; `checks.versions` holds that no name is in both."""
    joined = dict(first)
    for key, value in second.items():
        present = joined.get(key)
        if isinstance(present, Mapping):
            joined[key] = joined_templates(present, value)
        elif isinstance(present, list | tuple):
            joined[key] = [*present, *(entry for entry in value if entry not in present)]
        else:
            joined[key] = value
    return joined


def _copied(value: Any) -> Any:
    """A JSON value in plain dicts and lists, whose parts nobody shares."""
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list | tuple) else value
