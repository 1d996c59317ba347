"""Reads KafkaConnects and KafkaConnectors, which the API server has validated by their CRDs. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_replication.components.flows.operators import CLUSTER_LABEL, USES_CONNECTOR_RESOURCES
from kafka_replication.infra.kubernetes.api import Object, Reference

#: Key of the Secret into which the operator copies the certificates that the workers trust.
TRUST_KEY = "ca.crt"
_MECHANISMS = {"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512"}


@dataclass(frozen=True)
class SecretEntry:
    """One key of a Secret in the resource's namespace; for trusted certificates, a glob pattern for several keys."""

    secret: str
    key: str


@dataclass(frozen=True)
class PasswordLogin:
    """SASL with a user name and a password; `mechanism` is Kafka's name for the mechanism."""

    mechanism: str
    username: str
    password: SecretEntry


@dataclass(frozen=True)
class CertificateLogin:
    """Mutual TLS with a certificate and a private key, both PEM."""

    certificate: SecretEntry
    key: SecretEntry


@dataclass(frozen=True)
class CustomLogin:
    """The user's own client properties; `sasl` says whether they configure a SASL mechanism."""

    sasl: bool
    config: Mapping[str, Any]


@dataclass(frozen=True)
class UnsupportedLogin:
    """An authentication type that the real operator supports and this one does not."""

    type: str


Authentication = PasswordLogin | CertificateLogin | CustomLogin | UnsupportedLogin


@dataclass(frozen=True)
class ClusterConnection:
    """How the workers, or the connectors of a KafkaMirrorMaker2, reach one cluster.

    `trust_key` is the key of the cluster's trusted certificates in the Secret that the operator copies them into. `tls`
    are these certificates: None without TLS, and empty for TLS with the JVM's own trust.
    """

    trust_key: str
    tls: tuple[SecretEntry, ...] | None
    authentication: Authentication | None

    @property
    def alias(self) -> str:
        """Return the alias of a cluster of a KafkaMirrorMaker2; empty for the workers' own cluster."""
        return self.trust_key.removesuffix(TRUST_KEY).removesuffix("-")


def cluster_access(spec: Object) -> ClusterConnection:
    """Return how a KafkaConnect, or a cluster of a KafkaMirrorMaker2, which has an alias, is reached."""
    trust_key = f"{spec['alias']}-{TRUST_KEY}" if "alias" in spec else TRUST_KEY
    trusted = tuple(
        SecretEntry(certificate["secretName"], certificate.get("certificate") or certificate["pattern"])
        for certificate in spec.get("tls", {}).get("trustedCertificates") or []
    )
    return ClusterConnection(trust_key, trusted if "tls" in spec else None, _authentication(spec))


def _authentication(spec: Object) -> Authentication | None:
    if "authentication" not in spec:
        return None
    given = spec["authentication"]
    kind = given["type"]
    if kind == "tls" and "certificateAndKey" in given:
        pair = given["certificateAndKey"]
        name = pair["secretName"]
        return CertificateLogin(SecretEntry(name, pair["certificate"]), SecretEntry(name, pair["key"]))
    if kind in _MECHANISMS and "passwordSecret" in given:
        secret = given["passwordSecret"]
        password = SecretEntry(secret["secretName"], secret["password"])
        return PasswordLogin(_MECHANISMS[kind], given.get("username", ""), password)
    if kind == "custom":
        return CustomLogin(given.get("sasl", False), given.get("config") or {})
    return UnsupportedLogin(kind)


#: The served version that has the fields of both versions. Reading or writing an object through the other version would
#: lose fields that only this one has. The fields of an object show in which version it was written.
API_VERSION = "kafka.strimzi.io/v1beta2"


@dataclass(frozen=True)
class Component:
    """A kind of resource that Strimzi creates Connect workers for, with its names and defaults."""

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


def owner_reference(owner: Reference, uid: str) -> Object:
    """Return the entry by which the garbage collector deletes an object with its owner."""
    named = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": uid}
    return {**named, "controller": False, "blockOwnerDeletion": False}


@dataclass(frozen=True)
class ConfigMapKey:
    """A key of a ConfigMap that a field of the spec (`metricsConfig`, `logging`) refers to."""

    field: str
    name: str
    key: str


