"""The KafkaConnectors of a flow.

A connector's configuration is the merge of its layers (`connector_config`), with placeholders for the values that the
flow's ConfigMaps hold.
"""

from typing import Any

from components.flows.naming import connector_name
from components.flows.operators import CLUSTER_LABEL
from components.flows.resolved import ResolvedFlow
from components.kafka.mirror_connectors import CONNECTOR_CLASSES, ConnectorRole
from components.kafka.replication_policy import SIDES
from components.render.api_versions import strimzi_api_version
from components.render.config_layers import Config, values
from components.render.config_maps import (
    ConnectorConfigMap,
    cluster_config_map,
    replication_config_map,
    topics_config_maps,
)
from components.render.connector_config import connector_layers, heartbeat_prefixes
from components.render.heartbeat_workers import heartbeat_workers
from components.render.planned_objects import Manifest, ObjectRole, PlannedObject, manifest, with_own_labels
from components.topology.connectors import Connector


def connector_objects(flow: ResolvedFlow) -> list[PlannedObject]:
    """Return a flow's KafkaConnectors: one source (or one for each of `sources`), and the others unless disabled."""
    return [connector_object(flow, role, part) for role, part in connector_roles(flow)]


def connector_roles(flow: ResolvedFlow) -> tuple[tuple[ConnectorRole, str], ...]:
    """Return the role of each KafkaConnector of a flow, with the part of a source connector if there are several."""
    connectors = flow.settings.connectors
    others: tuple[ConnectorRole, ...] = ("checkpoint", "heartbeat")
    sources: list[tuple[ConnectorRole, str]] = [("source", part) for part in connectors.sources or ("",)]
    return (*sources, *((role, "") for role in others if getattr(connectors, role).enabled))


def connector_fields(connector: Connector) -> Manifest:
    """Return the fields, apart from the configuration, that a KafkaConnector and a mirror's connector share."""
    restart: dict[str, Any] = {"enabled": connector.auto_restart.enabled}
    if connector.auto_restart.max_restarts is not None:
        restart["maxRestarts"] = connector.auto_restart.max_restarts
    version = {} if connector.plugin_version is None else {"version": connector.plugin_version}
    return {"tasksMax": connector.tasks_max, "state": connector.state.value, "autoRestart": restart, **version}


def connector_config(flow: ResolvedFlow, role: ConnectorRole, part: str = "") -> Config:
    """Return the whole configuration of one connector; `part` names one of several source connectors."""
    placeholders = _placeholders(flow, role, part)
    return {key: placeholders.get(key, value) for key, value in values(connector_layers(flow, role, part)).items()}


def _placeholders(flow: ResolvedFlow, role: ConnectorRole, part: str) -> dict[str, str]:
    """Return a placeholder for everything that a connector can read from the flow's ConfigMaps, by property."""
    replication = replication_config_map(flow)
    placeholders = {key: replication.placeholder(key) for key in replication.data}
    if several := topics_config_maps(flow):
        chosen = [several[part]] if part else list(several.values())
        placeholders["topics"] = ",".join(config_map.placeholder("topics") for config_map in chosen)
        placeholders |= {key: several[part].placeholder(key) for key in several[part].data} if part else {}
    ends = {side: cluster_config_map(flow, side) for side in SIDES}
    placeholders |= {f"{side}.cluster.alias": end.placeholder("alias") for side, end in ends.items()}
    if role == "heartbeat":
        # Its own clients and the worker's producer talk to the source.
        return placeholders | _connection(ends["source"], *heartbeat_prefixes(flow))
    for side, end in ends.items():
        placeholders |= _connection(end, f"{side}.cluster.")
    return placeholders


def _connection(config_map: ConnectorConfigMap, *prefixes: str) -> dict[str, str]:
    # The revision is not a client property; it changes the name of the ConfigMap, and with it the connector.
    keys = [key for key in config_map.data if key not in {"alias", "credentials.revision"}]
    return {f"{prefix}{key}": config_map.placeholder(key) for prefix in prefixes for key in keys}


def connector_object(flow: ResolvedFlow, role: ConnectorRole, part: str = "") -> PlannedObject:
    """Return one KafkaConnector of a flow; that of its heartbeats is on the workers that send them."""
    if role == "heartbeat":
        flow = heartbeat_workers(flow)
    connectors = flow.settings.connectors
    connector: Connector = connectors.sources[part] if part else getattr(connectors, role)
    body = manifest(
        strimzi_api_version(flow),
        "KafkaConnector",
        connector_name(flow.name, flow.settings, role, part),
        flow.namespace,
        flow.name,
        spec={
            "class": CONNECTOR_CLASSES[role],
            **connector_fields(connector),
            "config": connector_config(flow, role, part),
        },
    )
    body["metadata"]["labels"][CLUSTER_LABEL] = flow.connect_name
    body = with_own_labels(body, connector.labels, connector.annotations)
    # A connector that starts before its ConfigMaps, its Secrets or the right to read them fails, and the operator
    # retries it only after a minute.
    after = (
        ObjectRole.CONNECT,
        ObjectRole.ACCESS_BINDING,
        ObjectRole.SOURCE_CONFIG,
        ObjectRole.TARGET_CONFIG,
        ObjectRole.REPLICATION_CONFIG,
        ObjectRole.TOPICS_CONFIG,
        ObjectRole.SOURCE_CREDENTIALS,
        ObjectRole.TARGET_CREDENTIALS,
    )
    return PlannedObject(ObjectRole(f"{role}-connector"), body, after=after, part=part)
