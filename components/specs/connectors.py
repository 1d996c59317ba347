"""The KafkaConnector resources of a flow.

A connector's configuration is made of layers, later wins: defaults that a user may change, the user's own properties,
then what the model owns. `checks.properties` refuses a user's property of the last kind before anything is made here.
"""

from collections.abc import Mapping
from typing import Any, Literal

from components.clusters import PropertyValue
from components.connectors import Connector
from components.model import Flow
from components.naming import Side, connect_name, connector_name, excluded_groups, namespace_name
from components.resolved import ResolvedFlow
from components.specs.clients import secret_client_properties
from components.specs.config_maps import (
    ConnectorConfigMap,
    cluster_config_map,
    replication_config_map,
    topics_config_maps,
)
from components.specs.connect import BYTE_ARRAY_CONVERTER
from components.specs.planned import PlannedObject, Role, manifest
from components.specs.transforms import transform_properties

ConnectorRole = Literal["source", "checkpoint", "heartbeat"]
Config = dict[str, PropertyValue]

CONNECTOR_CLASSES: dict[ConnectorRole, str] = {
    "source": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "checkpoint": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
    "heartbeat": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
}

_ROLES: dict[ConnectorRole, Role] = {
    "source": Role.SOURCE_CONNECTOR,
    "checkpoint": Role.CHECKPOINT_CONNECTOR,
    "heartbeat": Role.HEARTBEAT_CONNECTOR,
}

#: Every record passes as bytes; Strimzi's default converters are JSON and would change it.
_CONVERTERS: Config = {
    "key.converter": BYTE_ARRAY_CONVERTER,
    "value.converter": BYTE_ARRAY_CONVERTER,
    "header.converter": BYTE_ARRAY_CONVERTER,
}

#: Defaults that a user may change: -1 takes the cluster's own replication factor, and topic ACLs are left alone.
DEFAULTS: dict[ConnectorRole, Config] = {
    "source": {
        "replication.factor": -1,
        "offset-syncs.topic.replication.factor": -1,
        "sync.topic.acls.enabled": False,
    },
    "checkpoint": {"checkpoints.topic.replication.factor": -1, "offset-syncs.topic.replication.factor": -1},
    "heartbeat": {"heartbeats.topic.replication.factor": -1},
}

#: Properties of the replication ConfigMap that each connector reads.
_AGREED: dict[ConnectorRole, tuple[str, ...]] = {
    "source": (
        "replication.policy.class",
        "replication.policy.separator",
        "offset-syncs.topic.location",
        "topics",
        "topics.exclude",
    ),
    "checkpoint": (
        "replication.policy.class",
        "replication.policy.separator",
        "offset-syncs.topic.location",
        "topics",
        "topics.exclude",
    ),
    "heartbeat": ("replication.policy.class", "replication.policy.separator"),
}


def connector_objects(resolved: ResolvedFlow) -> list[PlannedObject]:
    """KafkaConnectors of a flow: source always, or one for each of `sources`; the others unless disabled."""
    connectors = resolved.flow.connectors
    parts = list(connectors.sources) or [""]
    objects = [_connector_object(resolved, "source", part) for part in parts]
    if connectors.checkpoint.enabled:
        objects.append(_connector_object(resolved, "checkpoint"))
    if connectors.heartbeat.enabled:
        objects.append(_connector_object(resolved, "heartbeat"))
    return objects


def connector_config(resolved: ResolvedFlow, role: ConnectorRole, part: str = "") -> Config:
    """Whole configuration of one connector, in the order of the layers; `part` names one of several sources."""
    common: Connector = getattr(resolved.flow.connectors, role)
    own = resolved.flow.connectors.sources[part].config if part else {}
    config = {**_defaults(resolved.flow, role), **common.config, **own}
    return {**config, **_owned_config(resolved, role, part)}


def _defaults(flow: Flow, role: ConnectorRole) -> Config:
    # The connector refuses every property of offset syncs when they are switched off.
    return {
        key: value
        for key, value in DEFAULTS[role].items()
        if flow.offset_syncs.enabled or not key.startswith("offset-syncs.")
    }


def _owned_config(resolved: ResolvedFlow, role: ConnectorRole, part: str) -> Config:
    config: Config = {**_CONVERTERS, **_cluster_config(resolved, role)}
    replication = replication_config_map(resolved)
    agreed = {key: replication.placeholder(key) for key in _AGREED[role] if key in replication.data}
    return {**config, **agreed, **_topics(resolved, role, part), **_own_properties(resolved, role, part)}


