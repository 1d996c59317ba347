"""Why a flow's connectors, their Kafka clients and its workers are configured as they are.

Each property comes with the layer that set it and the values of lower layers.

Needs no cluster, no Pulumi and no credential: a value from the stack's configuration is named, not shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.checks.property_values import is_open_credential
from components.contract.problems import CannotRunError
from components.flows.expansion import Shape
from components.flows.naming import connector_name, mirror_connector_name
from components.flows.resolved import ResolvedFlow, config_keys, resolve_flows
from components.kafka.mirror_connectors import CONNECTOR_CLASSES, ConnectorRole
from components.properties.clients import Client, split_prefix
from components.properties.connector_context import owner_of
from components.properties.definitions import Definition, Owner, definitions, nearest
from components.properties.values import value_text
from components.render.client_settings import KAFKA, client_history, client_settings, flow_clients, with_defaults
from components.render.config_layers import Layer, Setting, merged
from components.render.connector_config import connector_layers
from components.render.heartbeat_workers import heartbeat_workers
from components.render.kafka_connect import worker_layers
from components.render.kafka_mirror_maker2 import mirror_worker_config
from components.topology.model import ExactlyOnce
from infra.review.explain_fields import connector_fields_layer, worker_fields_layer
from infra.stack.flow_choice import flow_named
from infra.stack.settings import StackSettings
from infra.stack.stack_checks import raise_mistakes

WORKERS = "workers"


@dataclass(frozen=True)
class Explained:
    """A property of one reader with the value of each layer, lowest layer first; the last one wins."""

    name: str
    said: tuple[Setting, ...]
    definition: Definition | None

    @property
    def holds(self) -> Setting:
        return self.said[-1]


@dataclass(frozen=True)
class Reader:
    """Reads properties: a connector, one of its Kafka clients, or the workers. `note` says when a client exists."""

    connector: str
    client: str
    note: str
    properties: tuple[Explained, ...]


@dataclass(frozen=True)
class Explanation:
    """What a flow's connectors, clients and workers read in one version of Kafka."""

    stack: str
    flow: str
    kafka: str
    readers: tuple[Reader, ...]


def explanation(settings: StackSettings, flow: str, name: str | None = None, *, defaults: bool = False) -> Explanation:
    """Every property of a flow, or one property wherever it is read; `defaults` adds those that only Kafka sets.

    `name` is a property of a connector or worker, or of a client, with or without its prefix. Raises CannotRunError for
    an unknown flow or property, and ReplicationError for mistakes of the topology.
    """
    known = _flow(settings, flow)
    version = known.expanded.kafka
    readers = tuple(_readers(known, version, defaults=defaults or name is not None))
    if name is not None:
        chosen = tuple(_only(readers, name))
        if not chosen:
            raise _unknown_property(readers, flow, name)
        readers = chosen
    return Explanation(settings.stack, flow, version, readers)


def _flow(settings: StackSettings, name: str) -> ResolvedFlow:
    raise_mistakes(settings)
    addresses = {key: f"{{config: {key}}}" for key in config_keys(settings.topology)} | dict(settings.values)
    return flow_named(name, resolve_flows(settings.topology, settings.region, addresses), settings.stack)


def _readers(flow: ResolvedFlow, version: str, *, defaults: bool) -> Iterator[Reader]:
    settings = flow.settings
    heartbeats = heartbeat_workers(flow)
    roles: list[tuple[ConnectorRole, str]] = [("source", part) for part in list(settings.connectors.sources) or [""]]
    roles += [("checkpoint", "")] if settings.connectors.checkpoint.enabled else []
    roles += [("heartbeat", "")] if settings.connectors.heartbeat.enabled else []
    for role, part in roles:
        runs = heartbeats if role == "heartbeat" else flow
        layers, name = connector_layers(runs, role, part), _connector(runs, role, part)
        of_connector = (*layers, connector_fields_layer(runs, role, part, name))
        yield Reader(name, "", "", _of_layers(of_connector, Owner(role), version, defaults=defaults))
        for client in flow_clients(runs.settings, role):
            if _exists(client, runs, layers):
                found = _of_client(client, layers, _worker_layers(runs), version, defaults=defaults)
                yield Reader(name, client.name, client.only_with, found)
    yield _workers(WORKERS, flow, version, defaults=defaults)
    if heartbeats.workers_on == "source":
        name = f"{WORKERS} `{heartbeats.connect_name}` of {heartbeats.settings.source}"
        yield _workers(name, heartbeats, version, defaults=defaults)


def _workers(name: str, flow: ResolvedFlow, version: str, *, defaults: bool) -> Reader:
    layers = (*_worker_layers(flow), worker_fields_layer(flow))
    return Reader(name, "", "", _of_layers(layers, Owner.WORKER, version, defaults=defaults))


