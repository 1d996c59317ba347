"""Where each connector of a flow is declared: its resource, and where that holds its state. Pure."""

from dataclasses import dataclass

from components.flows.resolved import ResolvedFlow
from components.kafka.connectors import ConnectorRole
from components.render.deployments import declared_connectors
from infra.kubernetes.api import Reference


@dataclass(frozen=True)
class ConnectorPlace:
    """A connector as Connect names it, and the KafkaConnector or KafkaMirrorMaker2 that declares it."""

    name: str
    role: ConnectorRole
    resource: Reference


def connector_places(flow: ResolvedFlow) -> tuple[ConnectorPlace, ...]:
    """Every connector of a flow, the source connectors first."""
    return tuple(
        ConnectorPlace(
            each.connector, each.role, Reference(each.api_version, each.kind, flow.namespace, each.object_name)
        )
        for each in declared_connectors(flow)
    )
