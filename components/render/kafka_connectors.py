"""The KafkaConnectors of a flow and the ConfigMaps that they read.

A connector's configuration is the merge of its layers (`connector_config`), with placeholders for the values that the
flow's ConfigMaps hold. ConfigMaps are immutable and named by their content: Connect resolves a placeholder only when a
connector starts, so a new value must also change the connector; the new name does.
"""

from typing import Any

from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.naming import (
    config_map_name,
    connector_name,
    mirror_connector_name,
    policy_class,
)
from kafka_replication.components.flows.operators import CLUSTER_LABEL
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.flows.selections import each_once, excluded_topics, source_parts, source_settings
from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ROLE_OF_CLASS, ConnectorRole
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.render.config_layers import Config, values
from kafka_replication.components.render.connections import connection_properties
from kafka_replication.components.render.connector_config import connector_layers, heartbeat_prefixes
from kafka_replication.components.render.heartbeat_workers import heartbeat_workers
from kafka_replication.components.render.planned_objects import (
    Manifest,
    ObjectRole,
    PlannedObject,
    flow_object,
    manifest,
)
from kafka_replication.components.render.secrets import CONFIG_MAP_PROVIDER
from kafka_replication.components.topology.connectors import Connector
from kafka_replication.components.topology.model import Flow


def placeholders_of(config_map: PlannedObject) -> dict[str, str]:
    """Return the placeholder of each key of a ConfigMap. Source: Strimzi kafka-kubernetes-config-provider."""
    place = f"{config_map.manifest['metadata']['namespace']}/{config_map.name}"
    return {key: f"${{{CONFIG_MAP_PROVIDER}:{place}:{key}}}" for key in config_map.manifest["data"]}


def cluster_config_map(flow: ResolvedFlow, side: Side) -> PlannedObject:
    """Return the ConfigMap with a cluster's alias and its connection, without anything sensitive."""
    plain = {key: value for key, value in connection_properties(flow, side).items() if "${" not in value}
    data = {"alias": flow.alias(side), **plain}
    if revision := flow.cluster(side).credentials_revision:
        data["credentials.revision"] = str(revision)
    return _config_map(flow, ObjectRole(f"{side}-config"), side, data)


def replication_config_map(flow: ResolvedFlow) -> PlannedObject:
    """Return the ConfigMap with what all connectors of a flow must agree on. Source: MirrorConnectorConfig."""
    settings = flow.settings
    data = {
        "replication.policy.class": policy_class(settings),
        "replication.policy.separator": settings.separator,
        "topics.exclude": ",".join(excluded_topics(settings, flow.expanded.kafka)),
    }
    if settings.offset_syncs.enabled:
        data["offset-syncs.topic.location"] = settings.offset_syncs.location.value
    if not settings.connectors.sources:
        data["topics"] = ",".join(each_once(settings.topics))
    return _config_map(flow, ObjectRole.REPLICATION_CONFIG, "replication", data)


def topics_config_maps(flow: ResolvedFlow) -> dict[str, PlannedObject]:
    """Return the ConfigMap of each source connector's topics, by part, so that changing one restarts no other."""
    return {
        part: _config_map(flow, ObjectRole.TOPICS_CONFIG, f"topics-{part}", _selection(flow, part), part)
        for part in flow.settings.connectors.sources
    }


def _selection(flow: ResolvedFlow, part: str) -> dict[str, str]:
    source = source_settings(flow.settings, part)
    selected = {"topics": ",".join(each_once(source.topics))}
    if source.topics_exclude != flow.settings.topics_exclude:
        selected["topics.exclude"] = ",".join(excluded_topics(source, flow.expanded.kafka))
    return selected


def connector_config_maps(flow: ResolvedFlow) -> tuple[PlannedObject, ...]:
    """Return every ConfigMap that the connectors of a flow read."""
    return (
        cluster_config_map(flow, "source"),
        cluster_config_map(flow, "target"),
        replication_config_map(flow),
        *topics_config_maps(flow).values(),
    )


def _config_map(
    flow: ResolvedFlow, role: ObjectRole, suffix: str, data: dict[str, str], part: str = ""
) -> PlannedObject:
    name = config_map_name(flow.name, suffix, data)
    return flow_object(flow, role, "v1", "ConfigMap", name, part, immutable=True, data=data)


def connector_objects(flow: ResolvedFlow) -> list[PlannedObject]:
    """Return a flow's KafkaConnectors: one source (or one for each of `sources`), and the others unless disabled."""
    return [connector_object(flow, role, part) for role, part in connector_roles(flow.settings)]


