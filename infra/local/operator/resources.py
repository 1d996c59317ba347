"""Reads KafkaConnects and KafkaConnectors, which the API server has validated by their CRDs. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_replication.components.flows.operators import CLUSTER_LABEL, USES_CONNECTOR_RESOURCES
from kafka_replication.infra.kubernetes.api import Object, Reference, annotations_of

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


class ClusterConnection:
    """How the workers, or the connectors of a KafkaMirrorMaker2, reach one cluster. Only the latter have an `alias`.

    `trust_key` is the key of the cluster's trusted certificates in the Secret that the operator copies them into. `tls`
    are these certificates: None without TLS, and empty for TLS with the JVM's own trust.
    """

    def __init__(self, spec: Object) -> None:
        self.alias: str = spec.get("alias", "")
        self.trust_key = f"{self.alias}-{TRUST_KEY}" if self.alias else TRUST_KEY
        trusted = tuple(
            SecretEntry(certificate["secretName"], certificate.get("certificate") or certificate["pattern"])
            for certificate in spec.get("tls", {}).get("trustedCertificates") or []
        )
        self.tls = trusted if "tls" in spec else None
        self.authentication = _authentication(spec)


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


#: Fields of a KafkaConnect that have no meaning or no effect outside containers.
IGNORED_FIELDS = ("build", "externalConfiguration", "image", "jmxOptions", "logging", "plugins", "rack", "tracing")
GROUP = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
V1_GROUP = ("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic")
#: Properties of the workers' group, their fields in v1, and their defaults in v1beta2.
_V1BETA2_GROUP = ("connect-cluster", "connect-cluster-configs", "connect-cluster-offsets", "connect-cluster-status")


class ConnectResource:
    """A KafkaConnect of either version, or the workers of a KafkaMirrorMaker2, which has `clusters` for its connectors.

    `group` holds the properties that name the workers' group and its internal topics. `has_values_in_files` stands for
    an operator before 0.46 (v1beta2), whose workers write secret values into files that connectors may read. Source:
    Strimzi KafkaConnectConfiguration and KafkaConnectCluster, 0.45 for v1beta2.
    """

    def __init__(
        self, item: Object, component: Component = KAFKA_CONNECT, clusters: tuple[ClusterConnection, ...] = ()
    ) -> None:
        metadata, spec = item["metadata"], item["spec"]
        template = spec.get("template") or {}
        pod, mounts = template.get("pod") or {}, (template.get("connectContainer") or {}).get("volumeMounts")
        self.component, self.clusters = component, clusters
        self.namespace: str = metadata["namespace"]
        self.name: str = metadata["name"]
        self.uid: str = metadata["uid"]
        self.generation: int = metadata["generation"]
        self.uses_connector_resources = annotations_of(item).get(USES_CONNECTOR_RESOURCES) == "true"
        # The default of v1beta2; v1 requires a number.
        self.replicas: int = spec.get("replicas", 3)
        self.bootstrap_servers: str = spec["bootstrapServers"]
        self.own_cluster = ClusterConnection(spec)
        self.config: dict[str, Any] = dict(spec.get("config") or {})
        # Only v1 has this field, and requires it.
        self.has_values_in_files = "groupId" not in spec
        if self.has_values_in_files:
            group = [str(self.config.pop(key, default)) for key, default in zip(GROUP, _V1BETA2_GROUP, strict=True)]
        else:
            group = [spec[field] for field in V1_GROUP]
        self.group = dict(zip(GROUP, group, strict=True))
        self.jvm_options: Mapping[str, Any] = spec.get("jvmOptions") or {}
        self.resources: Mapping[str, Any] = spec.get("resources") or {}
        self.mounts_volumes = bool(mounts or pod.get("volumes"))
        self.pod_annotations: Mapping[str, str] = (pod.get("metadata") or {}).get("annotations") or {}
        self.ignored_fields = tuple(field for field in IGNORED_FIELDS if field in spec)
        self.status: Object = item.get("status") or {}
        self.version: str | None = spec.get("version")
        self.image: str | None = spec.get("image")
        self.config_maps = tuple(_config_maps(spec))
        self.metrics: Mapping[str, Any] = spec.get("metricsConfig") or {}
        # The name of the service account and the Role, which begins the names of all other objects.
        self.component_name = f"{self.name}-{component.suffix}"
        # A KafkaMirrorMaker2 and a KafkaConnect may have the same name.
        self.key = self.namespace, self.component_name
        self.reference = Reference(API_VERSION, component.kind, self.namespace, self.name)
        # How the workers, and then the connectors, reach their clusters.
        self.access = (self.own_cluster, *clusters)


class ConnectorResource:
    """A KafkaConnector, or a connector of a KafkaMirrorMaker2. `cluster` is None if the label is missing.

    `state` is the wanted state. `file_secrets` are the Secrets whose values are in files that it may read. `uid` is
    that of the resource that declares it. Its offsets are listed into and altered from ConfigMaps.
    """

    def __init__(self, item: Object, component: Component = KAFKA_CONNECT) -> None:
        metadata, spec = item["metadata"], item["spec"]
        restart = spec.get("autoRestart") or {}
        self.component = component
        self.namespace: str = metadata["namespace"]
        self.name: str = metadata["name"]
        self.uid: str = metadata.get("uid", "")
        self.generation: int = metadata["generation"]
        self.annotations = annotations_of(item)
        self.cluster: str | None = (metadata.get("labels") or {}).get(CLUSTER_LABEL)
        self.connector_class: str = spec.get("class", "")
        self.tasks_max: int | None = spec.get("tasksMax")
        self.version: str | None = spec.get("version")
        self.config: Mapping[str, Any] = spec.get("config") or {}
        self.state: str = spec.get("state") or ("paused" if spec.get("pause") else "running")
        self.auto_restart = bool(restart.get("enabled", False))
        self.max_restarts: int | None = restart.get("maxRestarts")
        self.status: Object = item.get("status") or {}
        self.deprecated_fields = tuple(field for field in ("pause",) if field in spec)
        self.file_secrets: tuple[str, ...] = ()
        self.list_offsets_to: str = ((spec.get("listOffsets") or {}).get("toConfigMap") or {}).get("name", "")
        self.alter_offsets_from: str = ((spec.get("alterOffsets") or {}).get("fromConfigMap") or {}).get("name", "")
        # The service account of its workers.
        self.service_account = f"{self.cluster}-{component.suffix}"
        # Connectors of different KafkaMirrorMaker2s may have the same name.
        self.key = self.namespace, self.service_account, self.name
        self.reference = Reference(API_VERSION, "KafkaConnector", self.namespace, self.name)
        # The resource that declares the connector.
        of_mirror_maker = Reference(API_VERSION, component.kind, self.namespace, self.cluster or "")
        self.declared_by = self.reference if component is KAFKA_CONNECT else of_mirror_maker


def _config_maps(spec: Object) -> Iterator[ConfigMapKey]:
    for name in ("metricsConfig", "logging"):
        if given := ((spec.get(name) or {}).get("valueFrom") or {}).get("configMapKeyRef"):
            yield ConfigMapKey(name, given["name"], given["key"])
