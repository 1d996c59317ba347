"""Explains why a flow's connectors, their Kafka clients and its workers are configured as they are, and problem codes.

Each property comes with the layer that set it and the values of lower layers.

Needs no cluster, no Pulumi and no credential: a value from the stack's configuration is named, not shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafka_replication.components.checks.property_values import is_open_credential
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.resolved import ResolvedFlow, bootstrap_address, config_keys, resolve_flows
from kafka_replication.components.kafka.connectors import CONNECTOR_CLASSES, ConnectorRole
from kafka_replication.components.properties.clients import Client, split_prefix
from kafka_replication.components.properties.definitions import Definition, Owner, definitions, nearest
from kafka_replication.components.properties.keys import owner_of
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.render.api_versions import group_names
from kafka_replication.components.render.client_settings import (
    KAFKA,
    client_history,
    client_settings,
    flow_clients,
    with_defaults,
)
from kafka_replication.components.render.config_layers import (
    EffectiveSetting,
    Layer,
    LayerName,
    LayerValue,
    layer,
    merged,
)
from kafka_replication.components.render.connector_config import connector_layers
from kafka_replication.components.render.heartbeat_workers import heartbeat_workers
from kafka_replication.components.render.kafka_connect import worker_layers
from kafka_replication.components.render.kafka_connectors import connector_roles, name_in_connect
from kafka_replication.components.render.kafka_mirror_maker2 import mirror_worker_config
from kafka_replication.components.topology.connectors import Connector
from kafka_replication.components.topology.model import ExactlyOnce
from kafka_replication.infra.review.reports import print_fact
from kafka_replication.infra.stack.session import flow_named
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.stack_checks import raise_mistakes


def connector_fields_layer(flow: ResolvedFlow, role: ConnectorRole, part: str, name: str) -> Layer:
    """Return name, class and number of tasks of a connector. Source: Strimzi KafkaConnectorSpec."""
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
    """Return address, group and storage topics of the workers. Source: Strimzi KafkaConnectSpec."""
    address = {"bootstrap.servers": bootstrap_address(flow.cluster(flow.workers_on))}
    where = f"clusters.{flow.alias(flow.workers_on)}.bootstrapServers"
    derived = f"from the name of the workers, {flow.workers}, unless the topology names it"
    names = layer(LayerName.MODEL, group_names(flow), derived)
    return Layer(LayerName.MODEL, {**layer(LayerName.MODEL, address, where).properties, **names.properties})


WORKERS = "workers"


@dataclass(frozen=True)
class Explained:
    """A property of one reader with the value of each layer, lowest layer first; the last one wins."""

    name: str
    settings: tuple[EffectiveSetting, ...]
    definition: Definition | None

    @property
    def effective(self) -> EffectiveSetting:
        return self.settings[-1]


@dataclass(frozen=True)
class Reader:
    """A connector, one of its Kafka clients, or the workers, and what it reads. `note` says when a client exists."""

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
    """Return every property of a flow, or the one of this name (its prefix may be left out) wherever it is read; with
    `defaults` also what only Kafka sets. Raises CannotRunError and ReplicationError."""
    raise_mistakes(settings)
    addresses = {key: f"{{config: {key}}}" for key in config_keys(settings.topology)} | dict(settings.values)
    known = flow_named(flow, resolve_flows(settings.topology, settings.region, addresses), settings.stack)
    version = known.expanded.kafka
    readers = tuple(_readers(known, version, defaults=defaults or name is not None))
    chosen = readers if name is None else tuple(_only(readers, name))
    if name is not None and not chosen:
        properties = {explained.name for reader in readers for explained in reader.properties}
        similar = nearest(name, properties) or nearest((split_prefix(name) or ("", name))[1], properties)
        why = "Its connectors, their clients and its workers do not have it."
        remedy = f"name `{similar}`." if similar else "list them all with `--all` instead of a name."
        raise CannotRunError("unknown-property", f"no property `{name}`", f"flow `{flow}`", why, remedy)
    return Explanation(settings.stack, flow, version, chosen)


def _readers(flow: ResolvedFlow, version: str, *, defaults: bool) -> Iterator[Reader]:
    heartbeats = heartbeat_workers(flow)
    for role, part in connector_roles(flow.settings):
        runs = heartbeats if role == "heartbeat" else flow
        layers, name = connector_layers(runs, role, part), name_in_connect(runs, role, part)
        of_connector = (*layers, connector_fields_layer(runs, role, part, name))
        yield Reader(name, "", "", _of_layers(of_connector, Owner(role), version, defaults=defaults))
        for client in flow_clients(runs.settings, role):
            # A layer may set a property of a client that the connector does not create otherwise.
            is_set = any(key.startswith(client.prefixes) for level in layers for key in level.properties)
            if not client.only_with or is_set or runs.settings.exactly_once is ExactlyOnce.ENABLED:
                properties = _of_client(client, layers, _worker_layers(runs), version, defaults=defaults)
                yield Reader(name, client.name, client.only_with, properties)
    yield _workers(WORKERS, flow, version, defaults=defaults)
    if heartbeats.workers_on == "source":
        name = f"{WORKERS} `{heartbeats.connect_name}` of {heartbeats.settings.source}"
        yield _workers(name, heartbeats, version, defaults=defaults)


def _workers(name: str, flow: ResolvedFlow, version: str, *, defaults: bool) -> Reader:
    layers = (*_worker_layers(flow), worker_fields_layer(flow))
    return Reader(name, "", "", _of_layers(layers, Owner.WORKER, version, defaults=defaults))


def _worker_layers(flow: ResolvedFlow) -> tuple[Layer, ...]:
    """Return layers of the workers' configuration; a KafkaMirrorMaker2 of an older API accepts only part of it."""
    layers = worker_layers(flow)
    if flow.expanded.shape is not FlowShape.MIRROR_MAKER2 or flow.workers_on == "source":
        return layers
    given = mirror_worker_config(flow)
    return tuple(
        Layer(level.name, {key: value for key, value in level.properties.items() if key in given}) for level in layers
    )