@dataclass(frozen=True)
class ConnectResource:
    """A KafkaConnect, or the workers of a KafkaMirrorMaker2, which has `clusters` for its connectors.

    `group` holds the properties that name the workers' group and its internal topics. `has_values_in_files` stands for
    an operator before 0.46 (v1beta2), whose workers write secret values into files that connectors may read.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    uses_connector_resources: bool
    replicas: int
    bootstrap_servers: str
    group: Mapping[str, str]
    own_cluster: ClusterConnection
    config: Mapping[str, Any]
    jvm_options: Mapping[str, Any]
    resources: Mapping[str, Any]
    mounts_volumes: bool
    pod_annotations: Mapping[str, str]
    ignored_fields: tuple[str, ...]
    status: Object
    component: Component = KAFKA_CONNECT
    clusters: tuple[ClusterConnection, ...] = ()
    has_values_in_files: bool = False
    version: str | None = None
    image: str | None = None
    config_maps: tuple[ConfigMapKey, ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reference(self) -> Reference:
        return Reference(API_VERSION, self.component.kind, self.namespace, self.name)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and component name: a KafkaMirrorMaker2 and a KafkaConnect may have the same name."""
        return self.namespace, self.component_name

    @property
    def access(self) -> tuple[ClusterConnection, ...]:
        """Return how the workers, and then the connectors, reach their clusters."""
        return (self.own_cluster, *self.clusters)

    @property
    def component_name(self) -> str:
        """Return the name of the service account and the Role, which begins the names of all other objects."""
        return f"{self.name}-{self.component.suffix}"


@dataclass(frozen=True)
class ConnectorResource:
    """A KafkaConnector. `cluster` is None if the label is missing; `state` is the wanted state.

    `file_secrets` are the Secrets whose values are in files that it may read. `uid` is that of the resource that
    declares it. Its offsets are listed into and altered from the ConfigMaps that the last two fields name.
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
    annotations: Mapping[str, str] = field(default_factory=dict)
    uid: str = ""
    list_offsets_to: str = ""
    alter_offsets_from: str = ""

    @property
    def reference(self) -> Reference:
        return Reference(API_VERSION, "KafkaConnector", self.namespace, self.name)

    @property
    def declared_by(self) -> Reference:
        """Return the resource that declares the connector: a KafkaConnector or a KafkaMirrorMaker2."""
        if self.component is KAFKA_CONNECT:
            return self.reference
        return Reference(API_VERSION, self.component.kind, self.namespace, self.cluster or "")

    @property
    def key(self) -> tuple[str, str, str]:
        """Namespace, workers' component and name: connectors of different KafkaMirrorMaker2s may have the same name."""
        return self.namespace, self.service_account, self.name

    @property
    def service_account(self) -> str:
        """Return the name of the service account of its workers."""
        return f"{self.cluster}-{self.component.suffix}"


#: Fields of a KafkaConnect that have no meaning or no effect outside containers.
IGNORED_FIELDS = ("build", "externalConfiguration", "image", "jmxOptions", "logging", "plugins", "rack", "tracing")
GROUP = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
V1_GROUP = ("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic")
#: Properties of the workers' group, their fields in v1, and their defaults in v1beta2.
_V1BETA2_GROUP = ("connect-cluster", "connect-cluster-configs", "connect-cluster-offsets", "connect-cluster-status")


def connect_resource(item: Object) -> ConnectResource:
    """Return the view of a KafkaConnect of either version. Only v1 has `groupId`, and requires it.

    Source: Strimzi KafkaConnectConfiguration and KafkaConnectCluster, 0.45 for v1beta2.
    """
    metadata, spec = item["metadata"], item["spec"]
    template = spec.get("template") or {}
    pod, mounts = template.get("pod") or {}, (template.get("connectContainer") or {}).get("volumeMounts")
    is_v1, config = "groupId" in spec, dict(spec.get("config") or {})
    if is_v1:
        group = [spec[field] for field in V1_GROUP]
    else:
        group = [str(config.pop(key, default)) for key, default in zip(GROUP, _V1BETA2_GROUP, strict=True)]
    return ConnectResource(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        generation=metadata["generation"],
        uses_connector_resources=(metadata.get("annotations") or {}).get(USES_CONNECTOR_RESOURCES) == "true",
        # The default of v1beta2; v1 requires a number.
        replicas=spec.get("replicas", 3),
        bootstrap_servers=spec["bootstrapServers"],
        group=dict(zip(GROUP, group, strict=True)),
        own_cluster=cluster_access(spec),
        config=config,
        jvm_options=spec.get("jvmOptions") or {},
        resources=spec.get("resources") or {},
        mounts_volumes=bool(mounts or pod.get("volumes")),
        pod_annotations=(pod.get("metadata") or {}).get("annotations") or {},
        ignored_fields=tuple(field for field in IGNORED_FIELDS if field in spec),
        status=item.get("status") or {},
        has_values_in_files=not is_v1,
        version=spec.get("version"),
        image=spec.get("image"),
        config_maps=tuple(_config_maps(spec)),
        metrics=spec.get("metricsConfig") or {},
    )


def _config_maps(spec: Object) -> Iterator[ConfigMapKey]:
    for name in ("metricsConfig", "logging"):
        if given := ((spec.get(name) or {}).get("valueFrom") or {}).get("configMapKeyRef"):
            yield ConfigMapKey(name, given["name"], given["key"])


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
        annotations=metadata.get("annotations") or {},
        uid=metadata.get("uid", ""),
        list_offsets_to=((spec.get("listOffsets") or {}).get("toConfigMap") or {}).get("name", ""),
        alter_offsets_from=((spec.get("alterOffsets") or {}).get("fromConfigMap") or {}).get("name", ""),
    )
