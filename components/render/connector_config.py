"""The configuration of a connector as layers of plain values.

A KafkaConnector gets all of it, with placeholders for the values in its ConfigMaps (`kafka_connectors`). A
KafkaMirrorMaker2 gets only the properties that it has no field for. The transforms of a source connector are, in order:
the user's `before`, the loop guard, the user's `after`. The guard drops records that come from the target and marks
those that go there.
"""

from collections.abc import Mapping
from operator import attrgetter

from pydantic.alias_generators import to_snake

from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.flows.naming import policy_class, starts_group
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.flows.selections import (
    all_topics,
    each_once,
    excluded_groups,
    excluded_topics,
    source_key,
    source_settings,
)
from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.kafka.plugins import FILTER, HAS_HEADER_KEY, KAFKA_TRANSFORMS, TOPIC_NAME_MATCHES
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.components.render.client_settings import preset_settings
from kafka_replication.components.render.config_layers import Config, Layer, LayerName, LayerValue, layer, values
from kafka_replication.components.render.connections import FILE_PROVIDER, WORKER_FILE, connection_properties
from kafka_replication.components.render.kafka_connect import BYTE_CONVERTERS
from kafka_replication.components.render.metrics import label_defaults, metrics_properties
from kafka_replication.components.topology.clusters import PropertyValue
from kafka_replication.components.topology.connectors import Connector, Converters, StartFrom, Transform, Transforms
from kafka_replication.components.topology.known_keys import OF_CONNECTORS
from kafka_replication.components.topology.model import ExactlyOnce, Flow
from kafka_replication.components.topology.workers import VariableRack

#: The guard's filter; a chain that contains it has the guard.
GUARD_FILTER = "DropReplicated"
_GUARD_TRANSFORMS = (GUARD_FILTER, "MarkReplicated")
_GUARD_PREDICATES = ("ReplicatedFromTarget", "NotHeartbeats")

#: Names that a user's transforms and predicates must not use.
RESERVED_NAMES = frozenset({*_GUARD_TRANSFORMS, *_GUARD_PREDICATES})

#: Heartbeats never loop: their topic names show where they come from.
_NOT_HEARTBEATS = r"^(?!(.*\.)?heartbeats$).*$"


def marker_header(alias: str) -> str:
    """Return the header that marks records replicated from this cluster."""
    return f"replicated-from-{alias}"


def transform_properties(flow: Flow) -> dict[str, PropertyValue]:
    """Return the properties of all transforms and predicates of a flow's source connectors; empty without any."""
    chain = [*flow.transforms.before, *(_GUARD_TRANSFORMS if flow.loop_guard else ()), *flow.transforms.after]
    if not chain:
        return {}
    properties: dict[str, PropertyValue] = {"transforms": ",".join(chain)}
    predicates: list[str] = []
    for name, transform in {**flow.transforms.before, **flow.transforms.after}.items():
        properties |= _user_transform(name, transform)
        predicates += [f"{name}Predicate"] if transform.predicate else []
    if flow.loop_guard:
        properties |= _guard(flow)
        predicates += _GUARD_PREDICATES
    return {**properties, "predicates": ",".join(predicates)} if predicates else properties


def converter_properties(transforms: Transforms) -> dict[str, PropertyValue]:
    """Return the properties of the converters that the user chose."""
    converters = transforms.converters or Converters()
    chosen = {"key": converters.key, "value": converters.value, "header": converters.header}
    properties: dict[str, PropertyValue] = {}
    for part, converter in chosen.items():
        if converter is not None:
            prefix = f"{part}.converter"
            properties |= {prefix: converter.type}
            properties |= {f"{prefix}.{key}": value for key, value in converter.config.items()}
    return properties


