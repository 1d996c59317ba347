"""Every object of a flow, in an order in which each follows what it needs."""

from components.naming import namespace_name
from components.resolved import ResolvedFlow
from components.specs.access import access_objects
from components.specs.config_maps import cluster_config_map, config_map_object, replication_config_map
from components.specs.connect import connect_object
from components.specs.connectors import connector_objects
from components.specs.planned import PlannedObject, Role, manifest
from components.specs.secrets import secret_objects


def flow_objects(resolved: ResolvedFlow) -> tuple[PlannedObject, ...]:
    """Namespace (if it is ours), ConfigMaps, Secrets, access, KafkaConnect and KafkaConnectors of one flow."""
    config_maps = (
        cluster_config_map(resolved, "source"),
        cluster_config_map(resolved, "target"),
        replication_config_map(resolved),
    )
    return (
        *_namespace(resolved),
        *(config_map_object(config_map, resolved.name) for config_map in config_maps),
        *secret_objects(resolved),
        *access_objects(resolved),
        connect_object(resolved),
        *connector_objects(resolved),
    )


def _namespace(resolved: ResolvedFlow) -> list[PlannedObject]:
    if not resolved.flow.namespace.create:
        return []
    name = namespace_name(resolved.name, resolved.flow)
    return [PlannedObject(Role.NAMESPACE, manifest("v1", "Namespace", name, None, resolved.name))]