def _topics(resolved: ResolvedFlow, role: ConnectorRole, part: str) -> Config:
    """Topics of one of several source connectors; the checkpoint connector has the union."""
    config_maps = topics_config_maps(resolved)
    if role == "heartbeat" or not config_maps:
        return {}
    chosen = [config_maps[part]] if role == "source" else config_maps.values()
    return {"topics": ",".join(config_map.placeholder("topics") for config_map in chosen)}


def _own_properties(resolved: ResolvedFlow, role: ConnectorRole, part: str) -> Config:
    flow = resolved.flow
    match role:
        case "source":
            return {
                "refresh.topics.interval.seconds": flow.intervals.refresh_topics_seconds,
                **_offset_syncs(flow),
                **_heartbeat_replication(flow, part),
                **transform_properties(flow),
            }
        case "checkpoint":
            return {
                "groups": ",".join(flow.groups),
                "groups.exclude": ",".join(excluded_groups(flow)),
                "refresh.groups.interval.seconds": flow.intervals.refresh_groups_seconds,
                "emit.checkpoints.interval.seconds": flow.intervals.emit_checkpoints_seconds,
                "sync.group.offsets.enabled": flow.sync_group_offsets,
                "sync.group.offsets.interval.seconds": flow.intervals.sync_group_offsets_seconds,
            }
        case "heartbeat":
            return {"emit.heartbeats.interval.seconds": flow.intervals.emit_heartbeats_seconds}


def _offset_syncs(flow: Flow) -> Config:
    if not flow.offset_syncs.enabled:
        return {"emit.offset-syncs.enabled": False}
    return {"offset.lag.max": flow.offset_syncs.lag_max}


def _heartbeat_replication(flow: Flow, part: str) -> Config:
    """Heartbeats are replicated by exactly one source connector; two would write each of them twice."""
    first = next(iter(flow.connectors.sources), "")
    return {} if flow.replicate_heartbeats and part == first else {"heartbeats.replication.enabled": False}


def _cluster_config(resolved: ResolvedFlow, role: ConnectorRole) -> Config:
    source, target = cluster_config_map(resolved, "source"), cluster_config_map(resolved, "target")
    config: Config = {
        "source.cluster.alias": source.placeholder("alias"),
        "target.cluster.alias": target.placeholder("alias"),
    }
    if role == "heartbeat":
        # Heartbeats start their way on the source. The connector's own clients take `target.cluster.`, its records go
        # through the worker's producer; without the override they would land on the target and nothing would say so.
        config |= _connection(resolved, "source", source, "target.cluster.")
        return config | _connection(resolved, "source", source, "producer.override.")
    config |= _connection(resolved, "source", source, "source.cluster.")
    return config | _connection(resolved, "target", target, "target.cluster.")


def _connection(resolved: ResolvedFlow, side: Side, config_map: ConnectorConfigMap, prefix: str) -> Config:
    # The revision is no client property; it is in the ConfigMap so that its name, and so the connector, changes.
    open_keys = [key for key in config_map.data if key not in {"alias", "credentials.revision"}]
    secrets = secret_client_properties(resolved, side, config_map.namespace)
    properties: Mapping[str, str] = {key: config_map.placeholder(key) for key in open_keys} | secrets
    return {f"{prefix}{key}": value for key, value in properties.items()}


def _connector_object(resolved: ResolvedFlow, role: ConnectorRole, part: str = "") -> PlannedObject:
    connectors = resolved.flow.connectors
    connector: Connector = connectors.sources[part] if part else getattr(connectors, role)
    restart: dict[str, Any] = {"enabled": connector.auto_restart.enabled}
    if connector.auto_restart.max_restarts is not None:
        restart["maxRestarts"] = connector.auto_restart.max_restarts
    body = manifest(
        f"kafka.strimzi.io/{resolved.api}",
        "KafkaConnector",
        connector_name(resolved.name, role, part),
        namespace_name(resolved.workers, resolved.flow),
        resolved.name,
        spec={
            "class": CONNECTOR_CLASSES[role],
            "tasksMax": connector.tasks_max,
            "state": connector.state.value,
            "autoRestart": restart,
            "config": connector_config(resolved, role, part),
        },
    )
    body["metadata"]["labels"]["strimzi.io/cluster"] = connect_name(resolved.workers)
    # A connector that starts before its ConfigMaps, its Secrets or the right to read them fails and is not tried again
    # for a minute.
    after = (
        Role.CONNECT,
        Role.ACCESS_BINDING,
        Role.SOURCE_CONFIG,
        Role.TARGET_CONFIG,
        Role.REPLICATION_CONFIG,
        Role.TOPICS_CONFIG,
        Role.SOURCE_CREDENTIALS,
        Role.TARGET_CREDENTIALS,
    )
    return PlannedObject(_ROLES[role], body, after=after, part=part)
