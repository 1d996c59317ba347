"""The separate fields of the rendered objects for a connector or the workers, as layers of properties.

The operator writes these fields into the configuration that Kafka reads.
"""

from components.flows.resolved import ResolvedFlow, bootstrap_address
from components.kafka.mirror_connectors import CONNECTOR_CLASSES, ConnectorRole
from components.render.api_versions import group_names
from components.render.config_layers import Layer, LayerName, LayerValue, layer
from components.topology.connectors import Connector


def connector_fields_layer(flow: ResolvedFlow, role: ConnectorRole, part: str, name: str) -> Layer:
    """Name, class and number of tasks of a connector. Source: Strimzi KafkaConnectorSpec."""
    connectors = flow.settings.connectors
    connector: Connector = connectors.sources[part] if part else getattr(connectors, role)
    key = f"connectors.sources.{part}" if part else f"connectors.{role}"
    entries = {
        "name": LayerValue(name, "the name of the connector"),
        "connector.class": LayerValue(CONNECTOR_CLASSES[role], f"the class of a {role} connector"),
        "tasks.max": LayerValue(connector.tasks_max, flow.expanded.where(f"{key}.tasksMax")),
    }
    return Layer(LayerName.MODEL, entries)


def worker_fields_layer(flow: ResolvedFlow) -> Layer:
    """Address, group and storage topics of the workers. Source: Strimzi KafkaConnectSpec."""
    address = {"bootstrap.servers": bootstrap_address(flow.cluster(flow.workers_on))}
    where = f"clusters.{flow.alias(flow.workers_on)}.bootstrapServers"
    derived = f"from the name of the workers, {flow.workers}, unless the topology names it"
    names = layer(LayerName.MODEL, group_names(flow), derived)
    return Layer(LayerName.MODEL, {**layer(LayerName.MODEL, address, where).properties, **names.properties})
