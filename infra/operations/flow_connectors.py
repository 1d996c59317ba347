"""Where each connector of a flow is declared: its resource, and where in it its state stands. Pure."""

from dataclasses import dataclass

from components.flows.expansion import Shape
from components.flows.naming import mirror_connector_name
from components.flows.resolved import ResolvedFlow
from components.kafka.mirror_connectors import CONNECTOR_CLASSES, ROLE_OF_CLASS, ConnectorRole
from components.render.api_versions import strimzi_api_version
from components.render.kafka_connectors import connector_objects
from components.render.kafka_mirror_maker2 import heartbeat_connectors, mirror_roles
from components.render.planned_objects import PlannedObject
from infra.kubernetes.api import Reference, reference


@dataclass(frozen=True)
class ConnectorPlace:
    """A connector as Connect names it, and the KafkaConnector or KafkaMirrorMaker2 that declares it."""

    name: str
    role: ConnectorRole
    resource: Reference


def connector_places(flow: ResolvedFlow) -> tuple[ConnectorPlace, ...]:
    """Every connector of a flow, the source connectors first."""
    if flow.expanded.shape is not Shape.MIRROR_MAKER2:
        return tuple(map(_of_resource, connector_objects(flow)))
    resource = Reference(strimzi_api_version(flow), "KafkaMirrorMaker2", flow.namespace, flow.workers)
    mirrors = [
        ConnectorPlace(mirror_connector_name(flow.settings, CONNECTOR_CLASSES[role]), role, resource)
        for role in mirror_roles(flow)
    ]
    return (*mirrors, *map(_of_resource, heartbeat_connectors(flow)))


def _of_resource(planned: PlannedObject) -> ConnectorPlace:
    role = ROLE_OF_CLASS[planned.manifest["spec"]["class"].rpartition(".")[2]]
    return ConnectorPlace(planned.name, role, reference(planned.manifest))
