"""ConfigMaps that connectors read: the connection of each cluster, and what the connectors of a flow must agree on.

They are immutable and named by their content. Connect resolves a placeholder only when a connector starts, so a new
value must also change the connector; the new name does.
"""

from dataclasses import dataclass, replace

from components.flows.naming import config_map_name, policy_class
from components.flows.resolved import ResolvedFlow
from components.flows.selections import each_once, excluded_topics
from components.flows.sources import source_settings
from components.kafka.replication_policy import Side
from components.render.connections import connection_properties
from components.render.planned_objects import ObjectRole, PlannedObject, manifest
from components.render.references import CONFIG_MAP_PROVIDER


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
