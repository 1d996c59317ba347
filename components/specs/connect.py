"""The KafkaConnect resource of a flow: workers beside the target, able to read the flow's ConfigMaps and Secrets."""

from components.model import ExactlyOnce
from components.naming import Side, connect_name, namespace_name
from components.resolved import ResolvedFlow, bootstrap_address
from components.specs.api_versions import group_fields, security_fields, strimzi_api_version
from components.specs.clients import CONFIG_MAP_PROVIDER, FILE_PROVIDER, SECRET_PROVIDER, WORKER_FILE
from components.specs.layers import Config, Given, Layer, LayerName, layer, values
from components.specs.mounts import mounts
from components.specs.planned import Manifest, PlannedObject, Role, manifest
from components.specs.workers import joined_templates, worker_fields

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

#: Beside them where connectors read the target's connection from the worker's own file, and no other file.
#: Source: KIP-993.
_WORKER_FILE_PROVIDER: Config = {
    "config.providers": f"{CONFIG_MAP_PROVIDER},{SECRET_PROVIDER},{FILE_PROVIDER}",
    f"config.providers.{FILE_PROVIDER}.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    f"config.providers.{FILE_PROVIDER}.param.allowed.paths": WORKER_FILE,
}

#: Exactly-once source support of the workers. Source: KIP-618.
EXACTLY_ONCE_SUPPORT = "exactly.once.source.support"


def worker_layers(resolved: ResolvedFlow) -> tuple[Layer, ...]:
    """Layers of the worker configuration, lowest first, without what Strimzi writes itself."""
    own_factor = "-1 takes the target cluster's own replication factor"
    bytes_unchanged = "every record passes as bytes, unless a connector says otherwise"
    reasons = {key: own_factor if key.endswith("replication.factor") else bytes_unchanged for key in WORKER_DEFAULTS}
    exactly_once = resolved.flow.exactly_once
    owned = WORKER_OWNED | (_WORKER_FILE_PROVIDER if resolved.strimzi.keeps_values else {})
    support = {EXACTLY_ONCE_SUPPORT: exactly_once.value} if exactly_once is not ExactlyOnce.DISABLED else {}
    return (
        Layer(LayerName.DEFAULT, {key: Given(value, reasons[key]) for key, value in WORKER_DEFAULTS.items()}),
        layer(LayerName.WORKER, resolved.flow.connect.config, resolved.named.where("connect.config")),
        layer(LayerName.FIXED, owned, "connectors read ConfigMaps and Secrets, and heartbeats go to the source"),
        layer(LayerName.MODEL, support, resolved.named.where("exactlyOnce")),
    )


def connect_object(resolved: ResolvedFlow, *beside: ResolvedFlow) -> PlannedObject:
    """KafkaConnect of a flow, whose workers run the connectors of others beside. Source: Strimzi KafkaConnectSpec."""
    files = mounts(resolved, _mounted(resolved))
    for other in beside:
        files = joined_templates(files, mounts(other, _mounted(other)))
    spec: Manifest = {
        "replicas": resolved.flow.connect.replicas,
        "bootstrapServers": bootstrap_address(resolved.target),
        **group_fields(resolved, values(worker_layers(resolved))),
        **security_fields(resolved, "target"),
        **worker_fields(resolved.flow.connect, files),
    }
    body = manifest(
        strimzi_api_version(resolved),
        "KafkaConnect",
        connect_name(resolved.workers),
        namespace_name(resolved.workers, resolved.flow),
        resolved.name,
        spec=spec,
    )
    # Without it the operator ignores every KafkaConnector of this Connect cluster.
    body["metadata"]["annotations"] = {"strimzi.io/use-connector-resources": "true"}
    return PlannedObject(Role.CONNECT, body, after=(Role.TARGET_CREDENTIALS, Role.SOURCE_CREDENTIALS))


def _mounted(resolved: ResolvedFlow) -> tuple[Side, ...]:
    """Clusters whose files workers must mount; for the target the operator may do it."""
    return ("source",) if resolved.strimzi.keeps_values else ("source", "target")
