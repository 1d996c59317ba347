"""The KafkaConnect resource of a flow: workers beside the target, able to read the flow's ConfigMaps and Secrets."""

from components.clusters import (
    Authentication,
    KeystoreTrust,
    PlainAuthentication,
    ScramAuthentication,
    TlsAuthentication,
)
from components.model import ExactlyOnce
from components.naming import connect_name, group_id, namespace_name, secret_name, storage_topic_name
from components.resolved import ResolvedFlow, bootstrap_address
from components.specs.clients import CONFIG_MAP_PROVIDER, SECRET_PROVIDER, secret_key
from components.specs.config_maps import MOUNT_ROOT, truststore_volume_name
from components.specs.layers import Config, Given, Layer, LayerName, layer, values
from components.specs.planned import Manifest, PlannedObject, Role, manifest
from components.specs.workers import worker_fields

BYTE_ARRAY_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"

#: Worker properties under the user's; -1 takes the target cluster's own replication factor.
WORKER_DEFAULTS: Config = {
    "config.storage.replication.factor": -1,
    "offset.storage.replication.factor": -1,
    "status.storage.replication.factor": -1,
    "key.converter": BYTE_ARRAY_CONVERTER,
    "value.converter": BYTE_ARRAY_CONVERTER,
    "header.converter": BYTE_ARRAY_CONVERTER,
}

#: Worker properties that a flow cannot work without. Heartbeats need the override policy: they are produced to the
#: source by a worker that belongs to the target.
WORKER_OWNED: Config = {
    "config.providers": f"{CONFIG_MAP_PROVIDER},{SECRET_PROVIDER}",
    f"config.providers.{CONFIG_MAP_PROVIDER}.class": "io.strimzi.kafka.KubernetesConfigMapConfigProvider",
    f"config.providers.{SECRET_PROVIDER}.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
    "connector.client.config.override.policy": "All",
}

#: Exactly-once source support of the workers. Source: KIP-618.
EXACTLY_ONCE_SUPPORT = "exactly.once.source.support"


def worker_layers(resolved: ResolvedFlow) -> tuple[Layer, ...]:
    """Layers of the worker configuration, lowest first, without what Strimzi writes itself."""
    own_factor = "-1 takes the target cluster's own replication factor"
    bytes_unchanged = "every record passes as bytes, unless a connector says otherwise"
    reasons = {key: own_factor if key.endswith("replication.factor") else bytes_unchanged for key in WORKER_DEFAULTS}
    exactly_once = resolved.flow.exactly_once
    support = {EXACTLY_ONCE_SUPPORT: exactly_once.value} if exactly_once is not ExactlyOnce.DISABLED else {}
    return (
        Layer(LayerName.DEFAULT, {key: Given(value, reasons[key]) for key, value in WORKER_DEFAULTS.items()}),
        layer(LayerName.WORKER, resolved.flow.connect.config, resolved.named.where("connect.config")),
        layer(LayerName.FIXED, WORKER_OWNED, "connectors read ConfigMaps and Secrets, and heartbeats go to the source"),
        layer(LayerName.MODEL, support, resolved.named.where("exactlyOnce")),
    )


def connect_object(resolved: ResolvedFlow) -> PlannedObject:
    """KafkaConnect of a flow. Source: Strimzi KafkaConnectSpec, API v1."""
    spec: Manifest = {
        "replicas": resolved.flow.connect.replicas,
        "bootstrapServers": bootstrap_address(resolved.target),
        "groupId": group_id(resolved.workers),
        "configStorageTopic": storage_topic_name(resolved.workers, "configs"),
        "offsetStorageTopic": storage_topic_name(resolved.workers, "offsets"),
        "statusStorageTopic": storage_topic_name(resolved.workers, "status"),
        "config": values(worker_layers(resolved)),
    }
    spec |= _security(resolved)
    spec |= worker_fields(resolved.flow.connect, _mounts(resolved))
    body = manifest(
        f"kafka.strimzi.io/{resolved.api}",
        "KafkaConnect",
        connect_name(resolved.workers),
        namespace_name(resolved.workers, resolved.flow),
        resolved.name,
        spec=spec,
    )
    # Without it the operator ignores every KafkaConnector of this Connect cluster.
    body["metadata"]["annotations"] = {"strimzi.io/use-connector-resources": "true"}
    return PlannedObject(Role.CONNECT, body, after=(Role.TARGET_CREDENTIALS, Role.SOURCE_CREDENTIALS))


def _security(resolved: ResolvedFlow) -> Manifest:
    target = resolved.target
    own = secret_name(resolved.name, "target")
    fields: Manifest = {}
    if target.tls is not None:
        trusted = []
        if target.tls.trust is not None and not isinstance(target.tls.trust, KeystoreTrust):
            reference = secret_key(target.tls.trust, own, "ca.crt")
            trusted.append({"secretName": reference.secret, "certificate": reference.key})
        fields["tls"] = {"trustedCertificates": trusted}
    if target.authentication is not None:
        fields["authentication"] = _authentication(target.authentication, own)
    return fields


def _authentication(authentication: Authentication, own: str) -> Manifest:
    match authentication:
        case PlainAuthentication() | ScramAuthentication():
            reference = secret_key(authentication.password, own, "password")
            return {
                "type": authentication.type,
                "username": authentication.username,
                "passwordSecret": {"secretName": reference.secret, "password": reference.key},
            }
        case TlsAuthentication():
            return {
                "type": "tls",
                "certificateAndKey": {
                    "secretName": authentication.secret,
                    "certificate": authentication.certificate,
                    "key": authentication.key,
                },
            }


def _mounts(resolved: ResolvedFlow) -> Manifest:
    trust = resolved.source.tls.trust if resolved.source.tls else None
    if not isinstance(trust, KeystoreTrust):
        return {}
    volume = truststore_volume_name("source")
    secret = {"secretName": trust.secret, "items": [{"key": trust.key, "path": trust.key}]}
    mount = {"name": volume, "mountPath": f"{MOUNT_ROOT}/{volume}"}
    return {"pod": {"volumes": [{"name": volume, "secret": secret}]}, "connectContainer": {"volumeMounts": [mount]}}
