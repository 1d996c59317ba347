"""Why a flow's connectors, their Kafka clients and its workers are configured as they are: every property with the
layer that set it, and what the layers below it said.

Needs neither a cluster nor Pulumi, and no credential: what the stack's configuration holds is named, not shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.checks.properties import is_open_credential
from components.expansion import Shape
from components.kafka_version import kafka_version
from components.model import ExactlyOnce
from components.naming import connector_name, mirror_connector_name
from components.properties.clients import Client, split_prefix
from components.properties.definitions import Definition, Owner, definitions, nearest
from components.properties.place import kind_of
from components.properties.values import value_text
from components.resolved import ResolvedFlow, config_values, resolve_flows
from components.specs.connect import worker_layers
from components.specs.connector_layers import ConnectorRole, connector_layers
from components.specs.connectors import CONNECTOR_CLASSES
from components.specs.effective import (
    KAFKA,
    ClientSetting,
    client_history,
    client_settings,
    flow_clients,
    with_defaults,
)
from components.specs.layers import Layer, merged
from components.specs.mirror_maker2 import mirror_worker_config, with_heartbeat_workers
from infra.errors import CannotRunError
from infra.settings import StackSettings
from infra.stack_checks import raise_mistakes

WORKERS = "workers"


@dataclass(frozen=True)
class Explained:
    """A property at one place and everything that is said of it, lowest first: the last of it holds."""

    name: str
    said: tuple[ClientSetting, ...]
    definition: Definition | None

    @property
    def holds(self) -> ClientSetting:
        return self.said[-1]


@dataclass(frozen=True)
class Place:
    """What has properties: a connector, one of its Kafka clients, or the workers; `note` says when a client exists."""

    connector: str
    client: str
    note: str
    properties: tuple[Explained, ...]


@dataclass(frozen=True)
class Explanation:
    """A flow's places, for one version of Kafka."""

    stack: str
    flow: str
    kafka: str
    places: tuple[Place, ...]


def explanation(settings: StackSettings, flow: str, name: str | None = None, *, defaults: bool = False) -> Explanation:
    """Every property of a flow, or one of them everywhere; with `defaults` those that only Kafka sets, too.

    `name` is a connector's or a worker's property, or a client's with or without a prefix. Raises CannotRunError for a
    flow or a property that is not there, ReplicationError for a topology that no object is made from.
    """
    resolved = _flow(settings, flow)
    version = kafka_version(resolved.flow.connect, resolved.strimzi)
    places = tuple(_places(resolved, version, defaults=defaults or name is not None))
    if name is not None:
        chosen = tuple(_only(places, name))
        if not chosen:
            raise _unknown_property(places, flow, name)
        places = chosen
    return Explanation(settings.stack, flow, version, places)


def _flow(settings: StackSettings, name: str) -> ResolvedFlow:
    raise_mistakes(settings)
    named = {value.config for cluster in settings.topology.clusters.values() for value in config_values(cluster)}
    addresses = {key: f"{{config: {key}}}" for key in named} | dict(settings.values)
    flows = {each.name: each for each in resolve_flows(settings.topology, settings.region, addresses)}
    if name not in flows:
        known = ", ".join(f"`{each}`" for each in flows) or "none"
        similar = nearest(name, flows)
        raise CannotRunError(
            f"no flow `{name}`",
            f"stack `{settings.stack}`",
            f"Its flows are: {known}.",
            f"name `{similar}`." if similar else "name one of these.",
        )
    return flows[name]


def _places(resolved: ResolvedFlow, version: str, *, defaults: bool) -> Iterator[Place]:
    flow = resolved.flow
    heartbeats = _heartbeat_workers(resolved)
    roles: list[tuple[ConnectorRole, str]] = [("source", part) for part in list(flow.connectors.sources) or [""]]
    roles += [("checkpoint", "")] if flow.connectors.checkpoint.enabled else []
    roles += [("heartbeat", "")] if flow.connectors.heartbeat.enabled else []
    for role, part in roles:
        runs = heartbeats if role == "heartbeat" else resolved
        layers, name = connector_layers(runs, role, part), _connector(runs, role, part)
        yield Place(name, "", "", _of_layers(layers, Owner(role), version, defaults=defaults))
        for client in flow_clients(runs.flow, role):
            if _exists(client, runs, layers):
                found = _of_client(client, layers, _worker_layers(runs), version, defaults=defaults)
                yield Place(name, client.name, client.only_with, found)
    yield Place(WORKERS, "", "", _of_layers(_worker_layers(resolved), Owner.WORKER, version, defaults=defaults))


