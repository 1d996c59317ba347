"""What a key in a connector's configuration means, and whether it has any effect there.

Imports `definitions`, `clients` and `connector_context` only. `checks.properties` decides what is a problem.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from components.kafka.prefixes import below
from components.properties.clients import CLUSTER_PREFIXES, Client, split_prefix
from components.properties.connector_context import ConnectorContext, either, owner_of
from components.properties.definitions import (
    CLIENTS,
    CONNECTORS,
    Definition,
    Origin,
    Owner,
    PropertyType,
    nearest,
    versions_with,
)


@dataclass(frozen=True)
class OwnProperty:
    """A property of the connector or worker itself, or one that Connect defines for every connector."""

    definition: Definition


@dataclass(frozen=True)
class ClientProperty:
    """A property of Kafka clients; `missed` are the clients of the same kind that this key does not reach."""

    definition: Definition
    clients: tuple[Client, ...]
    missed: tuple[Client, ...] = ()


@dataclass(frozen=True)
class PassedOn:
    """A key read by something that defines its own properties, such as a transform; `to` names it."""

    to: str


@dataclass(frozen=True)
class WithoutEffect:
    """A known property that nothing reads here: why, and what to set instead (empty if nothing would help)."""

    definition: Definition
    why: str
    instead: str


@dataclass(frozen=True)
class OtherOwner:
    """A property that belongs to other connectors or to the workers."""

    definition: Definition
    owners: tuple[Owner, ...]


@dataclass(frozen=True)
class Unknown:
    """A key that this version of Kafka does not know, with the nearest known key and the versions that know it."""

    nearest: str | None
    known_in: tuple[str, ...] = ()


KeyMeaning = OwnProperty | ClientProperty | PassedOn | WithoutEffect | OtherOwner | Unknown

#: Prefixes of properties that a plugin or a topic defines itself.
_FAMILIES: Mapping[str, str] = {
    "transforms.": "a transform",
    "predicates.": "a predicate",
    "key.converter.": "the key converter",
    "value.converter.": "the value converter",
    "header.converter.": "the header converter",
    "config.providers.": "a configuration provider",
    "topic.creation.": "topics that Connect creates",
}
_PLUGIN_LISTS = {"metric.reporters", "interceptor.classes", "security.providers", "partition.assignment.strategy"}
_KAFKAS_OWN = "org.apache.kafka."
_NOTHING: Mapping[str, object] = MappingProxyType({})


def connector_key_meaning(
    role: Owner,
    key: str,
    version: str,
    *,
    config: Mapping[str, object] = _NOTHING,
    offset_syncs_location: str = "source",
    exactly_once: bool = False,
) -> KeyMeaning:
    """Return what `key` means in a connector's configuration.

    `config` is the connector's whole configuration: a plugin class or an offsets topic in it gives meaning to keys that
    would have none otherwise. Raises ValueError if `role` is not a connector.
    """
    context = ConnectorContext(role, version, config, offset_syncs_location, exactly_once)
    split = split_prefix(key)
    if split is not None:
        return _client_key(context, *split)
    own = context.defined(role)
    if key in own:
        return _own_key(context, own[key])
    if family := next((words for prefix, words in _FAMILIES.items() if key.startswith(prefix)), None):
        return _topic_creation(context, key) or PassedOn(family)
    if found := _elsewhere(context, key):
        return found
    if readers := _own_plugins(own, config):
        return PassedOn(readers)
    return Unknown(context.nearest_key(key), versions_with(key, *CONNECTORS))


def _own_key(context: ConnectorContext, definition: Definition) -> KeyMeaning:
    if definition.origin is not Origin.CLIENT:
        return OwnProperty(definition)
    return WithoutEffect(
        definition,
        "MirrorMaker's connectors define it but never read it; their clients take it with a prefix.",
        either(prefix + definition.name for prefix in context.cluster_prefixes()),
    )


def _topic_creation(context: ConnectorContext, key: str) -> OwnProperty | None:
    _, _, name = key.removeprefix("topic.creation.").partition(".")
    definition = context.defined(Owner.TOPIC_CREATION).get(name)
    return OwnProperty(definition) if definition and key.startswith("topic.creation.") else None


def _elsewhere(context: ConnectorContext, key: str) -> KeyMeaning | None:
    """Return the meaning of a key without a prefix that only another connector, a client or the workers know."""
    owners = tuple(role for role in CONNECTORS if key in context.defined(role))
    if owners:
        return OtherOwner(context.defined(owners[0])[key], owners)
    kinds = [kind for kind in CLIENTS if key in context.defined(kind)]
    if kinds:
        return WithoutEffect(
            context.defined(kinds[0])[key],
            "It is a property of Kafka clients, and a connector's clients take it only with a prefix.",
            context.instead(kinds, key),
        )
    worker = context.defined(Owner.WORKER).get(key)
    return OtherOwner(worker, (Owner.WORKER,)) if worker else None


def _client_key(context: ConnectorContext, prefix: str, name: str) -> KeyMeaning:
    kinds = CLIENTS if prefix in CLUSTER_PREFIXES else (owner_of(prefix),)
    known = context.defined(owner_of(prefix))
    if name not in known:
        return _not_of_this_kind(context, prefix, name, known)
    definition = known[name]
    reached = tuple(client for client in context.clients() if prefix in client.prefixes)
    # Users commonly set security settings for every kind of client, even if the connector has no such client.
    secures = name in context.defined(Owner.CLUSTER)
    present = tuple(client for client in reached if secures or context.has(client))
    if not present:
        why = _absent(context, prefix, reached)
        return WithoutEffect(definition, why, context.instead(kinds, name))
    heeding = tuple(client for client in present if name not in client.fixed)
    if not heeding:
        value = present[0].fixed[name]
        return WithoutEffect(definition, f"Kafka always sets `{name}` of this client to `{value}`.", "")
    missed = tuple(
        client
        for client in context.clients()
        if client.kind in kinds and client not in reached and context.has(client) and prefix not in CLUSTER_PREFIXES
    )
    return ClientProperty(definition, heeding, missed)


def _absent(context: ConnectorContext, prefix: str, reached: tuple[Client, ...]) -> str:
    if reached:
        only = f"`{prefix}` reaches only one client, and this connector has that client only"
        return f"{only} with {reached[0].only_with}."
    return f"A {context.role} connector has no client that takes `{prefix}`."


def _not_of_this_kind(context: ConnectorContext, prefix: str, name: str, known: Mapping[str, Definition]) -> KeyMeaning:
    others = [kind for kind in CLIENTS if name in context.defined(kind)]
    if prefix in CLUSTER_PREFIXES and others:
        why = f"MirrorMaker passes only addresses and security settings from `{prefix}` to its clients."
        side = prefix.partition(".")[0]
        instead = context.instead(others, name, side)
        return WithoutEffect(context.defined(others[0])[name], why, instead)
    if others:
        why = f"It is a property of {_plural(others)}; `{prefix}` reaches only {_plural([owner_of(prefix)])}."
        return WithoutEffect(context.defined(others[0])[name], why, context.instead(others, name))
    if readers := _own_plugins(known, below(prefix, context.config)):
        return PassedOn(readers)
    similar = nearest(name, known)
    known_in = versions_with(name, owner_of(prefix))
    return Unknown(prefix + similar if similar else context.nearest_key(prefix + name), known_in)


def _own_plugins(known: Mapping[str, Definition], config: Mapping[str, object]) -> str:
    """Return, as prose, the user's own classes in a configuration: each receives all of it and may read any key."""
    named = [
        f"`{key}`"
        for key, value in config.items()
        if key in known
        and (known[key].type is PropertyType.CLASS or key in _PLUGIN_LISTS)
        and known[key].origin is not Origin.CONNECT
        and any(not each.strip().startswith((_KAFKAS_OWN, "${")) for each in str(value).split(","))
    ]
    return " or ".join(f"the class that {each} names" for each in named)


def _plural(kinds: Iterable[Owner]) -> str:
    words = {Owner.CONSUMER: "consumers", Owner.PRODUCER: "producers", Owner.ADMIN: "admin clients"}
    return " and ".join(words[kind] for kind in kinds)
