"""The KafkaConnector resources of a flow.

A connector's configuration is the merge of its layers (`connector_layers`), with placeholders in place of the values
that the flow's ConfigMaps hold.
"""

from typing import Any

from components.connectors import Connector
from components.naming import connect_name, connector_name, namespace_name
from components.resolved import ResolvedFlow
from components.specs.api_versions import strimzi_api_version
from components.specs.config_maps import (
    ConnectorConfigMap,
    cluster_config_map,
    replication_config_map,
    topics_config_maps,
)
from components.specs.connector_layers import ConnectorRole, connector_layers, heartbeat_prefixes
from components.specs.layers import Config, values
from components.specs.planned import Manifest, PlannedObject, Role, manifest

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


def connector_fields(connector: Connector) -> Manifest:
    """What KafkaConnector and a mirror's connector take alike, beside the configuration."""
    restart: dict[str, Any] = {"enabled": connector.auto_restart.enabled}
    if connector.auto_restart.max_restarts is not None:
        restart["maxRestarts"] = connector.auto_restart.max_restarts
    return {"tasksMax": connector.tasks_max, "state": connector.state.value, "autoRestart": restart}


def connector_config(resolved: ResolvedFlow, role: ConnectorRole, part: str = "") -> Config:
    """Whole configuration of one connector; `part` names one of several source connectors."""
    held = _placeholders(resolved, role, part)
    return {key: held.get(key, value) for key, value in values(connector_layers(resolved, role, part)).items()}


def _placeholders(resolved: ResolvedFlow, role: ConnectorRole, part: str) -> dict[str, str]:
    """Placeholders of everything that a connector may read from the flow's ConfigMaps, by property."""
    replication = replication_config_map(resolved)
    held = {key: replication.placeholder(key) for key in replication.data}
    if several := topics_config_maps(resolved):
        chosen = [several[part]] if part else list(several.values())
        held["topics"] = ",".join(config_map.placeholder("topics") for config_map in chosen)
    source, target = cluster_config_map(resolved, "source"), cluster_config_map(resolved, "target")
    held |= {"source.cluster.alias": source.placeholder("alias"), "target.cluster.alias": target.placeholder("alias")}
    if role == "heartbeat":
        # Its own clients and the worker's producer reach the source.
        return held | _connection(source, *heartbeat_prefixes(resolved.flow))
    return held | _connection(source, "source.cluster.") | _connection(target, "target.cluster.")


def _connection(config_map: ConnectorConfigMap, *prefixes: str) -> dict[str, str]:
    # The revision is no client property; it is in the ConfigMap so that its name, and so the connector, changes.
    keys = [key for key in config_map.data if key not in {"alias", "credentials.revision"}]
    return {f"{prefix}{key}": config_map.placeholder(key) for prefix in prefixes for key in keys}


def _connector_object(resolved: ResolvedFlow, role: ConnectorRole, part: str = "") -> PlannedObject:
    connectors = resolved.flow.connectors
    connector: Connector = connectors.sources[part] if part else getattr(connectors, role)
    body = manifest(
        strimzi_api_version(resolved),
        "KafkaConnector",
        connector_name(resolved.name, role, part),
        namespace_name(resolved.workers, resolved.flow),
        resolved.name,
        spec={
            "class": CONNECTOR_CLASSES[role],
            **connector_fields(connector),
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