def _heartbeat_workers(resolved: ResolvedFlow) -> ResolvedFlow:
    """The flow as those workers run it that send its heartbeats."""
    apart = resolved.named.shape is Shape.MIRROR_MAKER2 and not resolved.api.has_heartbeat_mirrors
    return with_heartbeat_workers(resolved) if apart else resolved


def _worker_layers(resolved: ResolvedFlow) -> tuple[Layer, ...]:
    """Layers of the workers' configuration; a KafkaMirrorMaker2 of an older API is given less of it."""
    layers = worker_layers(resolved)
    if resolved.named.shape is not Shape.MIRROR_MAKER2:
        return layers
    given = mirror_worker_config(resolved)
    return tuple(Layer(each.name, {key: value for key, value in each.given.items() if key in given}) for each in layers)


def _exists(client: Client, resolved: ResolvedFlow, layers: Iterable[Layer]) -> bool:
    """Whether a connector has this client, or somebody speaks of it."""
    spoken_of = any(key.startswith(client.prefixes) for layer in layers for key in layer.given)
    return not client.only_with or spoken_of or resolved.flow.exactly_once is ExactlyOnce.ENABLED


def _connector(resolved: ResolvedFlow, role: ConnectorRole, part: str) -> str:
    if resolved.named.shape is Shape.MIRROR_MAKER2 and (role != "heartbeat" or resolved.api.has_heartbeat_mirrors):
        return mirror_connector_name(resolved.flow, CONNECTOR_CLASSES[role])
    return connector_name(resolved.name, role, part)


def _of_layers(layers: Iterable[Layer], owner: Owner, version: str, *, defaults: bool) -> tuple[Explained, ...]:
    """Properties of a connector or of the workers themselves."""
    known = {name: each for name, each in definitions(version, owner).items() if not each.internal}
    said: dict[str, list[ClientSetting]] = {
        name: [ClientSetting(each.default, "", KAFKA, f"default of Kafka {version}")]
        for name, each in known.items()
        if each.default is not None
    }
    given = merged(layers)
    for layer in layers:
        for name, each in layer.given.items():
            said.setdefault(name, []).append(ClientSetting(each.value, name, layer.name.value, each.why))
    names = [*given, *(sorted(set(said) - set(given)) if defaults else ())]
    return tuple(Explained(name, tuple(said[name]), _definition(name, known, version)) for name in names)


def _definition(name: str, known: Mapping[str, Definition], version: str) -> Definition | None:
    split = split_prefix(name)
    if name in known or split is None:
        return known.get(name)
    prefix, of_client = split
    kinds = [Owner.CLUSTER] if prefix.endswith(".cluster.") else [kind_of(prefix)]
    return definitions(version, kinds[0]).get(of_client)


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


def _only(places: Iterable[Place], name: str) -> Iterator[Place]:
    """The places of one property; a key with a client's prefix is shown at the clients that it reaches, too."""
    prefix, of_client = split_prefix(name) or ("", name)
    for place in places:
        wanted = {name, of_client} if place.client else {name}
        chosen = tuple(
            each
            for each in place.properties
            if each.name in wanted and (not prefix or not place.client or any(s.key == name for s in each.said))
        )
        if chosen:
            yield Place(place.connector, place.client, place.note, chosen)


def _unknown_property(places: Iterable[Place], flow: str, name: str) -> CannotRunError:
    known = {each.name for place in places for each in place.properties}
    similar = nearest(name, known) or nearest((split_prefix(name) or ("", name))[1], known)
    return CannotRunError(
        f"no property `{name}`",
        f"flow `{flow}`",
        "Neither its connectors, nor their clients, nor its workers have it.",
        f"name `{similar}`." if similar else "leave it out, and see them all with `--all`.",
    )


def as_json(explained: Explanation) -> dict[str, Any]:
    """The explanation as plain JSON."""
    return {
        "stack": explained.stack,
        "flow": explained.flow,
        "kafka": explained.kafka,
        "places": [
            {
                "connector": place.connector,
                "client": place.client,
                "note": place.note,
                "properties": [_property_json(each) for each in place.properties],
            }
            for place in explained.places
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


def _setting_json(name: str, setting: ClientSetting) -> dict[str, Any]:
    return {"value": shown(name, setting), "layer": setting.layer, "key": setting.key, "why": setting.why}


def shown(name: str, setting: ClientSetting) -> str:
    """A value as Kafka reads it; of a credential the reference to it, or nothing."""
    return "(not shown)" if is_open_credential(name, setting.value) else value_text(setting.value)
