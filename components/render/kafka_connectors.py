"""The KafkaConnectors of a flow and the ConfigMaps that they read.

A connector's configuration is the merge of its layers (`connector_config`), with placeholders for the values that the
flow's ConfigMaps hold. ConfigMaps are immutable and named by their content: Connect resolves a placeholder only when a
connector starts, so a new value must also change the connector; the new name does.
"""

from dataclasses import dataclass, replace
from typing import Any

from components.flows.naming import config_map_name, connector_name, policy_class
from components.flows.operators import CLUSTER_LABEL
from components.flows.resolved import ResolvedFlow
from components.flows.selections import each_once, excluded_topics, source_settings
from components.kafka.connectors import CONNECTOR_CLASSES, ROLE_OF_CLASS, ConnectorRole
from components.kafka.replication_policy import SIDES, Side
from components.render.api_versions import strimzi_api_version
from components.render.config_layers import Config, values
from components.render.connections import connection_properties
from components.render.connector_config import connector_layers, heartbeat_prefixes
from components.render.heartbeat_workers import heartbeat_workers
from components.render.planned_objects import Manifest, ObjectRole, PlannedObject, manifest, with_own_labels
from components.render.secrets import CONFIG_MAP_PROVIDER
from components.topology.connectors import Connector


@dataclass(frozen=True)
class ConnectorConfigMap:
    """A ConfigMap; `part` names the source connector that reads it, if only one does."""

    role: ObjectRole
    name: str
    namespace: str
    data: dict[str, str]
    part: str = ""

    def placeholder(self, key: str) -> str:
        """Source: Strimzi kafka-kubernetes-config-provider."""
        return f"${{{CONFIG_MAP_PROVIDER}:{self.namespace}/{self.name}:{key}}}"


def cluster_config_map(flow: ResolvedFlow, side: Side) -> ConnectorConfigMap:
    """Return the ConfigMap with a cluster's alias and its connection, without anything sensitive."""
    plain = {key: value for key, value in connection_properties(flow, side).items() if "${" not in value}
    data = {"alias": flow.alias(side), **plain}
    if revision := flow.cluster(side).credentials_revision:
        data["credentials.revision"] = str(revision)
    return _named(flow, ObjectRole(f"{side}-config"), side, data)


def replication_config_map(flow: ResolvedFlow) -> ConnectorConfigMap:
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
    return _named(flow, ObjectRole.REPLICATION_CONFIG, "replication", data)


def topics_config_maps(flow: ResolvedFlow) -> dict[str, ConnectorConfigMap]:
    """Return the ConfigMap of each source connector's topics, by part, so that changing one restarts no other."""
    return {
        part: replace(_named(flow, ObjectRole.TOPICS_CONFIG, f"topics-{part}", _selection(flow, part)), part=part)
        for part in flow.settings.connectors.sources
    }


def _selection(flow: ResolvedFlow, part: str) -> dict[str, str]:
    source = source_settings(flow.settings, part)
    selected = {"topics": ",".join(each_once(source.topics))}
    if source.topics_exclude != flow.settings.topics_exclude:
        selected["topics.exclude"] = ",".join(excluded_topics(source, flow.expanded.kafka))
    return selected


def connector_config_maps(flow: ResolvedFlow) -> tuple[ConnectorConfigMap, ...]:
    """Return every ConfigMap that the connectors of a flow read."""
    return (
        cluster_config_map(flow, "source"),
        cluster_config_map(flow, "target"),
        replication_config_map(flow),
        *topics_config_maps(flow).values(),
    )


def config_map_object(config_map: ConnectorConfigMap, flow_name: str) -> PlannedObject:
    """Return the Kubernetes object of a ConfigMap."""
    body = manifest(
        "v1", "ConfigMap", config_map.name, config_map.namespace, flow_name, immutable=True, data=config_map.data
    )
    return PlannedObject(config_map.role, body, part=config_map.part)


def _named(flow: ResolvedFlow, role: ObjectRole, suffix: str, data: dict[str, str]) -> ConnectorConfigMap:
    namespace = flow.namespace
    return ConnectorConfigMap(role, config_map_name(flow.name, suffix, data), namespace, data)


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
