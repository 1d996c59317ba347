"""The layers of a connector's configuration, in plain values.

Both resources that declare connectors take them from here: KafkaConnector with placeholders for what its ConfigMaps
hold (`connectors`), KafkaMirrorMaker2 without what its resource has fields for.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from components.clusters import PropertyValue
from components.connectors import Connector
from components.expansion import NamedFlow, all_topics
from components.kafka_version import kafka_version
from components.model import ExactlyOnce, Flow, StartFrom
from components.naming import Side, excluded_groups, excluded_topics
from components.properties.definitions import Owner, definitions
from components.resolved import ResolvedFlow
from components.specs.clients import connection_properties
from components.specs.config_maps import POLICY_CLASSES
from components.specs.connect import BYTE_ARRAY_CONVERTER
from components.specs.layers import Config, Given, Layer, LayerName, Setting, layer, merged
from components.specs.presets import preset_settings
from components.specs.transforms import transform_properties

ConnectorRole = Literal["source", "checkpoint", "heartbeat"]

_Entries = dict[str, Given]

#: Every record passes as bytes; Strimzi's default converters are JSON and would change it.
_CONVERTERS: Config = {
    "key.converter": BYTE_ARRAY_CONVERTER,
    "value.converter": BYTE_ARRAY_CONVERTER,
    "header.converter": BYTE_ARRAY_CONVERTER,
}

_OWN_FACTOR = "-1 takes the cluster's own replication factor; Kafka's default is a number that no small cluster has"

#: Defaults that a user may change.
DEFAULTS: dict[ConnectorRole, _Entries] = {
    "source": {
        "replication.factor": Given(-1, _OWN_FACTOR),
        "offset-syncs.topic.replication.factor": Given(-1, _OWN_FACTOR),
    },
    "checkpoint": {"checkpoints.topic.replication.factor": Given(-1, _OWN_FACTOR)},
    "heartbeat": {"heartbeats.topic.replication.factor": Given(-1, _OWN_FACTOR)},
}


def connector_layers(resolved: ResolvedFlow, role: ConnectorRole, part: str = "") -> tuple[Layer, ...]:
    """Layers of one connector, lowest first; `part` names one of several source connectors.

    Values are plain but for credentials, which are placeholders of Secrets.
    """
    return (
        *changeable_layers(resolved.named, role, part),
        layer(LayerName.FIXED, _CONVERTERS, "every record passes as bytes, unchanged"),
        Layer(LayerName.CLUSTERS, _clusters(resolved, role)),
        Layer(LayerName.AGREEMENT, _agreement(resolved, role)),
        Layer(LayerName.SELECTION, _selection(resolved, role, part)),
        Layer(LayerName.MODEL, _model(resolved, role, part)),
    )


def changeable_layers(named: NamedFlow, role: ConnectorRole, part: str = "") -> tuple[Layer, ...]:
    """The layers below the model's: our defaults and presets, and what the user sets over them."""
    common: Connector = getattr(named.flow.connectors, role)
    of_part = named.flow.connectors.sources[part].config if part else {}
    return (
        Layer(LayerName.DEFAULT, _defaults(named.flow, role)),
        Layer(LayerName.PRESET, preset_settings(named.flow, role)),
        layer(LayerName.CONNECTOR, common.config, named.where(f"connectors.{role}.config")),
        layer(LayerName.PART, of_part, named.where(f"connectors.sources.{part}.config")),
    )


def connector_settings(resolved: ResolvedFlow, role: ConnectorRole, part: str = "") -> dict[str, Setting]:
    """Configuration of a connector without connections, topics and groups, for which KafkaMirrorMaker2 has fields."""
    fields = {LayerName.CLUSTERS, LayerName.SELECTION}
    return merged(each for each in connector_layers(resolved, role, part) if each.name not in fields)


def _defaults(flow: Flow, role: ConnectorRole) -> _Entries:
    # The connector refuses every property of offset syncs when they are switched off.
    return {
        key: given
        for key, given in DEFAULTS[role].items()
        if flow.offset_syncs.enabled or not key.startswith("offset-syncs.")
    }


def _clusters(resolved: ResolvedFlow, role: ConnectorRole) -> _Entries:
    entries = _decided(
        resolved,
        {
            "source.cluster.alias": (resolved.flow.source, "source"),
            "target.cluster.alias": (resolved.flow.target, "target"),
        },
    )
    if role == "heartbeat" and resolved.heartbeats_on == "source":
        # Heartbeats start their way on the source. The connector's own clients take `target.cluster.`, its records go
        # through the worker's producer; without the override they would land on the target and nothing would say so.
        for prefix in heartbeat_prefixes(resolved.flow):
            entries |= _connection(resolved, "source", prefix)
        return entries
    entries |= _connection(resolved, "source", "source.cluster.")
    return entries | _connection(resolved, "target", "target.cluster.")


def heartbeat_prefixes(flow: Flow) -> tuple[str, ...]:
    """Prefixes of the clients of a heartbeat connector that reach the source.

    Under exactly-once the connector's offsets are kept, in the same transactions, where its records go.
    Source: KIP-618, Worker.offsetStoreForExactlyOnceSourceTask.
    """
    always = ("target.cluster.", "producer.override.")
    if flow.exactly_once is ExactlyOnce.ENABLED:
        return (*always, "consumer.override.", "admin.override.")
    return always


