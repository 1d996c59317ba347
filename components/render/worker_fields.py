"""The fields of workers that KafkaConnect and KafkaMirrorMaker2 share."""

from collections.abc import Mapping
from typing import Any

from components.render.planned_objects import Manifest
from components.topology.workers import ConnectCluster, ExternalLogging, InlineLogging, Logging

#: Parts of the model whose keys are Strimzi's own.
_AS_WRITTEN = {
    *("version", "image", "resources", "jvm_options", "rack", "tracing"),
    *("readiness_probe", "liveness_probe"),
}


def worker_fields(connect: ConnectCluster, mounts: Manifest) -> Manifest:
    """Return the workers' fields, apart from their number, cluster, configuration and metrics.

    `mounts` is the part of the pod template that the replication itself needs. The fields have the same names in every
    API version. Source: Strimzi AbstractKafkaConnectSpec.
    """
    fields: Manifest = connect.model_dump(by_alias=True, exclude_none=True, mode="json", include=_AS_WRITTEN)
    if connect.logging is not None:
        fields["logging"] = _logging(connect.logging)
    if template := _template(connect, mounts):
        fields["template"] = template
    return fields


def _logging(logging: Logging) -> Manifest:
    match logging:
        case InlineLogging():
            return {"type": logging.type, "loggers": dict(logging.loggers)}
        case ExternalLogging():
            return {"type": logging.type, "valueFrom": _config_map_key(logging.config_map, logging.key)}


def _config_map_key(name: str, key: str) -> Manifest:
    return {"configMapKeyRef": {"name": name, "key": key}}


def _template(connect: ConnectCluster, mounts: Manifest) -> Manifest:
    if connect.image_pull_secret is not None:
        mounts = joined_templates(mounts, {"pod": {"imagePullSecrets": [{"name": connect.image_pull_secret}]}})
    return joined_templates(connect.model_dump(mode="json", include={"template"})["template"] or {}, mounts)


def joined_templates(first: Mapping[str, Any], second: Mapping[str, Any]) -> Manifest:
    """Merge two templates; lists are joined, each entry once. `checks.versions` refuses a name that is in both."""
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