def _of_layers(layers: Iterable[Layer], owner: Owner, version: str, *, defaults: bool) -> tuple[Explained, ...]:
    """Return properties of a connector or of the workers themselves."""
    known = {name: definition for name, definition in definitions(version, owner).items() if not definition.internal}
    settings: dict[str, list[EffectiveSetting]] = {
        name: [EffectiveSetting(definition.default, "", KAFKA, f"default of Kafka {version}")]
        for name, definition in known.items()
        if definition.default is not None
    }
    given = merged(layers)
    for level in layers:
        for name in level.properties:
            settings.setdefault(name, []).append(level.setting(name))
    names = [*given, *(sorted(set(settings) - set(given)) if defaults else ())]
    return tuple(Explained(name, tuple(settings[name]), _definition(name, known, version)) for name in names)


def _definition(name: str, known: Mapping[str, Definition], version: str) -> Definition | None:
    split = split_prefix(name)
    if name in known or split is None:
        return known.get(name)
    prefix, of_client = split
    return definitions(version, owner_of(prefix)).get(of_client)


def _of_client(
    client: Client, layers: tuple[Layer, ...], worker: tuple[Layer, ...], version: str, *, defaults: bool
) -> tuple[Explained, ...]:
    """Return properties of one Kafka client."""
    settings = client_settings(client, merged(layers), merged(worker), version)
    known = definitions(version, client.kind)
    names = [*settings, *(sorted(set(with_defaults(client, settings, version)) - set(settings)) if defaults else ())]
    return tuple(
        Explained(name, client_history(client, name, layers, worker, version), known.get(name)) for name in names
    )


def _only(readers: Iterable[Reader], name: str) -> Iterator[Reader]:
    """Yield the readers of one property; a key with a client's prefix is also shown for the clients that it reaches."""
    prefix, of_client = split_prefix(name) or ("", name)
    for reader in readers:
        wanted = {name, of_client} if reader.client else {name}
        chosen = tuple(
            explained
            for explained in reader.properties
            if explained.name in wanted
            and (not prefix or not reader.client or any(s.key == name for s in explained.settings))
        )
        if chosen:
            yield Reader(reader.connector, reader.client, reader.note, chosen)


def as_json(explained: Explanation) -> dict[str, Any]:
    """Return the explanation as plain JSON."""
    return {
        "stack": explained.stack,
        "flow": explained.flow,
        "kafka": explained.kafka,
        "places": [
            {
                "connector": reader.connector,
                "client": reader.client,
                "note": reader.note,
                "properties": [_property_json(entry) for entry in reader.properties],
            }
            for reader in explained.readers
        ],
    }


