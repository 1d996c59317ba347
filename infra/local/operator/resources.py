"""Typed views of KafkaConnect and KafkaConnector. Pure; the API server has checked the objects by their CRDs before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.kubernetes_api import Object, Reference
from infra.local.operator.cluster_access import (
    TRUST_KEY,
    Authentication,
    ClusterAccess,
    TrustedCertificate,
    authentication,
    trusted_certificates,
)

API_VERSION = "kafka.strimzi.io/v1beta2"
"""Of the versions that are served, the one that knows every field of both: read or given a status through the other, an
object would lose fields that only this one has. In which an object was written shows in what it says."""

CLUSTER_LABEL = "strimzi.io/cluster"
USE_CONNECTOR_RESOURCES = "strimzi.io/use-connector-resources"


@dataclass(frozen=True)
class Component:
    """What Strimzi makes Connect workers of: a kind of resource, and the words and defaults that go with it."""

    kind: str
    suffix: str
    type: str
    converters: Mapping[str, str]


_JSON, _BYTES = "org.apache.kafka.connect.json.JsonConverter", "org.apache.kafka.connect.converters.ByteArrayConverter"
KAFKA_CONNECT = Component(
    "KafkaConnect", "connect", "kafka-connect", {"key.converter": _JSON, "value.converter": _JSON}
)
KAFKA_MIRROR_MAKER_2 = Component(
    "KafkaMirrorMaker2",
    "mirrormaker2",
    "kafka-mirror-maker-2",
    {"key.converter": _BYTES, "value.converter": _BYTES, "header.converter": _BYTES},
)


@dataclass(frozen=True)
class ConnectResource:
    """A KafkaConnect, or the workers of a KafkaMirrorMaker2, which has `clusters` for its connectors.

    `tls` None means no TLS; empty means TLS with the JVM's own trust. `has_values_in_files` says that the operator is
    one of v1beta2 before 0.46, whose workers have values of Secrets in files of theirs that connectors may read.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    uses_connector_resources: bool
    replicas: int
    bootstrap_servers: str
    group_id: str
    config_storage_topic: str
    offset_storage_topic: str
    status_storage_topic: str
    tls: tuple[TrustedCertificate, ...] | None
    authentication: Authentication | None
    config: Mapping[str, Any]
    jvm_options: Mapping[str, Any]
    resources: Mapping[str, Any]
    mounts_volumes: bool
    ignored_fields: tuple[str, ...]
    status: Object
    component: Component = KAFKA_CONNECT
    clusters: tuple[ClusterAccess, ...] = ()
    has_values_in_files: bool = False

    @property
    def reference(self) -> Reference:
        return Reference(API_VERSION, self.component.kind, self.namespace, self.name)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and component name: a KafkaMirrorMaker2 may be called as a KafkaConnect is."""
        return self.namespace, self.component_name

    @property
    def access(self) -> tuple[ClusterAccess, ...]:
        """How the workers, and then the connectors, reach their clusters."""
        return (ClusterAccess(TRUST_KEY, self.tls, self.authentication), *self.clusters)

    @property
    def component_name(self) -> str:
        """Name of the service account, Role and of the prefix of everything else that the operator makes."""
        return f"{self.name}-{self.component.suffix}"


@dataclass(frozen=True)
class ConnectorResource:
    """A KafkaConnector. `cluster` is None when the label is missing; `state` is the wanted one.

    `file_secrets` are the Secrets whose values lie in files that it may read.
    """

    namespace: str
    name: str
    generation: int
    cluster: str | None
    connector_class: str
    tasks_max: int | None
    version: str | None
    config: Mapping[str, Any]
    state: str
    auto_restart: bool
    max_restarts: int | None
    status: Object
    component: Component = KAFKA_CONNECT
    deprecated_fields: tuple[str, ...] = ()
    file_secrets: tuple[str, ...] = ()

    @property
    def reference(self) -> Reference:
        return Reference(API_VERSION, "KafkaConnector", self.namespace, self.name)

    @property
    def key(self) -> tuple[str, str, str]:
        """Namespace, component of the workers, and name: another KafkaMirrorMaker2 may call its connectors the same."""
        return self.namespace, self.service_account, self.name

    @property
    def service_account(self) -> str:
        """Name of the service account of the workers that run it."""
        return f"{self.cluster}-{self.component.suffix}"


IGNORED_FIELDS = (
    "build",
    "externalConfiguration",
    "image",
    "jmxOptions",
    "logging",
    "metricsConfig",
    "plugins",
    "rack",
    "tracing",
)
"""Fields of a KafkaConnect that mean nothing, or cannot be had, outside containers."""

DEFAULT_REPLICAS = 3
"""Of v1beta2; v1 requires a number."""

_GROUP = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
_V1_GROUP = ("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic")
_V1BETA2_GROUP = ("connect-cluster", "connect-cluster-configs", "connect-cluster-offsets", "connect-cluster-status")
"""Properties of the workers' group, the fields of v1 that say them, and what they are without a word in v1beta2."""


def connect_resource(item: Object) -> ConnectResource:
    """The view of a KafkaConnect of either version. `groupId`, which v1 requires and v1beta2 lacks, tells them apart.

    Source: Strimzi KafkaConnectConfiguration and KafkaConnectCluster, 0.45 for v1beta2.
    """
    metadata, spec = item["metadata"], item["spec"]
    template = spec.get("template") or {}
    mounts = (template.get("connectContainer") or {}).get("volumeMounts")
    is_v1 = "groupId" in spec
    config = dict(spec.get("config") or {})
    if is_v1:
        group = [spec[field] for field in _V1_GROUP]
    else:
        group = [str(config.pop(key, default)) for key, default in zip(_GROUP, _V1BETA2_GROUP, strict=True)]
    return ConnectResource(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata["generation"],
        uses_connector_resources=(metadata.get("annotations") or {}).get(USE_CONNECTOR_RESOURCES) == "true",
        replicas=spec.get("replicas", DEFAULT_REPLICAS),
        bootstrap_servers=spec["bootstrapServers"],
        group_id=group[0],
        config_storage_topic=group[1],
        offset_storage_topic=group[2],
        status_storage_topic=group[3],
        tls=trusted_certificates(spec),
        authentication=authentication(spec),
        config=config,
        jvm_options=spec.get("jvmOptions") or {},
        resources=spec.get("resources") or {},
        mounts_volumes=bool(mounts or (template.get("pod") or {}).get("volumes")),
        ignored_fields=tuple(field for field in IGNORED_FIELDS if field in spec),
        status=item.get("status") or {},
        has_values_in_files=not is_v1,
    )


def connector_resource(item: Object) -> ConnectorResource:
    metadata, spec = item["metadata"], item["spec"]
    restart = spec.get("autoRestart") or {}
    return ConnectorResource(
        namespace=metadata["namespace"],
        name=metadata["name"],
        generation=metadata["generation"],
        cluster=(metadata.get("labels") or {}).get(CLUSTER_LABEL),
        connector_class=spec.get("class", ""),
        tasks_max=spec.get("tasksMax"),
        version=spec.get("version"),
        config=spec.get("config") or {},
        state=spec.get("state") or ("paused" if spec.get("pause") else "running"),
        auto_restart=bool(restart.get("enabled", False)),
        max_restarts=restart.get("maxRestarts"),
        status=item.get("status") or {},
        deprecated_fields=tuple(field for field in ("pause",) if field in spec),
    )
