"""What a key in the configuration of a connector or of the workers is, and whether it has an effect there.

Imports `definitions`, `clients` and `place` only. Nothing here is a problem yet; a check words it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from components.properties.clients import CLUSTER_PREFIXES, Client, split_prefix
from components.properties.definitions import (
    CLIENTS,
    CONNECTORS,
    Definition,
    Origin,
    Owner,
    PropertyType,
    definitions,
    nearest,
    supported_versions,
)
from components.properties.place import Place, either, kind_of


@dataclass(frozen=True)
class OwnProperty:
    """A property of the connector or of the worker itself, or of Connect for every connector."""

    definition: Definition


@dataclass(frozen=True)
class ClientProperty:
    """A property of Kafka clients; `missed` are clients of that kind that this key does not reach."""

    definition: Definition
    clients: tuple[Client, ...]
    missed: tuple[Client, ...] = ()


@dataclass(frozen=True)
class PassedOn:
    """Read by something that brings its own properties, such as a transform; nothing is known of it here."""

    to: str


@dataclass(frozen=True)
class WithoutEffect:
    """A known property that nobody reads at this place: why, and what to set instead (empty: nothing would help)."""

    definition: Definition
    why: str
    instead: str


@dataclass(frozen=True)
class OtherOwner:
    """A property of other connectors, or of the workers."""

    definition: Definition
    owners: tuple[Owner, ...]


@dataclass(frozen=True)
class Unknown:
    """Nothing of the kind is known to this Kafka: the nearest key, and the versions that do know it."""

    nearest: str | None
    known_in: tuple[str, ...] = ()


Placement = OwnProperty | ClientProperty | PassedOn | WithoutEffect | OtherOwner | Unknown

#: Prefixes behind which a plugin or a topic has properties of its own.
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


def placement(
    role: Owner,
    key: str,
    version: str,
    *,
    config: Mapping[str, object] = _NOTHING,
    offset_syncs_location: str = "source",
    exactly_once: bool = False,
) -> Placement:
    """What `key` is in the configuration of a connector.

    `config` is the whole configuration that the key stands in: a class of the user's own, or a topic for the
    connector's offsets, makes keys meaningful that are not otherwise. Raises ValueError if `role` is no connector.
    """
    place = Place(role, version, config, offset_syncs_location, exactly_once)
    split = split_prefix(key)
    if split is not None:
        return _client_key(place, *split)
    own = place.defined(role)
    if key in own:
        return _own_key(place, own[key])
    if family := next((words for prefix, words in _FAMILIES.items() if key.startswith(prefix)), None):
        return _topic_creation(place, key) or PassedOn(family)
    if found := _elsewhere(place, key):
        return found
    if readers := _own_plugins(own, config):
        return PassedOn(readers)
    return Unknown(place.nearest_key(key), _known_in(key))


def _own_key(place: Place, definition: Definition) -> Placement:
    if definition.origin is not Origin.CLIENT:
        return OwnProperty(definition)
    return WithoutEffect(
        definition,
        "MirrorMaker's connectors define it but read it nowhere; each of their clients takes it behind a prefix.",
        either(prefix + definition.name for prefix in place.cluster_prefixes()),
    )


def _topic_creation(place: Place, key: str) -> OwnProperty | None:
    _, _, name = key.removeprefix("topic.creation.").partition(".")
    definition = place.defined(Owner.TOPIC_CREATION).get(name)
    return OwnProperty(definition) if definition and key.startswith("topic.creation.") else None


def _elsewhere(place: Place, key: str) -> Placement | None:
    """A bare key that is known, but to another connector, to clients, or to the workers."""
    owners = tuple(role for role in CONNECTORS if key in place.defined(role))
    if owners:
        return OtherOwner(place.defined(owners[0])[key], owners)
    kinds = [kind for kind in CLIENTS if key in place.defined(kind)]
    if kinds:
        return WithoutEffect(
            place.defined(kinds[0])[key],
            "It is a property of Kafka clients; a connector's clients take theirs behind a prefix only.",
            place.instead(kinds, key),
        )
    worker = place.defined(Owner.WORKER).get(key)
    return OtherOwner(worker, (Owner.WORKER,)) if worker else None


def _client_key(place: Place, prefix: str, name: str) -> Placement:
    kinds = CLIENTS if prefix in CLUSTER_PREFIXES else (kind_of(prefix),)
    known = place.defined(Owner.CLUSTER if prefix in CLUSTER_PREFIXES else kinds[0])
    if name not in known:
        return _not_of_this_kind(place, prefix, name, known)
    definition = known[name]
    reached = tuple(client for client in place.clients() if prefix in client.prefixes)
    # Security settings are customarily given to all kinds alike, also where one of them has no client.
    secures = name in place.defined(Owner.CLUSTER)
    present = tuple(client for client in reached if secures or place.has(client))
    if not present:
        why = _absent(place, prefix, reached)
        return WithoutEffect(definition, why, place.instead(kinds, name))
    heeding = tuple(client for client in present if name not in client.fixed)
    if not heeding:
        value = present[0].fixed[name]
        return WithoutEffect(definition, f"Kafka sets `{name}` of this client to `{value}` over whatever is given.", "")
    missed = tuple(
        client
        for client in place.clients()
        if client.kind in kinds and client not in reached and place.has(client) and prefix not in CLUSTER_PREFIXES
    )
    return ClientProperty(definition, heeding, missed)


def _absent(place: Place, prefix: str, reached: tuple[Client, ...]) -> str:
    if reached:
        return f"The only client that `{prefix}` reaches exists only with {reached[0].only_with}."
    return f"A {place.role} connector has no client that takes `{prefix}`."


def _not_of_this_kind(place: Place, prefix: str, name: str, known: Mapping[str, Definition]) -> Placement:
    others = [kind for kind in CLIENTS if name in place.defined(kind)]
    if prefix in CLUSTER_PREFIXES and others:
        why = f"Of `{prefix}` MirrorMaker passes only addresses and security settings on to its clients."
        side = prefix.partition(".")[0]
        instead = place.instead(others, name, side)
        return WithoutEffect(place.defined(others[0])[name], why, instead)
    if others:
        why = f"It is a property of {_plural(others)}; `{prefix}` reaches {_plural([kind_of(prefix)])} only."
        return WithoutEffect(place.defined(others[0])[name], why, place.instead(others, name))
    behind = {key.removeprefix(prefix): value for key, value in place.config.items() if key.startswith(prefix)}
    if readers := _own_plugins(known, behind):
        return PassedOn(readers)
    similar = nearest(name, known)
    return Unknown(prefix + similar if similar else place.nearest_key(prefix + name), _known_in_client(prefix, name))


def _own_plugins(known: Mapping[str, Definition], config: Mapping[str, object]) -> str:
    """Properties that name a class of the user's own: it is given the whole configuration and may read any key."""
    named = [
        f"`{key}`"
        for key, value in config.items()
        if key in known
        and (known[key].type is PropertyType.CLASS or key in _PLUGIN_LISTS)
        and known[key].origin is not Origin.CONNECT
        and any(not each.strip().startswith((_KAFKAS_OWN, "${")) for each in str(value).split(","))
    ]
    return " or ".join(f"the class that {each} names" for each in named)


def _known_in(key: str) -> tuple[str, ...]:
    return tuple(
        version for version in supported_versions() if any(key in definitions(version, role) for role in CONNECTORS)
    )


def _known_in_client(prefix: str, name: str) -> tuple[str, ...]:
    owner = Owner.CLUSTER if prefix in CLUSTER_PREFIXES else kind_of(prefix)
    return tuple(version for version in supported_versions() if name in definitions(version, owner))


def _plural(kinds: Iterable[Owner]) -> str:
    words = {Owner.CONSUMER: "consumers", Owner.PRODUCER: "producers", Owner.ADMIN: "admin clients"}
    return " and ".join(words[kind] for kind in kinds)