def _property_json(explained: Explained) -> dict[str, Any]:
    definition = explained.definition
    return {
        "property": explained.name,
        **_setting_json(explained.name, explained.effective),
        "type": definition.type.value if definition else None,
        "default": definition.default if definition else None,
        "documentation": definition.documentation if definition else None,
        "said": [_setting_json(explained.name, setting) for setting in explained.settings],
    }


def _setting_json(name: str, setting: EffectiveSetting) -> dict[str, Any]:
    return {"value": shown(name, setting), "layer": setting.layer, "key": setting.key, "why": setting.why}


def shown(name: str, setting: EffectiveSetting) -> str:
    """Return a value as Kafka reads it; for a credential, the reference to it or nothing."""
    return "(not shown)" if is_open_credential(name, setting.value) else value_text(setting.value)


def print_explanation(explained: Explanation, console: Console) -> None:
    """Print every property: its value, what set it, and why. A client's connection is shown only at its connector."""
    for reader in explained.readers:
        shown_here = [
            entry for entry in reader.properties if not (reader.client and entry.effective.layer == LayerName.CLUSTERS)
        ]
        if not console.is_terminal:
            for entry in shown_here:
                _print_line(reader, entry, entry.effective, console)
        elif shown_here:
            table = _table(reader)
            for entry in shown_here:
                table.add_row(*_row(entry.name, entry.name, entry.effective))
            console.print(table)


def print_property(explained: Explanation, console: Console) -> None:
    """Print a property's value in each layer. A terminal strikes out overridden values; a file has them last."""
    for reader in explained.readers:
        for entry in reader.properties:
            if console.is_terminal:
                console.print(_history(reader, entry))
                continue
            _print_line(reader, entry, entry.effective, console)
            for setting in reversed(entry.settings[:-1]):
                _print_line(reader, entry, setting, console, verb=" overrides ")
            print_fact(console, f"{_title(reader)}: {escape(entry.name)}: {_definition_text(entry)}")


def _history(reader: Reader, explained: Explained) -> Table:
    table = _table(reader)
    table.caption, table.caption_justify = _definition_text(explained), "left"
    for setting in explained.settings:
        style = "" if setting is explained.effective else "dim strike"
        table.add_row(*_row(explained.name, setting.key or explained.name, setting), style=style)
    return table


def _table(reader: Reader) -> Table:
    table = Table(title=_title(reader), title_justify="left", title_style="bold")
    for column in ("property", "value", "set by", "why"):
        table.add_column(column, overflow="fold")
    return table


def _print_line(
    reader: Reader, explained: Explained, setting: EffectiveSetting, console: Console, verb: str = " = "
) -> None:
    key, value, by, why = _row(explained.name, explained.name, setting)
    print_fact(console, f"{_title(reader)}: {key}{verb}{value} ({by}: {why})")


def _title(reader: Reader) -> str:
    client = f", its {reader.client}" if reader.client else ""
    note = f" (only with {reader.note})" if reader.note else ""
    return escape(f"{reader.connector}{client}{note}")


def _definition_text(explained: Explained) -> str:
    if explained.definition is None:
        return "Kafka does not define it."
    given = explained.definition.default
    default = "no default" if given is None else f"default {given or '(empty)'}"
    return escape(f"{explained.definition.type.value}, {default}. {explained.definition.documentation}")


def _row(name: str, key: str, setting: EffectiveSetting) -> tuple[str, str, str, str]:
    by = setting.layer if setting.key in {"", name} else f"{setting.layer}, {setting.key}"
    return escape(key), escape(shown(name, setting)), escape(by), escape(setting.why)


_PAGES = [Path(__file__).resolve().parent.parent / name for name in ("PROBLEMS.md", "operate/ALERTS.md")]


@cache
def described_codes() -> Mapping[str, str]:
    """Return what the pages say about each code and each alert, as Markdown, in the order of the pages."""
    found: dict[str, str] = {}
    for page in _PAGES:
        parts = re.split(r"^### (.+)\n", re.sub(r"\n<!-- .* -->\n", "", page.read_text()), flags=re.MULTILINE)[1:]
        texts = (text.partition("\n## ")[0].strip() for text in parts[1::2])
        found |= zip(parts[::2], texts, strict=True)
    return found