def connector_roles(flow: Flow) -> tuple[tuple[ConnectorRole, str], ...]:
    """Return the role of each connector of a flow, with the part of a source connector if there are several."""
    others: tuple[ConnectorRole, ...] = ("checkpoint", "heartbeat")
    sources: list[tuple[ConnectorRole, str]] = [("source", part) for part in source_parts(flow)]
    return (*sources, *((role, "") for role in others if getattr(flow.connectors, role).enabled))


def is_mirrored(flow: ResolvedFlow, role: ConnectorRole) -> bool:
    """Return whether a KafkaMirrorMaker2 itself runs a connector; every other one is a KafkaConnector."""
    mirror = flow.expanded.shape is FlowShape.MIRROR_MAKER2
    return mirror and (role != "heartbeat" or flow.api.has_heartbeat_mirrors)


def name_in_connect(flow: ResolvedFlow, role: ConnectorRole, part: str) -> str:
    """Return the name that a connector of a flow has in Connect."""
    if is_mirrored(flow, role):
        return mirror_connector_name(flow.settings, role)
    return connector_name(flow.name, flow.settings, role, part)


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
    placeholders = placeholders_of(replication_config_map(flow))
    if several := {name: placeholders_of(config_map) for name, config_map in topics_config_maps(flow).items()}:
        chosen = several[part] if part else {"topics": ",".join(own["topics"] for own in several.values())}
        placeholders |= chosen
    ends = {side: placeholders_of(cluster_config_map(flow, side)) for side in SIDES}
    placeholders |= {f"{side}.cluster.alias": end["alias"] for side, end in ends.items()}
    if role == "heartbeat":
        # Its own clients and the worker's producer talk to the source.
        return placeholders | _connection(ends["source"], *heartbeat_prefixes(flow))
    for side, end in ends.items():
        placeholders |= _connection(end, f"{side}.cluster.")
    return placeholders


def _connection(end: dict[str, str], *prefixes: str) -> dict[str, str]:
    # The revision is not a client property; it changes the name of the ConfigMap, and with it the connector.
    properties = {key: value for key, value in end.items() if key not in {"alias", "credentials.revision"}}
    return {f"{prefix}{key}": value for prefix in prefixes for key, value in properties.items()}


#: A connector that starts before its ConfigMaps, its Secrets or the right to read them fails, and the operator retries
#: it only after a minute.
_BEFORE_CONNECTORS = (
    *(ObjectRole.CONNECT, ObjectRole.ACCESS_BINDING),
    *(ObjectRole.SOURCE_CONFIG, ObjectRole.TARGET_CONFIG, ObjectRole.REPLICATION_CONFIG, ObjectRole.TOPICS_CONFIG),
    *(ObjectRole.SOURCE_CREDENTIALS, ObjectRole.TARGET_CREDENTIALS),
)


def connector_object(flow: ResolvedFlow, role: ConnectorRole, part: str = "") -> PlannedObject:
    """Return one KafkaConnector of a flow; that of its heartbeats is on the workers that send them."""
    if role == "heartbeat":
        flow = heartbeat_workers(flow)
    connectors = flow.settings.connectors
    connector: Connector = connectors.sources[part] if part else getattr(connectors, role)
    config = connector_config(flow, role, part)
    spec = {"class": CONNECTOR_CLASSES[role], **connector_fields(connector), "config": config}
    name = connector_name(flow.name, flow.settings, role, part)
    body = manifest(flow.strimzi.api_version, "KafkaConnector", name, flow.namespace, flow.name, spec=spec)
    body["metadata"]["labels"][CLUSTER_LABEL] = flow.connect_name
    planned = PlannedObject(ObjectRole(f"{role}-connector"), body, _BEFORE_CONNECTORS, part=part)
    return planned.with_own(connector.labels, connector.annotations)


ANNOTATION = "kafka-replication/waits-for-offsets-of"
_SELECTS_NOTHING = {"topics.exclude": ".*", "heartbeats.replication.enabled": "false"}
#: Another filter need not read `topics.exclude`.
_FILTER = "topic.filter.class"


def waiting_for_offsets(connector: Manifest, mirror: str) -> Manifest:
    """Return a rendered KafkaConnector, stopped; a source connector also selects nothing. `mirror` has its offsets."""
    metadata, spec = connector["metadata"], connector["spec"]
    source = ROLE_OF_CLASS.get(spec["class"].rpartition(".")[2]) == "source"
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: mirror}
    config = spec["config"]
    if source:
        config = {**{key: value for key, value in config.items() if key != _FILTER}, **_SELECTS_NOTHING}
    return {
        **connector,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "state": "stopped", "config": config},
    }


def waits_for_offsets(live: Manifest) -> bool:
    """Return whether a KafkaConnector still waits for the offsets of a mirror."""
    return ANNOTATION in (live["metadata"].get("annotations") or {})
