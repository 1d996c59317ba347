"""Derives Connect workers and connectors from a KafkaMirrorMaker2. Pure.

Source: Strimzi KafkaMirrorMaker2Cluster and KafkaMirrorMaker2Connectors, 1.2 for v1 and 0.45 for v1beta2.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from infra.kubernetes.api import Object
from infra.local.operator import resources
from infra.local.operator.cluster_access import cluster_access
from infra.local.operator.mirror_maker2_versions import Mirror, Version, clusters, mirrors, version_of
from infra.local.operator.resources import (
    CLUSTER_LABEL,
    KAFKA_MIRROR_MAKER_2,
    ConnectorResource,
    ConnectResource,
    connector_resource,
)
from infra.local.operator.worker_metrics import REPORTER, uses_reporter

_PACKAGE = "org.apache.kafka.connect.mirror"
_PATTERNS = {"topicsPattern": "topics", "groupsPattern": "groups"}
_WORKER_FIELDS = (
    *("replicas", "jvmOptions", "resources", "template", "version", "metricsConfig"),
    *resources.IGNORED_FIELDS,
)
"""Fields that mean the same in the spec of a KafkaConnect."""

_TRACING = "io.opentelemetry.instrumentation.kafkaclients.v2_6.Tracing"
_FOR_CONTAINERS = ("rack", "tracing")
"""Fields that add properties to every connector; these properties only work in a container."""


def key_of(item: Object) -> tuple[str, str]:
    """The key of the workers; works for an invalid resource, too."""
    metadata = item["metadata"]
    return metadata["namespace"], f"{metadata['name']}-{KAFKA_MIRROR_MAKER_2.suffix}"


def connect_resource(item: Object) -> ConnectResource:
    """The workers. Raises InvalidResourceError."""
    version, spec = version_of(item), item["spec"]
    same = {field: spec[field] for field in _WORKER_FIELDS if field in spec}
    connect = resources.connect_resource({**item, "spec": {**same, **version.workers(spec)}})
    reached = tuple(map(cluster_access, clusters(spec)))
    return replace(connect, component=KAFKA_MIRROR_MAKER_2, clusters=reached)


def connector_resources(item: Object) -> list[ConnectorResource]:
    """The connectors, with the configurations that the operator writes. Raises InvalidResourceError."""
    version, spec = version_of(item), item["spec"]
    return [
        _connector(item, version, mirror, connector_type)
        for mirror in mirrors(spec)
        for connector_type, field in version.connectors.items()
        if field in mirror.spec
    ]


def for_one_machine(item: Object) -> Object:
    """The same resource without the fields whose properties only work in a container."""
    return {**item, "spec": {key: value for key, value in item["spec"].items() if key not in _FOR_CONTAINERS}}


def _connector(item: Object, version: Version, mirror: Mirror, connector_type: str) -> ConnectorResource:
    metadata, spec = item["metadata"], mirror.spec[version.connectors[connector_type]]
    name = f"{mirror.source['alias']}->{mirror.target['alias']}.{connector_type}"
    kept = (item.get("status") or {}).get("autoRestartStatuses") or []
    restarts = next((each for each in kept if each.get("connectorName") == name), None)
    labels = {CLUSTER_LABEL: metadata["name"]}
    connector = connector_resource(
        {
            **item,
            "metadata": {**metadata, "name": name, "labels": labels},
            "spec": {**spec, "class": f"{_PACKAGE}.{connector_type}", "config": _config(item, version, mirror, spec)},
            "status": {"autoRestart": restarts} if restarts else {},
        }
    )
    return replace(connector, component=KAFKA_MIRROR_MAKER_2)


def _config(item: Object, version: Version, mirror: Mirror, connector: Object) -> dict[str, Any]:
    metadata = item["metadata"]
    own = connector.get("config") or {}
    reached = {
        **version.connection(metadata, mirror.target, "target.cluster."),
        **version.connection(metadata, mirror.source, "source.cluster."),
    }
    config = {**own, **reached} if version.clusters_override else {**reached, **own}
    config |= {key: mirror.spec[field] for field, key in _PATTERNS.items() if field in mirror.spec}
    for key, fields in version.exclusions.items():
        # The first of the fields that is set wins.
        config |= dict([(key, mirror.spec[field]) for field in fields if field in mirror.spec][:1])
    return config | _additions(item["spec"], version, config)


def _additions(spec: Object, version: Version, config: Mapping[str, Any]) -> dict[str, Any]:
    """What the resource's tracing, rack awareness and metrics add to each connector."""
    added: dict[str, Any] = {}
    if spec.get("tracing", {}).get("type") == "opentelemetry":
        added["consumer.interceptor.classes"] = f"{_TRACING}ConsumerInterceptor"
        added["producer.interceptor.classes"] = f"{_TRACING}ProducerInterceptor"
    if "rack" in spec:
        added["consumer.client.rack"] = version.rack
    if uses_reporter(spec.get("metricsConfig") or {}):
        given = str(config.get("metric.reporters", REPORTER))
        added["metric.reporters"] = given if REPORTER in given else f"{given},{REPORTER}"
        added["prometheus.metrics.reporter.listener.enable"] = "false"
    return added