def _worker_layers(flow: ResolvedFlow) -> tuple[Layer, ...]:
    """Layers of the workers' configuration; a KafkaMirrorMaker2 of an older API accepts only part of it."""
    layers = worker_layers(flow)
    if flow.expanded.shape is not Shape.MIRROR_MAKER2 or flow.workers_on == "source":
        return layers
    given = mirror_worker_config(flow)
    return tuple(
        Layer(each.name, {key: value for key, value in each.properties.items() if key in given}) for each in layers
    )


def _exists(client: Client, flow: ResolvedFlow, layers: Iterable[Layer]) -> bool:
    """Whether a connector creates this client, or a layer sets a property of it."""
    is_set = any(key.startswith(client.prefixes) for layer in layers for key in layer.properties)
    return not client.only_with or is_set or flow.settings.exactly_once is ExactlyOnce.ENABLED


def _connector(flow: ResolvedFlow, role: ConnectorRole, part: str) -> str:
    if flow.expanded.shape is Shape.MIRROR_MAKER2 and (role != "heartbeat" or flow.api.has_heartbeat_mirrors):
        return mirror_connector_name(flow.settings, CONNECTOR_CLASSES[role])
    return connector_name(flow.name, flow.settings, role, part)


def _of_layers(layers: Iterable[Layer], owner: Owner, version: str, *, defaults: bool) -> tuple[Explained, ...]:
    """Properties of a connector or of the workers themselves."""
    known = {name: each for name, each in definitions(version, owner).items() if not each.internal}
    said: dict[str, list[Setting]] = {
        name: [Setting(each.default, "", KAFKA, f"default of Kafka {version}")]
        for name, each in known.items()
        if each.default is not None
    }
    given = merged(layers)
    for layer in layers:
        for name in layer.properties:
            said.setdefault(name, []).append(layer.setting(name))
    names = [*given, *(sorted(set(said) - set(given)) if defaults else ())]
    return tuple(Explained(name, tuple(said[name]), _definition(name, known, version)) for name in names)


def _definition(name: str, known: Mapping[str, Definition], version: str) -> Definition | None:
    split = split_prefix(name)
    if name in known or split is None:
        return known.get(name)
    prefix, of_client = split
    return definitions(version, owner_of(prefix)).get(of_client)


def _of_client(
    client: Client, layers: tuple[Layer, ...], worker: tuple[Layer, ...], version: str, *, defaults: bool
) -> tuple[Explained, ...]:
    """Properties of one Kafka client."""
    settings = client_settings(client, merged(layers), merged(worker), version)
    known = definitions(version, client.kind)
    names = [*settings, *(sorted(set(with_defaults(client, settings, version)) - set(settings)) if defaults else ())]
    return tuple(
        Explained(name, client_history(client, name, layers, worker, version), known.get(name)) for name in names
    )


def _only(readers: Iterable[Reader], name: str) -> Iterator[Reader]:
    """The readers of one property; a key with a client's prefix is also shown for the clients that it reaches."""
    prefix, of_client = split_prefix(name) or ("", name)
    for reader in readers:
        wanted = {name, of_client} if reader.client else {name}
        chosen = tuple(
            each
            for each in reader.properties
            if each.name in wanted and (not prefix or not reader.client or any(s.key == name for s in each.said))
        )
        if chosen:
            yield Reader(reader.connector, reader.client, reader.note, chosen)


def _unknown_property(readers: Iterable[Reader], flow: str, name: str) -> CannotRunError:
    known = {each.name for reader in readers for each in reader.properties}
    similar = nearest(name, known) or nearest((split_prefix(name) or ("", name))[1], known)
    return CannotRunError(
        "unknown-property",
        f"no property `{name}`",
        f"flow `{flow}`",
        "Its connectors, their clients and its workers do not have it.",
        f"name `{similar}`." if similar else "list them all with `--all` instead of a name.",
    )


def as_json(explained: Explanation) -> dict[str, Any]:
    """The explanation as plain JSON."""
    return {
        "stack": explained.stack,
        "flow": explained.flow,
        "kafka": explained.kafka,
        "places": [
            {
                "connector": reader.connector,
                "client": reader.client,
                "note": reader.note,
                "properties": [_property_json(each) for each in reader.properties],
            }
            for reader in explained.readers
        ],
    }


def _property_json(each: Explained) -> dict[str, Any]:
    definition = each.definition
    return {
        "property": each.name,
        **_setting_json(each.name, each.holds),
        "type": definition.type.value if definition else None,
        "default": definition.default if definition else None,
        "documentation": definition.documentation if definition else None,
        "said": [_setting_json(each.name, said) for said in each.said],
    }


def _setting_json(name: str, setting: Setting) -> dict[str, Any]:
    return {"value": shown(name, setting), "layer": setting.layer, "key": setting.key, "why": setting.why}


def shown(name: str, setting: Setting) -> str:
    """A value as Kafka reads it; for a credential, the reference to it or nothing."""
    return "(not shown)" if is_open_credential(name, setting.value) else value_text(setting.value)
