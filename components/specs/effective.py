"""What reaches each Kafka client of a connector: property -> value, and who set it.

The precedence of prefixes is `components.properties.clients`'s; this adds the layers that the values come from.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.clusters import PropertyValue
from components.model import ExactlyOnce, Flow
from components.properties.clients import CLUSTER_PREFIXES, Client, client_properties, clients, worker_properties
from components.properties.definitions import Owner, definitions
from components.specs.connector_layers import ConnectorRole
from components.specs.layers import Layer, Setting, merged


@dataclass(frozen=True)
class ClientSetting:
    """A client's property: its value, the key and the layer that set it, and why; no key where Kafka or Connect did."""

    value: PropertyValue
    key: str
    layer: str
    why: str


#: The layer beneath all others.
KAFKA = "Kafka"


def flow_clients(flow: Flow, role: ConnectorRole) -> tuple[Client, ...]:
    """The Kafka clients of one of a flow's connectors."""
    location = flow.offset_syncs.location.value if flow.offset_syncs.enabled else ""
    return clients(Owner(role), location, exactly_once=flow.exactly_once is ExactlyOnce.ENABLED)


def client_settings(
    client: Client, connector: Mapping[str, Setting], worker: Mapping[str, Setting], kafka_version: str
) -> dict[str, ClientSetting]:
    """Everything that is set for a client, lowest first: Connect's own, the workers', the connector's, what is fixed.

    Kafka's defaults are left out; see `with_defaults`.
    """
    own = "Connect" if client.side == "worker" else "MirrorMaker"
    found = {
        name: ClientSetting(value, "", own, f"{own} sets it unless it is given.")
        for name, value in client.defaults.items()
    }
    for settings, reached in (
        (worker, worker_properties(client, {key: each.value for key, each in worker.items()}, kafka_version)),
        (connector, client_properties(client, {key: each.value for key, each in connector.items()}, kafka_version)),
    ):
        for name, (_, key) in reached.items():
            setting = settings[key]
            found[name] = ClientSetting(setting.value, key, setting.layer.value, setting.why)
    fixed = {
        name: ClientSetting(value, "", own, f"{own} sets it over whatever is given.")
        for name, value in client.fixed.items()
    }
    return found | fixed


def client_history(
    client: Client, name: str, connector: Iterable[Layer], worker: Iterable[Layer], kafka_version: str
) -> tuple[ClientSetting, ...]:
    """Everything that is said of one of a client's properties, lowest first: the last of it holds."""
    given = [
        *_given(client.worker_prefixes, name, worker),
        *_given(_let_through(client, name, kafka_version), name, connector),
    ]
    known = {*client_settings(client, merged(connector), merged(worker), kafka_version)}
    default = _kafkas_defaults(client.kind, kafka_version).get(name)
    connects = client_settings(client, {}, {}, kafka_version).get(name)
    said = [each for each in (default,) if each is not None]
    if connects is not None and name not in client.fixed:
        said.append(connects)
    said += given if name in known else []
    return (*said, connects) if connects is not None and name in client.fixed else tuple(said)


def _given(prefixes: Iterable[str], name: str, layers: Iterable[Layer]) -> list[ClientSetting]:
    return [
        ClientSetting(each.given[prefix + name].value, prefix + name, each.name.value, each.given[prefix + name].why)
        for prefix in prefixes
        for each in layers
        if prefix + name in each.given
    ]


def _let_through(client: Client, name: str, kafka_version: str) -> list[str]:
    """The prefixes by which a property reaches a client."""
    of_clusters = definitions(kafka_version, Owner.CLUSTER)
    return [prefix for prefix in client.prefixes if prefix not in CLUSTER_PREFIXES or name in of_clusters]


def with_defaults(
    client: Client, settings: Mapping[str, ClientSetting], kafka_version: str
) -> dict[str, ClientSetting]:
    """The same over Kafka's own defaults, where it has any."""
    return {**_kafkas_defaults(client.kind, kafka_version), **settings}


@functools.cache
def _kafkas_defaults(kind: Owner, kafka_version: str) -> Mapping[str, ClientSetting]:
    return {
        name: ClientSetting(definition.default, "", KAFKA, f"default of Kafka {kafka_version}")
        for name, definition in definitions(kafka_version, kind).items()
        if definition.default is not None and not definition.internal
    }
