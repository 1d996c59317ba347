"""The KafkaConnect of a flow, and the fields that its workers share with those of a KafkaMirrorMaker2."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kafka_replication.components.flows.operators import USES_CONNECTOR_RESOURCES
from kafka_replication.components.flows.resolved import ResolvedFlow, bootstrap_address
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.render.api_versions import group_fields, security_fields
from kafka_replication.components.render.config_layers import Config, Layer, LayerName, layer, values
from kafka_replication.components.render.connections import FILE_PROVIDER, WORKER_FILE
from kafka_replication.components.render.metrics import metrics_fields
from kafka_replication.components.render.planned_objects import Manifest, ObjectRole, PlannedObject, flow_object
from kafka_replication.components.render.secrets import (
    CONFIG_MAP_PROVIDER,
    SECRET_PROVIDER,
    mounts,
    rolling_annotations,
)
from kafka_replication.components.topology.model import ExactlyOnce
from kafka_replication.components.topology.workers import ConnectCluster, ExternalLogging, InlineLogging

#: Parts of the model whose keys are Strimzi's own.
_AS_WRITTEN = {
    *("version", "image", "build", "plugins", "resources", "jvm_options", "rack", "tracing"),
    *("readiness_probe", "liveness_probe"),
}


def worker_fields(connect: ConnectCluster, mounts: Manifest) -> Manifest:
    """Return the workers' other fields; `mounts` is what the replication adds. Source: AbstractKafkaConnectSpec."""
    fields: Manifest = connect.model_dump(by_alias=True, exclude_none=True, mode="json", include=_AS_WRITTEN)
    match connect.logging:
        case InlineLogging() as logging:
            fields["logging"] = {"type": logging.type, "loggers": dict(logging.loggers)}
        case ExternalLogging() as logging:
            key = {"configMapKeyRef": {"name": logging.config_map, "key": logging.key}}
            fields["logging"] = {"type": logging.type, "valueFrom": key}
    if connect.image_pull_secret is not None:
        mounts = joined_templates(mounts, {"pod": {"imagePullSecrets": [{"name": connect.image_pull_secret}]}})
    if template := joined_templates(connect.model_dump(mode="json", include={"template"})["template"] or {}, mounts):
        fields["template"] = template
    return fields


def joined_templates(first: Mapping[str, Any], second: Mapping[str, Any]) -> Manifest:
    """Merge two templates; lists are joined, each entry once. `checks.versions` refuses a name that is in both."""
    joined = dict(first)
    for key, value in second.items():
        present = joined.get(key)
        if isinstance(present, Mapping):
            joined[key] = joined_templates(present, value)
        elif isinstance(present, list | tuple):
            joined[key] = [*present, *(entry for entry in value if entry not in present)]
        else:
            joined[key] = value
    return joined


#: Passes every record as bytes; Strimzi's default converters are JSON and would change records.
BYTE_CONVERTERS: Config = dict.fromkeys(
    ("key.converter", "value.converter", "header.converter"), "org.apache.kafka.connect.converters.ByteArrayConverter"
)

#: Worker properties that a user can override.
_OWN_FACTORS: Config = {
    "config.storage.replication.factor": -1,
    "offset.storage.replication.factor": -1,
    "status.storage.replication.factor": -1,
}

#: Worker properties that a flow needs. Heartbeats need the override policy: a worker of the target produces them to the
#: source.
WORKER_OWNED: Config = {
    "config.providers": f"{CONFIG_MAP_PROVIDER},{SECRET_PROVIDER}",
    f"config.providers.{CONFIG_MAP_PROVIDER}.class": "io.strimzi.kafka.KubernetesConfigMapConfigProvider",
    f"config.providers.{SECRET_PROVIDER}.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
    "connector.client.config.override.policy": "All",
}

#: Added where connectors read the target's connection from the worker's own file; no other file is allowed.
#: Source: KIP-993.
_WORKER_FILE_PROVIDER: Config = {
    "config.providers": f"{CONFIG_MAP_PROVIDER},{SECRET_PROVIDER},{FILE_PROVIDER}",
    f"config.providers.{FILE_PROVIDER}.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    f"config.providers.{FILE_PROVIDER}.param.allowed.paths": WORKER_FILE,
}

#: Worker property for exactly-once source connectors. Source: KIP-618.
EXACTLY_ONCE_SUPPORT = "exactly.once.source.support"


def worker_layers(flow: ResolvedFlow) -> tuple[Layer, ...]:
    """Return the layers of the worker configuration, lowest first, without what Strimzi writes itself."""
    exactly_once = flow.settings.exactly_once
    owned = WORKER_OWNED | (_WORKER_FILE_PROVIDER if flow.strimzi.keeps_values else {})
    support = {EXACTLY_ONCE_SUPPORT: exactly_once.value} if exactly_once is not ExactlyOnce.DISABLED else {}
    return (
        layer(LayerName.DEFAULT, _OWN_FACTORS, f"-1 takes the {flow.workers_on} cluster's own replication factor"),
        layer(LayerName.DEFAULT, BYTE_CONVERTERS, "every record passes as bytes, unless a connector says otherwise"),
        layer(LayerName.WORKER, flow.settings.connect.config, flow.expanded.where("connect.config")),
        layer(LayerName.FIXED, owned, "connectors read ConfigMaps and Secrets, and heartbeats go to the source"),
        layer(LayerName.MODEL, support, flow.expanded.where("exactlyOnce")),
    )


def connect_object(flow: ResolvedFlow, *others: ResolvedFlow) -> PlannedObject:
    """Return the KafkaConnect of a flow, which also runs the connectors of `others`. Source: KafkaConnectSpec."""
    # Older operators mount the target's files themselves, and workers of the source have no connection to the target.
    sides: tuple[Side, ...] = ("source",) if flow.strimzi.keeps_values or flow.workers_on == "source" else SIDES
    template = rolling_annotations([(flow, flow.workers_on)])
    for member in (flow, *others):
        template = joined_templates(template, mounts(member, sides))
    spec: Manifest = {
        "replicas": flow.settings.connect.replicas,
        "bootstrapServers": bootstrap_address(flow.cluster(flow.workers_on)),
        **group_fields(flow, values(worker_layers(flow))),
        **security_fields(flow, flow.workers_on),
        **worker_fields(flow.settings.connect, template),
        **metrics_fields(flow),
    }
    planned = flow_object(
        flow, ObjectRole.CONNECT, flow.strimzi.api_version, "KafkaConnect", flow.connect_name, spec=spec
    )
    # Without it the operator ignores every KafkaConnector of this Connect cluster.
    planned = planned.annotated({USES_CONNECTOR_RESOURCES: "true"})
    after = (ObjectRole.TARGET_CREDENTIALS, ObjectRole.SOURCE_CREDENTIALS, ObjectRole.METRICS_CONFIG)
    return replace(planned.with_own(flow.settings.connect.labels, flow.settings.connect.annotations), after=after)