def _guard(flow: Flow) -> Mapping[str, PropertyValue]:
    drop, mark = (f"transforms.{name}" for name in _GUARD_TRANSFORMS)
    from_target, not_heartbeats = (f"predicates.{name}" for name in _GUARD_PREDICATES)
    return {
        f"{drop}.type": FILTER,
        f"{drop}.predicate": _GUARD_PREDICATES[0],
        f"{mark}.type": f"{KAFKA_TRANSFORMS}InsertHeader",
        f"{mark}.header": marker_header(flow.source),
        # ByteArrayConverter accepts only bytes or null; any other literal fails the task.
        f"{mark}.value.literal": "null",
        f"{mark}.predicate": _GUARD_PREDICATES[1],
        f"{from_target}.type": HAS_HEADER_KEY,
        f"{from_target}.name": marker_header(flow.target),
        f"{not_heartbeats}.type": TOPIC_NAME_MATCHES,
        f"{not_heartbeats}.pattern": _NOT_HEARTBEATS,
    }


def _user_transform(name: str, transform: Transform) -> Mapping[str, PropertyValue]:
    prefix = f"transforms.{name}"
    properties: dict[str, PropertyValue] = {f"{prefix}.type": transform.type}
    properties |= {f"{prefix}.{key}": value for key, value in transform.config.items()}
    if transform.predicate is not None:
        predicate = f"{name}Predicate"
        properties |= {f"{prefix}.predicate": predicate, f"predicates.{predicate}.type": transform.predicate.type}
        properties |= {f"predicates.{predicate}.{key}": value for key, value in transform.predicate.config.items()}
    if transform.negate:
        properties[f"{prefix}.negate"] = True
    return properties


_Entries = dict[str, LayerValue]
#: Property -> its value, and the key of the flow that decides it.
_Decisions = dict[str, tuple[PropertyValue, str]]

#: Properties that take their value from a key of the flow.
_DECIDED: Mapping[ConnectorRole, tuple[str, ...]] = {
    "source": ("refresh.topics.interval.seconds", "sync.topic.acls.enabled"),
    "checkpoint": (
        *("refresh.groups.interval.seconds", "emit.checkpoints.interval.seconds"),
        *("sync.group.offsets.enabled", "sync.group.offsets.interval.seconds"),
    ),
    "heartbeat": ("emit.heartbeats.interval.seconds",),
}

_OWN_FACTOR = "-1 takes the cluster's own replication factor; Kafka's default is too high for a small cluster"

#: Defaults that a user can override.
DEFAULTS: dict[ConnectorRole, _Entries] = {
    "source": {
        "replication.factor": LayerValue(-1, _OWN_FACTOR),
        "offset-syncs.topic.replication.factor": LayerValue(-1, _OWN_FACTOR),
    },
    "checkpoint": {"checkpoints.topic.replication.factor": LayerValue(-1, _OWN_FACTOR)},
    "heartbeat": {"heartbeats.topic.replication.factor": LayerValue(-1, _OWN_FACTOR)},
}


def connector_layers(flow: ResolvedFlow, role: ConnectorRole, part: str = "") -> tuple[Layer, ...]:
    """Return the layers of a connector (or `part` of several), lowest first; its credentials are placeholders."""
    rack, label = _rack(flow, role), label_defaults(flow, role)
    return (
        *([layer(LayerName.DEFAULT, label, flow.expanded.where("connect.metrics"))] if label else ()),
        *([layer(LayerName.DEFAULT, rack, flow.expanded.where("connect.rack"))] if rack else ()),
        *changeable_layers(flow.expanded, role, part),
        layer(LayerName.FIXED, BYTE_CONVERTERS, "every record passes as bytes, unchanged"),
        Layer(LayerName.CLUSTERS, _clusters(flow, role)),
        Layer(LayerName.AGREEMENT, _agreement(flow, role)),
        Layer(LayerName.SELECTION, _selection(flow, role, part)),
        Layer(LayerName.MODEL, _model(flow, role, part)),
    )


def _rack(flow: ResolvedFlow, role: ConnectorRole) -> Config:
    """Return the rack of a task's worker, which operators set only in a KafkaMirrorMaker2. Source: withRackId."""
    here = flow.settings.connect.rack is not None and flow.expanded.shape is not FlowShape.MIRROR_MAKER2
    if role != "source" or not here:
        return {}
    if flow.strimzi.keeps_values:
        return {"consumer.client.rack": f"${{{FILE_PROVIDER}:{WORKER_FILE}:consumer.client.rack}}"}
    if isinstance(flow.settings.connect.rack, VariableRack):
        return {"consumer.client.rack": f"${{strimzienv:{flow.settings.connect.rack.env_var_name}}}"}
    return {"consumer.client.rack": "${strimzidir:/opt/kafka/init:rack.id}"}


