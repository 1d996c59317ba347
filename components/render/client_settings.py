"""The effective settings of each Kafka client of a connector: property -> value, and what set it.

`components.properties.clients` knows which prefix wins; this adds the layers that the values come from.
"""

import functools
from collections.abc import Iterable, Mapping

from components.kafka.mirror_connectors import ConnectorRole
from components.properties.clients import CLUSTER_PREFIXES, Client, client_properties, clients, worker_properties
from components.properties.definitions import Owner, definitions
from components.render.config_layers import Layer, Setting, merged
from components.topology.model import ExactlyOnce, Flow

#: The layer below all others.
KAFKA = "Kafka"


def flow_clients(flow: Flow, role: ConnectorRole) -> tuple[Client, ...]:
    """Return the Kafka clients of one of a flow's connectors."""
    location = flow.offset_syncs.location.value if flow.offset_syncs.enabled else ""
    return clients(Owner(role), location, exactly_once=flow.exactly_once is ExactlyOnce.ENABLED)


def client_settings(
    client: Client, connector: Mapping[str, Setting], worker: Mapping[str, Setting], kafka_version: str
) -> dict[str, Setting]:
    """Return a client's effective settings by property, without Kafka's defaults; see `with_defaults`.

    The connector's settings win over the workers', those over Connect's defaults, and what Connect fixes wins over all.
    """
    setter = "Connect" if client.side == "worker" else "MirrorMaker"
    effective = {
        name: Setting(value, "", setter, f"{setter} sets it unless it is configured.")
        for name, value in client.defaults.items()
    }
    for settings, reached in (
        (worker, worker_properties(client, {key: each.value for key, each in worker.items()}, kafka_version)),
        (connector, client_properties(client, {key: each.value for key, each in connector.items()}, kafka_version)),
    ):
        effective |= {name: settings[key] for name, (_, key) in reached.items()}
    fixed = {
        name: Setting(value, "", setter, f"{setter} always sets it to this.") for name, value in client.fixed.items()
    }
    return effective | fixed


def client_history(
    client: Client, name: str, connector: Iterable[Layer], worker: Iterable[Layer], kafka_version: str
) -> tuple[Setting, ...]:
    """Return every setting of one client property, lowest precedence first; the last one is effective."""
    configured = [
        *_settings_in(worker, client.worker_prefixes, name),
        *_settings_in(connector, _reaching_prefixes(client, name, kafka_version), name),
    ]
    if name not in client_settings(client, merged(connector), merged(worker), kafka_version):
        configured = []
    default = _kafka_defaults(client.kind, kafka_version).get(name)
    by_connect = client_settings(client, {}, {}, kafka_version).get(name)
    is_fixed = name in client.fixed
    history = [default, *configured, by_connect] if is_fixed else [default, by_connect, *configured]
    return tuple(setting for setting in history if setting is not None)


def _settings_in(layers: Iterable[Layer], prefixes: Iterable[str], name: str) -> list[Setting]:
    return [each.setting(prefix + name) for prefix in prefixes for each in layers if prefix + name in each.properties]


def _reaching_prefixes(client: Client, name: str, kafka_version: str) -> list[str]:
    """Return the prefixes through which a property reaches a client."""
    cluster_properties = definitions(kafka_version, Owner.CLUSTER)
    return [prefix for prefix in client.prefixes if prefix not in CLUSTER_PREFIXES or name in cluster_properties]


def with_defaults(client: Client, settings: Mapping[str, Setting], kafka_version: str) -> dict[str, Setting]:
    """Return the settings together with Kafka's own defaults for everything that is not set."""
    return {**_kafka_defaults(client.kind, kafka_version), **settings}


@functools.cache
def _kafka_defaults(kind: Owner, kafka_version: str) -> Mapping[str, Setting]:
    return {
        name: Setting(definition.default, "", KAFKA, f"default of Kafka {kafka_version}")
        for name, definition in definitions(kafka_version, kind).items()
        if definition.default is not None and not definition.internal
    }
