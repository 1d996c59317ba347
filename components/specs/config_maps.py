"""ConfigMaps that connectors read: each cluster's connection, and what the connectors of a flow must agree on.

They are immutable and named by content. Connect resolves a placeholder once, when a connector starts, so a changed
value must be a changed connector; a new name is exactly that.
"""

from dataclasses import dataclass, replace

from components.model import Policy
from components.naming import Side, config_map_name, excluded_topics, namespace_name
from components.resolved import ResolvedFlow
from components.specs.clients import config_map_placeholder, open_properties
from components.specs.planned import PlannedObject, Role, manifest

POLICY_CLASSES = {
    Policy.DEFAULT: "org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
    Policy.IDENTITY: "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
}


@dataclass(frozen=True)
class ConnectorConfigMap:
    """One ConfigMap's content and name."""

    role: Role
    name: str
    namespace: str
    data: dict[str, str]
    part: str = ""

    def placeholder(self, key: str) -> str:
        return config_map_placeholder(self.namespace, self.name, key)


def cluster_config_map(resolved: ResolvedFlow, side: Side) -> ConnectorConfigMap:
    """Alias of one cluster, and what connectors read of its connection here: nothing sensitive."""
    data = {"alias": resolved.alias(side), **open_properties(resolved, side)}
    if revision := resolved.cluster(side).credentials_revision:
        data["credentials.revision"] = str(revision)
    role = Role.SOURCE_CONFIG if side == "source" else Role.TARGET_CONFIG
    return _named(resolved, role, side, data)


def replication_config_map(resolved: ResolvedFlow) -> ConnectorConfigMap:
    """Properties that every connector of the flow must agree on. Source: MirrorConnectorConfig."""
    flow = resolved.flow
    data = {
        "replication.policy.class": POLICY_CLASSES[flow.policy],
        "replication.policy.separator": flow.separator,
        "topics.exclude": ",".join(excluded_topics(flow)),
    }
    if flow.offset_syncs.enabled:
        data["offset-syncs.topic.location"] = flow.offset_syncs.location.value
    if not flow.connectors.sources:
        data["topics"] = ",".join(flow.topics)
    return _named(resolved, Role.REPLICATION_CONFIG, "replication", data)


def topics_config_maps(resolved: ResolvedFlow) -> dict[str, ConnectorConfigMap]:
    """Topics of each of several source connectors, by part: a change of one restarts no other."""
    return {
        part: replace(
            _named(resolved, Role.TOPICS_CONFIG, f"topics-{part}", {"topics": ",".join(source.topics)}), part=part
        )
        for part, source in resolved.flow.connectors.sources.items()
    }


def connector_config_maps(resolved: ResolvedFlow) -> tuple[ConnectorConfigMap, ...]:
    """Every ConfigMap that the connectors of a flow read."""
    return (
        cluster_config_map(resolved, "source"),
        cluster_config_map(resolved, "target"),
        replication_config_map(resolved),
        *topics_config_maps(resolved).values(),
    )


def config_map_object(config_map: ConnectorConfigMap, flow_name: str) -> PlannedObject:
    """Kubernetes object of a ConfigMap."""
    body = manifest(
        "v1", "ConfigMap", config_map.name, config_map.namespace, flow_name, immutable=True, data=config_map.data
    )
    return PlannedObject(config_map.role, body, part=config_map.part)


def _named(resolved: ResolvedFlow, role: Role, suffix: str, data: dict[str, str]) -> ConnectorConfigMap:
    namespace = namespace_name(resolved.workers, resolved.flow)
    return ConnectorConfigMap(role, config_map_name(resolved.name, suffix, data), namespace, data)
