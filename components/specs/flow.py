"""Every object of a flow, in an order in which each follows what it needs."""

from components.naming import namespace_name
from components.resolved import ResolvedFlow
from components.specs.access import access_objects
from components.specs.config_maps import config_map_object, connector_config_maps
from components.specs.connect import connect_object
from components.specs.connectors import connector_objects
from components.specs.planned import PlannedObject, Role, manifest
from components.specs.quota import quota_objects
from components.specs.secrets import secret_objects


def flow_objects(resolved: ResolvedFlow) -> tuple[PlannedObject, ...]:
    """Namespace (if it is ours), ConfigMaps, Secrets, access, KafkaConnect and KafkaConnectors of one flow."""
    return (
        *namespace_objects(resolved),
        *(config_map_object(config_map, resolved.name) for config_map in connector_config_maps(resolved)),
        *secret_objects(resolved),
        *access_objects(resolved),
        connect_object(resolved),
        *connector_objects(resolved),
    )


def namespace_objects(resolved: ResolvedFlow) -> list[PlannedObject]:
    """The namespace and its quota, as far as they are ours."""
    return [*_namespace(resolved), *quota_objects(resolved)]


def _namespace(resolved: ResolvedFlow) -> list[PlannedObject]:
    if not resolved.flow.namespace.create:
        return []
    name = namespace_name(resolved.workers, resolved.flow)
    return [PlannedObject(Role.NAMESPACE, manifest("v1", "Namespace", name, None, resolved.name))]
