"""The differences between the API versions of KafkaMirrorMaker2: one table entry for each version. Pure.

Source: Strimzi KafkaMirrorMaker2Connectors, KafkaMirrorMaker2Configuration, 1.2 for v1 and 0.45 for v1beta2.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from infra.kubernetes.api import Object
from infra.local.operator.cluster_access import (
    CertificateAuthentication,
    ClusterAccess,
    PasswordAuthentication,
    cluster_access,
)
from infra.local.operator.resources import V1_GROUP
from infra.local.operator.worker_properties import LOGIN_MODULES, credentials, security_protocol, trust

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
    """How one API version expresses a resource, and what its operator derives from it.

    `connection` takes the resource's metadata, a cluster and a prefix. `connectors` maps types of connectors, and
    `exclusions` maps properties, to fields of a mirror. With `clusters_override`, the clusters' properties replace the
    connector's own; without it, the other way round.
    """

    check: Callable[[Object], None]
    workers: Callable[[Object], dict[str, Any]]
    clusters: Callable[[Object], list[Object]]
    mirrors: Callable[[Object], list[Mirror]]
    connection: Callable[[Object, Object, str], dict[str, Any]]
    connectors: Mapping[str, str]
    exclusions: Mapping[str, tuple[str, ...]]
    rack: str
    clusters_override: bool


def version_of(item: Object) -> Version:
    """The version that a resource was written in, which may not be the one it is read in. Only v1 has `target`."""
    return VERSIONS["kafka.strimzi.io/v1" if "target" in item["spec"] else "kafka.strimzi.io/v1beta2"]


def _connection(
    cluster: Object, prefix: str, security: Iterator[tuple[str, str]], access: ClusterAccess
) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "alias": cluster["alias"],
        "bootstrap.servers": cluster["bootstrapServers"],
        **dict(security),
        "security.protocol": security_protocol(access),
        **(cluster.get("config") or {}),
    }
    return {prefix + key: value for key, value in properties.items()}


def _v1_workers(spec: Object) -> dict[str, Any]:
    fields = ("bootstrapServers", *V1_GROUP, "tls", "authentication", "config")
    return {field: spec["target"][field] for field in fields if field in spec["target"]}


def _v1_mirrors(spec: Object) -> list[Mirror]:
    return [Mirror(each["source"], spec["target"], each) for each in spec["mirrors"]]


def _v1_connection(metadata: Object, cluster: Object, prefix: str) -> dict[str, Any]:
    access = cluster_access(cluster)
    trusted = trust(metadata["namespace"], metadata["name"], access)
    security = chain(trusted, credentials(metadata["namespace"], access.authentication))
    return _connection(cluster, prefix, security, access)


def _v1beta2_check(spec: Object) -> None:
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


def _v1beta2_cluster(spec: Object, alias: str) -> Object:
    return next(each for each in spec["clusters"] if each["alias"] == alias)


def _v1beta2_workers(spec: Object) -> dict[str, Any]:
    cluster = _v1beta2_cluster(spec, spec["connectCluster"])
    fields = ("bootstrapServers", "tls", "authentication")
    same: dict[str, Any] = {field: cluster[field] for field in fields if field in cluster}
    return {**same, "config": {**_V1BETA2_DEFAULTS, **(cluster.get("config") or {})}}


def _v1beta2_mirrors(spec: Object) -> list[Mirror]:
    return [
        Mirror(_v1beta2_cluster(spec, each["sourceCluster"]), _v1beta2_cluster(spec, each["targetCluster"]), each)
        for each in spec["mirrors"]
    ]


def _v1beta2_connection(_: Object, cluster: Object, prefix: str) -> dict[str, Any]:
    access = cluster_access(cluster)
    return _connection(cluster, prefix, _v1beta2_security(cluster["alias"], access), access)


def _v1beta2_security(alias: str, access: ClusterAccess) -> Iterator[tuple[str, str]]:
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
        check=lambda _: None,
        workers=_v1_workers,
        clusters=lambda spec: [spec["target"], *(each["source"] for each in spec["mirrors"])],
        mirrors=_v1_mirrors,
        connection=_v1_connection,
        connectors={"MirrorSourceConnector": "sourceConnector", "MirrorCheckpointConnector": "checkpointConnector"},
        exclusions={"topics.exclude": ("topicsExcludePattern",), "groups.exclude": ("groupsExcludePattern",)},
        rack="${strimzifile:/tmp/strimzi-connect.properties:consumer.client.rack}",
        clusters_override=False,
    ),
    "kafka.strimzi.io/v1beta2": Version(
        check=_v1beta2_check,
        workers=_v1beta2_workers,
        clusters=lambda spec: list(spec["clusters"]),
        mirrors=_v1beta2_mirrors,
        connection=_v1beta2_connection,
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