def _connection(resolved: ResolvedFlow, side: Side, prefix: str) -> _Entries:
    properties = connection_properties(resolved, side)
    where = f"clusters.{resolved.alias(side)}"
    return {f"{prefix}{key}": Given(value, f"{where}.{_connection_key(key)}") for key, value in properties.items()}


def _connection_key(key: str) -> str:
    """Key of a cluster that decides a client property."""
    if key == "bootstrap.servers":
        return "bootstrapServers"
    return "tls" if key.startswith(("ssl.truststore.", "security.protocol")) else "authentication"


def _agreement(resolved: ResolvedFlow, role: ConnectorRole) -> _Entries:
    """Properties that every connector of the flow must agree on. Source: MirrorConnectorConfig."""
    flow = resolved.flow
    entries: Mapping[str, tuple[PropertyValue, str]] = {
        "replication.policy.class": (POLICY_CLASSES[flow.policy], "policy"),
        "replication.policy.separator": (flow.separator, "separator"),
    }
    if role != "heartbeat" and flow.offset_syncs.enabled:
        entries = {**entries, "offset-syncs.topic.location": (flow.offset_syncs.location.value, "offsetSyncs.location")}
    return _decided(resolved, entries)


def _selection(resolved: ResolvedFlow, role: ConnectorRole, part: str) -> _Entries:
    """Topics and groups; the checkpoint connector has the union of several source connectors' topics."""
    flow = resolved.flow
    if role == "heartbeat":
        return {}
    topics = flow.connectors.sources[part].topics if part else all_topics(flow)
    several = f"connectors.sources.{part}.topics" if part else "connectors.sources"
    entries = {
        "topics": (_listed(topics), several if flow.connectors.sources else "topics"),
        "topics.exclude": (_listed(excluded_topics(flow)), "topicsExclude"),
    }
    if role == "checkpoint":
        entries |= {
            "groups": (_listed(flow.groups), "groups"),
            "groups.exclude": (_listed(excluded_groups(flow)), "groupsExclude"),
        }
    return _decided(resolved, entries)


def _model(resolved: ResolvedFlow, role: ConnectorRole, part: str) -> _Entries:
    flow, intervals = resolved.flow, resolved.flow.intervals
    match role:
        case "source":
            return _source(resolved, part)
        case "checkpoint":
            entries: Mapping[str, tuple[PropertyValue, str]] = {
                "refresh.groups.interval.seconds": (intervals.refresh_groups_seconds, "intervals.refreshGroupsSeconds"),
                "emit.checkpoints.interval.seconds": (
                    intervals.emit_checkpoints_seconds,
                    "intervals.emitCheckpointsSeconds",
                ),
                "sync.group.offsets.enabled": (flow.sync_group_offsets, "syncGroupOffsets"),
                "sync.group.offsets.interval.seconds": (
                    intervals.sync_group_offsets_seconds,
                    "intervals.syncGroupOffsetsSeconds",
                ),
            }
        case "heartbeat":
            entries = {
                "emit.heartbeats.interval.seconds": (
                    intervals.emit_heartbeats_seconds,
                    "intervals.emitHeartbeatsSeconds",
                )
            }
    return _decided(resolved, entries)


def _source(resolved: ResolvedFlow, part: str) -> _Entries:
    flow = resolved.flow
    entries: dict[str, tuple[PropertyValue, str]] = {
        "refresh.topics.interval.seconds": (flow.intervals.refresh_topics_seconds, "intervals.refreshTopicsSeconds"),
        "sync.topic.acls.enabled": (flow.sync_topic_acls, "syncTopicAcls"),
    }
    if flow.offset_syncs.enabled:
        entries["offset.lag.max"] = (flow.offset_syncs.lag_max, "offsetSyncs.lagMax")
    else:
        entries["emit.offset-syncs.enabled"] = (False, "offsetSyncs.enabled")
    # Heartbeats are replicated by exactly one source connector; two would write each of them twice.
    first = next(iter(flow.connectors.sources), "")
    may_leave_heartbeats = chooses_heartbeats(kafka_version(flow.connect, resolved.strimzi))
    if may_leave_heartbeats and (not flow.replicate_heartbeats or part != first):
        decided = "replicateHeartbeats" if not flow.replicate_heartbeats else "connectors.sources"
        entries["heartbeats.replication.enabled"] = (False, decided)
    if flow.start_from is StartFrom.LATEST:
        # The task seeks only where it has an offset; anywhere else its consumer's own reset decides.
        entries["source.consumer.auto.offset.reset"] = (flow.start_from.value, "startFrom")
    if flow.exactly_once is ExactlyOnce.ENABLED:
        entries["exactly.once.support"] = ("required", "exactlyOnce")
        entries["source.consumer.isolation.level"] = ("read_committed", "exactlyOnce")
    transforms = {key: (value, "transforms") for key, value in transform_properties(flow).items()}
    return _decided(resolved, {**entries, **transforms})


def chooses_heartbeats(version: str) -> bool:
    """Whether a source connector of this Kafka can leave heartbeats to another; an older one replicates them always."""
    return "heartbeats.replication.enabled" in definitions(version, Owner.SOURCE)


def _decided(resolved: ResolvedFlow, entries: Mapping[str, tuple[PropertyValue, str]]) -> _Entries:
    """Values, each with the path in the topology file that decides it."""
    return {key: Given(value, resolved.named.where(decided)) for key, (value, decided) in entries.items()}


def _listed(names: Iterable[str]) -> str:
    return ",".join(names)
