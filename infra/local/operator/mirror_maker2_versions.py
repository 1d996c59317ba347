"""The differences between the API versions of KafkaMirrorMaker2: one table entry for each version. Pure.

Source: Strimzi KafkaMirrorMaker2Connectors, KafkaMirrorMaker2Configuration, 1.2 for v1 and 0.45 for v1beta2.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.kafka.connections import LOGIN_MODULES
from infra.kubernetes.api import Object
from infra.local.operator.cluster_access import (
    CertificateAuthentication,
    ClusterAccess,
    PasswordAuthentication,
    cluster_access,
)
from infra.local.operator.resources import V1_GROUP
from infra.local.operator.worker_properties import credentials, security_protocol, trust

CONNECTOR_FILE = "/tmp/strimzi-mirrormaker2-connector.properties"
STORES = "/tmp/kafka/clusters"
"""Where the workers of 0.45 keep the passwords and key stores that connectors use."""

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
class Mirror:
    """One mirror and its two clusters, as they are in the resource."""

    source: Object
    target: Object
    spec: Object


@dataclass(frozen=True)
class Version:
    """What the operator derives from a resource of one API version.

    `worker_config` are defaults of the workers. `security` takes the resource's metadata and the access to a cluster.
    `connectors` maps types of connectors, and `exclusions` maps properties, to fields of a mirror. With
    `clusters_override`, the clusters' properties replace the connector's own; without it, the other way round.
    """

    worker_config: Mapping[str, str]
    security: Callable[[Object, ClusterAccess], Iterator[tuple[str, str]]]
    connectors: Mapping[str, str]
    exclusions: Mapping[str, tuple[str, ...]]
    rack: str
    clusters_override: bool

    def workers(self, spec: Object) -> dict[str, Any]:
        """What a KafkaConnect with the same workers would have in its spec."""
        target = spec.get("target") or _by_alias(spec)[spec["connectCluster"]]
        fields = ("bootstrapServers", *V1_GROUP, "tls", "authentication")
        same = {field: target[field] for field in fields if field in target}
        return {**same, "config": {**self.worker_config, **(target.get("config") or {})}}

    def connection(self, metadata: Object, cluster: Object, prefix: str) -> dict[str, Any]:
        """How a connector reaches a cluster."""
        access = cluster_access(cluster)
        properties: dict[str, Any] = {
            "alias": cluster["alias"],
            "bootstrap.servers": cluster["bootstrapServers"],
            **dict(self.security(metadata, access)),
            "security.protocol": security_protocol(access),
            **(cluster.get("config") or {}),
        }
        return {prefix + key: value for key, value in properties.items()}


def version_of(item: Object) -> Version:
    """The version that a resource was written in, which may not be the one it is read in. Only v1 has `target`.

    Raises InvalidResourceError.
    """
    if "target" in item["spec"]:
        return VERSIONS["kafka.strimzi.io/v1"]
    _check(item["spec"])
    return VERSIONS["kafka.strimzi.io/v1beta2"]


def clusters(spec: Object) -> list[Object]:
    """Every cluster that the resource names, those of its workers and connectors."""
    if "target" in spec:
        return [spec["target"], *(each["source"] for each in spec["mirrors"])]
    return list(spec["clusters"])


def mirrors(spec: Object) -> list[Mirror]:
    known = _by_alias(spec)
    return [
        Mirror(
            each.get("source") or known[each["sourceCluster"]], spec.get("target") or known[each["targetCluster"]], each
        )
        for each in spec["mirrors"]
    ]


def _by_alias(spec: Object) -> dict[str, Object]:
    return {each["alias"]: each for each in spec.get("clusters") or []}


def _check(spec: Object) -> None:
    missing = [section for section in ("clusters", "mirrors") if spec.get(section) is None]
    if missing:
        raise InvalidResourceError("; ".join(f"spec.{section} is missing" for section in missing))
    known = {each["alias"]: each["bootstrapServers"] for each in spec["clusters"]}
    connect = spec.get("connectCluster")
    faults = [] if connect in known else [f"connectCluster {connect} is not among spec.clusters"]
    for mirror in spec["mirrors"]:
        source, target = mirror.get("sourceCluster"), mirror.get("targetCluster")
        unknown = [each for each in (source, target) if each not in known]
        faults += [f"a mirror names {each}, which is not among spec.clusters" for each in unknown]
        if target != connect and known.get(target) != known.get(connect):
            faults.append(f"connectCluster {connect} is not the target cluster {target} of a mirror")
    if faults:
        raise InvalidResourceError("; ".join(dict.fromkeys(faults)))


def _v1_security(metadata: Object, access: ClusterAccess) -> Iterator[tuple[str, str]]:
    yield from trust(metadata["namespace"], metadata["name"], access)
    yield from credentials(metadata["namespace"], access.authentication)


def _v1beta2_security(_: Object, access: ClusterAccess) -> Iterator[tuple[str, str]]:
    alias = access.alias
    if access.tls:
        yield from _store(alias, "truststore")
    match access.authentication:
        case PasswordAuthentication(mechanism, username):
            yield "sasl.mechanism", mechanism
            module, password = LOGIN_MODULES[mechanism], _in_file(f"{alias}.sasl.password")
            yield "sasl.jaas.config", f'{module} required username="{username}" password="{password}";'
        case CertificateAuthentication():
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
