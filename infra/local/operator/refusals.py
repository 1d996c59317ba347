"""Refuses workers before any is created: what Strimzi's operator refuses, in its words, and Kafka versions that this
machine does not have. Pure.

Source: Strimzi 1.2 KafkaVersion.Lookup, JmxPrometheusExporterModel, LoggingUtils.
"""

from collections.abc import Mapping
from typing import Any

from components.flows.operators import strimzi, supported_versions
from infra.local.operator.conditions import Condition, not_ready
from infra.local.operator.kafka_jars import VERSIONS
from infra.local.operator.resources import ConfigMapKey, ConnectResource

ConfigMaps = Mapping[str, Mapping[str, Any]]
"""The data of the ConfigMaps that exist, by name."""


def refused_version(connect: ConnectResource) -> Condition | None:
    """The refusal of a version of Kafka that the operator has no image for; a custom image may have any version."""
    operator = strimzi("0.45" if connect.has_values_in_files else "1.2")
    supported = supported_versions(operator) or ()
    if connect.image is not None or connect.version is None or connect.version in supported:
        return None
    told = f"Kafka version {connect.version} is not supported. Supported versions are: {', '.join(supported)}."
    return not_ready("InvalidResourceException", told)


def missing_version(connect: ConnectResource) -> Condition | None:
    """The refusal of a version of Kafka that cannot run on this machine: no other version runs in its place."""
    if connect.version is None or connect.version in VERSIONS:
        return None
    told = (
        f"Kafka {connect.version} cannot run on the local stack, which has only {' and '.join(VERSIONS)}: set "
        f"spec.version to one of these, or remove it to run {VERSIONS[0]}"
    )
    return not_ready("UnsupportedLocally", told)


def refused_config_map(wanted: ConfigMapKey, found: ConfigMaps) -> Condition | None:
    """The refusal of a ConfigMap, or of a key of one, that does not exist."""
    if wanted.key in found.get(wanted.name, {}):
        return None
    if wanted.field == "logging":
        told = (
            f"ConfigMap {wanted.name} with external logging configuration does not exist or doesn't contain the "
            f"configuration under the {wanted.key} key."
        )
        return not_ready("InvalidResourceException", told)
    missing = f"does not contain specified key {wanted.key}" if wanted.name in found else "does not exist"
    return not_ready("InvalidConfigurationException", f"ConfigMap {wanted.name} {missing}")