def changeable_layers(flow: ExpandedFlow, role: ConnectorRole, part: str = "") -> tuple[Layer, ...]:
    """Return the layers below the model's: our defaults and presets, and what the user sets over them."""
    common: Connector = getattr(flow.settings.connectors, role)
    of_part = flow.settings.connectors.sources[part].config if part else {}
    return (
        Layer(LayerName.DEFAULT, _defaults(flow.settings, role)),
        Layer(LayerName.PRESET, preset_settings(flow.settings, role)),
        layer(LayerName.CONNECTOR, common.config, flow.where(f"connectors.{role}.config")),
        layer(LayerName.PART, of_part, flow.where(f"connectors.sources.{part}.config")),
    )


def connector_settings(flow: ResolvedFlow, role: ConnectorRole) -> Config:
    """Return a connector's configuration without what a KafkaMirrorMaker2 has fields for: clusters, topics, groups."""
    fields = {LayerName.CLUSTERS, LayerName.SELECTION}
    return values(layer for layer in connector_layers(flow, role) if layer.name not in fields)


def _defaults(flow: Flow, role: ConnectorRole) -> _Entries:
    # The connector refuses every property of offset syncs if they are switched off.
    return {
        key: value
        for key, value in DEFAULTS[role].items()
        if flow.offset_syncs.enabled or not key.startswith("offset-syncs.")
    }


def _clusters(flow: ResolvedFlow, role: ConnectorRole) -> _Entries:
    aliases = _decided(flow, {f"{side}.cluster.alias": (flow.alias(side), side) for side in SIDES})
    if role == "heartbeat" and flow.heartbeats_on == "source":
        # Heartbeats must start on the source. The connector's own clients take `target.cluster.`, but its records go
        # through the worker's producer: without the override they would silently land on the target.
        reached: list[tuple[Side, str]] = [("source", prefix) for prefix in heartbeat_prefixes(flow)]
    else:
        reached = [(side, f"{side}.cluster.") for side in SIDES]
    return aliases | {key: value for side, prefix in reached for key, value in _connection(flow, side, prefix).items()}


def heartbeat_prefixes(flow: ResolvedFlow) -> tuple[str, ...]:
    """Return the prefixes of the heartbeat connector's clients that must be configured for the source. The producer of
    workers that belong to the source does not need it. Under exactly-once, Connect keeps the connector's offsets where
    its records go, in the same transactions. Source: KIP-618, Worker.offsetStoreForExactlyOnceSourceTask.
    """
    if flow.workers_on == "source":
        return ("target.cluster.",)
    always = ("target.cluster.", "producer.override.")
    if flow.settings.exactly_once is ExactlyOnce.ENABLED:
        return (*always, "consumer.override.", "admin.override.")
    return always


def _connection(flow: ResolvedFlow, side: Side, prefix: str) -> _Entries:
    properties = connection_properties(flow, side)
    where = f"clusters.{flow.alias(side)}"
    return {f"{prefix}{key}": LayerValue(value, f"{where}.{_connection_key(key)}") for key, value in properties.items()}


def _connection_key(key: str) -> str:
    if key == "bootstrap.servers":
        return "bootstrapServers"
    return "tls" if key.startswith(("ssl.truststore.", "security.protocol")) else "authentication"


def _agreement(flow: ResolvedFlow, role: ConnectorRole) -> _Entries:
    """Return the properties that all connectors of a flow must agree on. Source: MirrorConnectorConfig."""
    settings = flow.settings
    decisions: _Decisions = {
        "replication.policy.class": (policy_class(settings), "policyClass" if settings.policy_class else "policy"),
        "replication.policy.separator": (settings.separator, "separator"),
    }
    if role != "heartbeat" and settings.topic_filter_class:
        decisions["topic.filter.class"] = (settings.topic_filter_class, "topicFilterClass")
    if role == "checkpoint" and settings.group_filter_class:
        decisions["group.filter.class"] = (settings.group_filter_class, "groupFilterClass")
    if role != "heartbeat" and settings.offset_syncs.enabled:
        decisions["offset-syncs.topic.location"] = (settings.offset_syncs.location.value, "offsetSyncs.location")
    return _decided(flow, decisions)


