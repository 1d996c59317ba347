"""Derives Connect workers and connectors from a KafkaMirrorMaker2; a table holds what its API versions differ in. Pure.

Source: Strimzi KafkaMirrorMaker2Cluster, KafkaMirrorMaker2Connectors and KafkaMirrorMaker2Configuration, 1.2 for v1 and
0.45 for v1beta2.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_replication.components.flows.operators import CLUSTER_LABEL
from kafka_replication.components.kafka.connections import login_module
from kafka_replication.infra.kubernetes.api import Object
from kafka_replication.infra.local.operator import resources
from kafka_replication.infra.local.operator.resources import (
    KAFKA_MIRROR_MAKER_2,
    ClusterConnection,
    ConnectorResource,
    ConnectResource,
)
from kafka_replication.infra.local.operator.worker_properties import (
    REPORTER,
    credentials,
    security_protocol,
    trust,
    uses_reporter,
)

CONNECTOR_FILE = "/tmp/strimzi-mirrormaker2-connector.properties"
#: Where the workers of 0.45 keep the passwords and key stores that connectors use.
STORES = "/tmp/kafka/clusters"
_V1BETA2_DEFAULTS = {
    "group.id": "mirrormaker2-cluster",
    "offset.storage.topic": "mirrormaker2-cluster-offsets",
    "config.storage.topic": "mirrormaker2-cluster-configs",
    "status.storage.topic": "mirrormaker2-cluster-status",
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}


class InvalidResourceError(Exception):
    """The operator cannot handle this resource; the message says what is wrong with it."""


@dataclass(frozen=True)
class Version:
    """What the operator derives from a resource of one API version.

    `worker_config` are defaults of the workers. `security` takes the resource's metadata and the access to a cluster.
    `connectors` maps types of connectors, and `exclusions` maps properties, to fields of a mirror. With
    `clusters_override`, the clusters' properties replace the connector's own; without it, the other way round.
    """

    worker_config: Mapping[str, str]
    security: Callable[[Object, ClusterConnection], Iterator[tuple[str, str]]]
    connectors: Mapping[str, str]
    exclusions: Mapping[str, tuple[str, ...]]
    rack: str
    clusters_override: bool

    def workers(self, spec: Object) -> dict[str, Any]:
        """Return what a KafkaConnect with the same workers would have in its spec."""
        target = spec.get("target") or _by_alias(spec)[spec["connectCluster"]]
        fields = ("bootstrapServers", *resources.V1_GROUP, "tls", "authentication")
        same = {field: target[field] for field in fields if field in target}
        return {**same, "config": {**self.worker_config, **(target.get("config") or {})}}

    def connection(self, metadata: Object, cluster: Object, prefix: str) -> dict[str, Any]:
        """Return how a connector reaches a cluster."""
        access = resources.cluster_access(cluster)
        properties: dict[str, Any] = {
            "alias": cluster["alias"],
            "bootstrap.servers": cluster["bootstrapServers"],
            **dict(self.security(metadata, access)),
            "security.protocol": security_protocol(access),
            **(cluster.get("config") or {}),
        }
        return {prefix + key: value for key, value in properties.items()}


def version_of(item: Object) -> Version:
    """Return the version that a resource was written in: only v1 has `target`. Raises InvalidResourceError."""
    if "target" in item["spec"]:
        return VERSIONS["kafka.strimzi.io/v1"]
    _check(item["spec"])
    return VERSIONS["kafka.strimzi.io/v1beta2"]


def clusters(spec: Object) -> list[Object]:
    """Return every cluster that the resource names, those of its workers and connectors."""
    if "target" in spec:
        return [spec["target"], *(mirror["source"] for mirror in spec["mirrors"])]
    return list(spec["clusters"])


def mirrors(spec: Object) -> list[Object]:
    """Return the mirrors, each with its two clusters as `source` and `target`."""
    known = _by_alias(spec)
    return [
        {
            **mirror,
            "source": mirror.get("source") or known[mirror["sourceCluster"]],
            "target": spec.get("target") or known[mirror["targetCluster"]],
        }
        for mirror in spec["mirrors"]
    ]


def _by_alias(spec: Object) -> dict[str, Object]:
    return {cluster["alias"]: cluster for cluster in spec.get("clusters") or []}


def _check(spec: Object) -> None:
    missing = [section for section in ("clusters", "mirrors") if spec.get(section) is None]
    if missing:
        raise InvalidResourceError("; ".join(f"spec.{section} is missing" for section in missing))
    known = {cluster["alias"]: cluster["bootstrapServers"] for cluster in spec["clusters"]}
    connect = spec.get("connectCluster")
    faults = [] if connect in known else [f"connectCluster {connect} is not among spec.clusters"]
    for mirror in spec["mirrors"]:
        source, target = mirror.get("sourceCluster"), mirror.get("targetCluster")
        unknown = [alias for alias in (source, target) if alias not in known]
        faults += [f"a mirror names {name}, which is not among spec.clusters" for name in unknown]
        if target != connect and known.get(target) != known.get(connect):
            faults.append(f"connectCluster {connect} is not the target cluster {target} of a mirror")
    if faults:
        raise InvalidResourceError("; ".join(dict.fromkeys(faults)))


def _v1_security(metadata: Object, access: ClusterConnection) -> Iterator[tuple[str, str]]:
    yield from trust(metadata["namespace"], metadata["name"], access)
    yield from credentials(metadata["namespace"], access.authentication)


def _v1beta2_security(_: Object, access: ClusterConnection) -> Iterator[tuple[str, str]]:
    alias = access.alias
    if access.tls:
        yield from _store(alias, "truststore")
    match access.authentication:
        case resources.PasswordLogin(mechanism, username):
            yield "sasl.mechanism", mechanism
            password = _in_file(f"{alias}.sasl.password")
            yield "sasl.jaas.config", login_module(mechanism, username=username, password=password)
        case resources.CertificateLogin():
            yield from _store(alias, "keystore")


def _store(alias: str, store: str) -> Iterator[tuple[str, str]]:
    yield f"ssl.{store}.type", "PKCS12"
    yield f"ssl.{store}.location", f"{STORES}/{alias}.{store}.p12"
    yield f"ssl.{store}.password", _in_file(f"ssl.{store}.password")


def _in_file(key: str) -> str:
    return f"${{file:{CONNECTOR_FILE}:{key}}}"


VERSIONS = {
    "kafka.strimzi.io/v1": Version(
        worker_config={},
        security=_v1_security,
        connectors={"MirrorSourceConnector": "sourceConnector", "MirrorCheckpointConnector": "checkpointConnector"},
        exclusions={"topics.exclude": ("topicsExcludePattern",), "groups.exclude": ("groupsExcludePattern",)},
        rack="${strimzifile:/tmp/strimzi-connect.properties:consumer.client.rack}",
        clusters_override=False,
    ),
    "kafka.strimzi.io/v1beta2": Version(
        worker_config=_V1BETA2_DEFAULTS,
        security=_v1beta2_security,
        connectors={
            "MirrorSourceConnector": "sourceConnector",
            "MirrorHeartbeatConnector": "heartbeatConnector",
            "MirrorCheckpointConnector": "checkpointConnector",
        },
        exclusions={
            "topics.exclude": ("topicsExcludePattern", "topicsBlacklistPattern"),
            "groups.exclude": ("groupsExcludePattern", "groupsBlacklistPattern"),
        },
        rack="${file:/tmp/strimzi-connect.properties:consumer.client.rack}",
        clusters_override=True,
    ),
}


_PACKAGE = "org.apache.kafka.connect.mirror"
_PATTERNS = {"topicsPattern": "topics", "groupsPattern": "groups"}
#: Fields that mean the same in the spec of a KafkaConnect.
_WORKER_FIELDS = (
    *("replicas", "jvmOptions", "resources", "template", "version", "metricsConfig"),
    *resources.IGNORED_FIELDS,
)
_TRACING = "io.opentelemetry.instrumentation.kafkaclients.v2_6.Tracing"
#: Fields that add properties to every connector; these properties only work in a container.
_FOR_CONTAINERS = ("rack", "tracing")


def key_of(item: Object) -> tuple[str, str]:
    """Return the key of the workers; works for an invalid resource, too."""
    metadata = item["metadata"]
    return metadata["namespace"], f"{metadata['name']}-{KAFKA_MIRROR_MAKER_2.suffix}"


def connect_resource(item: Object) -> ConnectResource:
    """Return the workers. Raises InvalidResourceError."""
    version, spec = version_of(item), item["spec"]
    same = {field: spec[field] for field in _WORKER_FIELDS if field in spec}
    connect = resources.connect_resource({**item, "spec": {**same, **version.workers(spec)}})
    reached = tuple(map(resources.cluster_access, clusters(spec)))
    return replace(connect, component=KAFKA_MIRROR_MAKER_2, clusters=reached)


def connector_resources(item: Object) -> list[ConnectorResource]:
    """Return the connectors, with the configurations that the operator writes. Raises InvalidResourceError."""
    version, spec = version_of(item), item["spec"]
    return [
        _connector(item, version, mirror, connector_type)
        for mirror in mirrors(spec)
        for connector_type, field in version.connectors.items()
        if field in mirror
    ]


def for_one_machine(item: Object) -> Object:
    """Return the same resource without the fields whose properties only work in a container."""
    return {**item, "spec": {key: value for key, value in item["spec"].items() if key not in _FOR_CONTAINERS}}


def _connector(item: Object, version: Version, mirror: Object, connector_type: str) -> ConnectorResource:
    metadata, spec = item["metadata"], mirror[version.connectors[connector_type]]
    name = f"{mirror['source']['alias']}->{mirror['target']['alias']}.{connector_type}"
    kept = (item.get("status") or {}).get("autoRestartStatuses") or []
    restarts = next((status for status in kept if status.get("connectorName") == name), None)
    labels = {CLUSTER_LABEL: metadata["name"]}
    connector = resources.connector_resource(
        {
            **item,
            "metadata": {**metadata, "name": name, "labels": labels},
            "spec": {**spec, "class": f"{_PACKAGE}.{connector_type}", "config": _config(item, version, mirror, spec)},
            "status": {"autoRestart": restarts} if restarts else {},
        }
    )
    return replace(connector, component=KAFKA_MIRROR_MAKER_2)


def _config(item: Object, version: Version, mirror: Object, connector: Object) -> dict[str, Any]:
    metadata = item["metadata"]
    own = connector.get("config") or {}
    reached = {
        **version.connection(metadata, mirror["target"], "target.cluster."),
        **version.connection(metadata, mirror["source"], "source.cluster."),
    }
    config = {**own, **reached} if version.clusters_override else {**reached, **own}
    config |= {key: mirror[field] for field, key in _PATTERNS.items() if field in mirror}
    for key, fields in version.exclusions.items():
        # The first of the fields that is set wins.
        config |= dict([(key, mirror[field]) for field in fields if field in mirror][:1])
    return config | _additions(item["spec"], version, config)


def _additions(spec: Object, version: Version, config: Mapping[str, Any]) -> dict[str, Any]:
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