def _selection(flow: ResolvedFlow, role: ConnectorRole, part: str) -> _Entries:
    """Return topics and groups; the checkpoint connector gets the topics of all source connectors."""
    if role == "heartbeat":
        return {}
    settings = flow.settings
    of_source = source_settings(settings, part)
    topics_key = f"connectors.sources.{part}.topics" if part else "connectors.sources"
    lists = {
        "topics": (all_topics(of_source), topics_key if settings.connectors.sources else "topics"),
        "topics.exclude": (
            excluded_topics(of_source, flow.expanded.kafka),
            source_key(settings, part, "topicsExclude"),
        ),
    }
    if role == "checkpoint":
        lists["groups"] = (each_once(settings.groups), "groups")
        lists["groups.exclude"] = (excluded_groups(settings), "groupsExclude")
    return _decided(flow, {name: (",".join(names), key) for name, (names, key) in lists.items()})


def _model(flow: ResolvedFlow, role: ConnectorRole, part: str) -> _Entries:
    keys = {name: OF_CONNECTORS[name] for name in _DECIDED[role]}
    decisions: _Decisions = {name: (attrgetter(to_snake(key))(flow.settings), key) for name, key in keys.items()}
    decisions |= _source(flow, part) if role == "source" else {}
    own = values(changeable_layers(flow.expanded, role, part))
    metrics = metrics_properties(flow, role, own)
    return _decided(flow, decisions | {key: (value, "connect.metrics") for key, value in metrics.items()})


def _source(flow: ResolvedFlow, part: str) -> _Decisions:
    settings = source_settings(flow.settings, part)
    decisions: _Decisions = {}
    if settings.offset_syncs.enabled:
        decisions["offset.lag.max"] = (settings.offset_syncs.lag_max, "offsetSyncs.lagMax")
    else:
        decisions["emit.offset-syncs.enabled"] = (False, "offsetSyncs.enabled")
    if not settings.replicate_heartbeats and chooses_heartbeats(flow.expanded.kafka):
        key = "connectors.sources" if flow.settings.replicate_heartbeats else "replicateHeartbeats"
        decisions["heartbeats.replication.enabled"] = (False, key)
    if settings.on_loss is not None:
        # In a partition without a stored offset, the consumer then starts at its group's committed offset or fails.
        decisions["source.consumer.auto.offset.reset"] = ("none", "onLoss")
        decisions["source.consumer.group.id"] = (starts_group(flow.name), "onLoss")
    elif settings.start_from is StartFrom.LATEST:
        # A task seeks only in partitions that have an offset; in the others, its consumer's reset policy decides.
        decisions["source.consumer.auto.offset.reset"] = (settings.start_from.value, "startFrom")
    if settings.exactly_once is ExactlyOnce.ENABLED:
        decisions["exactly.once.support"] = ("required", "exactlyOnce")
        decisions["source.consumer.isolation.level"] = ("read_committed", "exactlyOnce")
    decisions |= {key: (value, "transforms") for key, value in transform_properties(settings).items()}
    chosen = converter_properties(settings.transforms)
    decisions |= {key: (value, "transforms.converters") for key, value in chosen.items()}
    return {name: (value, source_key(flow.settings, part, key)) for name, (value, key) in decisions.items()}


def chooses_heartbeats(version: str) -> bool:
    """Return whether source connectors of this version can skip heartbeats; older ones always replicate them."""
    return "heartbeats.replication.enabled" in definitions(version, Owner.SOURCE)


def replicates_heartbeats(flow: ExpandedFlow) -> bool:
    """Return whether a source connector of the flow replicates the source's heartbeats."""
    return flow.settings.replicate_heartbeats or not chooses_heartbeats(flow.kafka)


def _decided(flow: ResolvedFlow, decisions: _Decisions) -> _Entries:
    """Return the values, each with the path in the topology file that decides it."""
    return {name: LayerValue(value, flow.expanded.where(key)) for name, (value, key) in decisions.items()}
