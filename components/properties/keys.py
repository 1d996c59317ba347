"""What a key in the configuration of a connector or of Connect's workers means, which clients it reaches, and whether
it has any effect there.

Imports `definitions` and `clients` only. `checks.properties` decides what is a problem.
Source: DistributedConfig, Worker and the three Kafka…BackingStore classes in connect-runtime.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kafka_replication.components.kafka.plugins import below
from kafka_replication.components.properties.clients import (
    CLUSTER_PREFIXES,
    CONNECT_ADMIN,
    DATA_PRODUCER,
    EXACTLY_ONCE_PRODUCER,
    OFFSETS_CONSUMER,
    PREFIXES,
    Client,
    clients,
    split_prefix,
)
from kafka_replication.components.properties.definitions import (
    CLIENTS,
    CONNECTORS,
    Definition,
    Origin,
    Owner,
    PropertyType,
    definitions,
    nearest,
    versions_with,
)

#: The names of the clients of offset syncs begin with this.
_OFFSET_SYNCS = "offset-syncs"


@dataclass(frozen=True)
class ConnectorContext:
    """A connector with its configuration, the version of Kafka it runs in, and what decides which clients it has."""

    role: Owner
    kafka_version: str
    config: Mapping[str, object]
    offset_syncs_location: str
    exactly_once: bool

    def defined(self, owner: Owner) -> Mapping[str, Definition]:
        """Return the definitions of an owner in this version of Kafka, by name."""
        return definitions(self.kafka_version, owner)

    def clients(self) -> tuple[Client, ...]:
        """Return every client that this connector can have; `has` says whether it does."""
        return clients(self.role, self.offset_syncs_location, exactly_once=self.exactly_once)

    def has(self, client: Client) -> bool:
        """Return whether this connector has the client; see `Client.only_with`."""
        if not client.only_with or self.exactly_once or "offsets.storage.topic" in self.config:
            return True
        creates = any(key.startswith("topic.creation.") for key in self.config)
        return client.kind is Owner.ADMIN and creates

    def cluster_prefixes(self) -> list[str]:
        """Return the prefixes of the clusters that this connector has a client for."""
        used = {prefix for client in self.clients() for prefix in client.prefixes}
        return [prefix for prefix in CLUSTER_PREFIXES if prefix in used]

    def instead(self, kinds: Iterable[Owner], name: str, side: str = "") -> str:
        """Return, as prose, the keys that set `name` for clients of these kinds; `side` "" means both sides."""
        if name in self.defined(Owner.CLUSTER):
            return either(prefix + name for prefix in self.cluster_prefixes() if prefix.startswith(side))
        reached = [
            client
            for client in self.clients()
            if client.kind in kinds
            and client.side in {side or client.side, "worker"}
            and self.has(client)
            and name not in client.fixed
        ]
        # Users rarely tune clients of offset syncs, so suggest one only if there is no other client of its kind.
        other_kinds = {client.kind for client in reached if not client.name.startswith(_OFFSET_SYNCS)}
        return either(
            client.prefixes[-1] + name
            for client in reached
            if client.kind not in other_kinds or not client.name.startswith(_OFFSET_SYNCS)
        )

    def nearest_key(self, key: str) -> str | None:
        """Return the key of this connector or its clients that an unknown key most likely stands for, or None."""
        side, _, name = key.partition(".")
        if side in {"source", "target"}:
            for owner, prefix in ((Owner.CLUSTER, "cluster."), *((kind, f"{kind}.") for kind in CLIENTS)):
                whole = f"{side}.{prefix}"
                if name in self.defined(owner) and any(whole in client.prefixes for client in self.clients()):
                    return whole + name
        own = self.defined(self.role).items()
        known = {name for name, definition in own if definition.origin is not Origin.CLIENT}
        return nearest(key, known | self._prefixed_keys())

    def _prefixed_keys(self) -> set[str]:
        return {
            prefix + name
            for client in self.clients()
            for prefix in client.prefixes
            for name in self.defined(Owner.CLUSTER if prefix in CLUSTER_PREFIXES else client.kind)
        }


def owner_of(prefix: str) -> Owner:
    """Return the kind of client that a prefix addresses, or CLUSTER for the prefix of a cluster."""
    return next((kind for kind in CLIENTS if kind in prefix.split(".")), Owner.CLUSTER)


def either(keys: Iterable[str]) -> str:
    """Return keys as prose: "`a`, `b` or `c`"."""
    quoted = [f"`{key}`" for key in dict.fromkeys(keys)]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


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
    """A key read by something that defines its own properties, such as a transform."""


@dataclass(frozen=True)
class WithoutEffect:
    """A known property that nothing reads here: why, and what to set instead (empty if nothing would help)."""

    why: str
    instead: str


@dataclass(frozen=True)
class OtherOwner:
    """A property that belongs to other connectors or to the workers."""

    owners: tuple[Owner, ...]


@dataclass(frozen=True)
class Unknown:
    """A key that this version of Kafka does not know, with the nearest known key and the versions that know it."""

    nearest: str | None
    known_in: tuple[str, ...] = ()


KeyMeaning = OwnProperty | ClientProperty | PassedOn | WithoutEffect | OtherOwner | Unknown

#: Prefixes of properties that a plugin or a topic defines itself.
_FAMILIES = ("key.converter.", "value.converter.", "header.converter.", "config.providers.")
_CONNECTOR_FAMILIES = (*_FAMILIES, "transforms.", "predicates.", "topic.creation.")
_WORKER_FAMILIES = (
    *_FAMILIES,
    *("config.storage.", "offset.storage.", "status.storage."),
    *("listeners.https.", "admin.listeners.https.", "metrics.context."),
)
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
    """Return what `key` means in a connector's `config`, whose plugins and offsets topic give more keys a meaning."""
    context = ConnectorContext(role, version, config, offset_syncs_location, exactly_once)
    split = split_prefix(key)
    if split is not None:
        return _client_key(context, *split)
    own = context.defined(role)
    if key in own:
        return _own_key(context, own[key])
    if key.startswith(_CONNECTOR_FAMILIES):
        return _topic_creation(context, key) or PassedOn()
    if meaning := _elsewhere(context, key):
        return meaning
    if _has_own_plugin(own, config):
        return PassedOn()
    return Unknown(context.nearest_key(key), versions_with(key, *CONNECTORS))


def _own_key(context: ConnectorContext, definition: Definition) -> KeyMeaning:
    if definition.origin is not Origin.CLIENT:
        return OwnProperty(definition)
    return WithoutEffect(
        "MirrorMaker's connectors define it but never read it; their clients take it with a prefix.",
        either(prefix + definition.name for prefix in context.cluster_prefixes()),
    )


def _topic_creation(context: ConnectorContext, key: str) -> OwnProperty | OtherOwner | None:
    if key in context.defined(Owner.WORKER):
        return OtherOwner((Owner.WORKER,))
    _, _, name = key.removeprefix("topic.creation.").partition(".")
    definition = context.defined(Owner.TOPIC_CREATION).get(name)
    return OwnProperty(definition) if definition and key.startswith("topic.creation.") else None


def _elsewhere(context: ConnectorContext, key: str) -> KeyMeaning | None:
    """Return the meaning of a key without a prefix that only another connector, a client or the workers know."""
    if owners := tuple(role for role in CONNECTORS if key in context.defined(role)):
        return OtherOwner(owners)
    if kinds := [kind for kind in CLIENTS if key in context.defined(kind)]:
        why = "It is a property of Kafka clients, and a connector's clients take it only with a prefix."
        return WithoutEffect(why, context.instead(kinds, key))
    return OtherOwner((Owner.WORKER,)) if key in context.defined(Owner.WORKER) else None


def _client_key(context: ConnectorContext, prefix: str, name: str) -> KeyMeaning:
    kinds = CLIENTS if prefix in CLUSTER_PREFIXES else (owner_of(prefix),)
    known = context.defined(owner_of(prefix))
    if name not in known:
        return _not_of_this_kind(context, prefix, name, known)
    reached = tuple(client for client in context.clients() if prefix in client.prefixes)
    # Users commonly set security settings for every kind of client, even if the connector has no such client.
    secures = name in context.defined(Owner.CLUSTER)
    present = tuple(client for client in reached if secures or context.has(client))
    if not present:
        return WithoutEffect(_absent(context, prefix, reached), context.instead(kinds, name))
    heeding = tuple(client for client in present if name not in client.fixed)
    if not heeding:
        return WithoutEffect(f"Kafka always sets `{name}` of this client to `{present[0].fixed[name]}`.", "")
    missed = tuple(
        client
        for client in context.clients()
        if client.kind in kinds and client not in reached and context.has(client) and prefix not in CLUSTER_PREFIXES
    )
    return ClientProperty(known[name], heeding, missed)


def _absent(context: ConnectorContext, prefix: str, reached: tuple[Client, ...]) -> str:
    if reached:
        only = f"`{prefix}` reaches only one client, and this connector has that client only"
        return f"{only} with {reached[0].only_with}."
    return f"A {context.role} connector has no client that takes `{prefix}`."


def _not_of_this_kind(context: ConnectorContext, prefix: str, name: str, known: Mapping[str, Definition]) -> KeyMeaning:
    others = [kind for kind in CLIENTS if name in context.defined(kind)]
    if prefix in CLUSTER_PREFIXES and others:
        why = f"MirrorMaker passes only addresses and security settings from `{prefix}` to its clients."
        return WithoutEffect(why, context.instead(others, name, side=prefix.partition(".")[0]))
    if others:
        why = f"It is a property of {_plural(others)}; `{prefix}` reaches only {_plural([owner_of(prefix)])}."
        return WithoutEffect(why, context.instead(others, name))
    if _has_own_plugin(known, below(prefix, context.config)):
        return PassedOn()
    similar = nearest(name, known)
    known_in = versions_with(name, owner_of(prefix))
    return Unknown(prefix + similar if similar else context.nearest_key(prefix + name), known_in)


def _has_own_plugin(known: Mapping[str, Definition], config: Mapping[str, object]) -> bool:
    """Return whether a configuration names a class of the user's, which receives all of it and may read any key."""
    return any(
        key in known
        and (known[key].type is PropertyType.CLASS or key in _PLUGIN_LISTS)
        and known[key].origin is not Origin.CONNECT
        and any(not entry.strip().startswith((_KAFKAS_OWN, "${")) for entry in str(value).split(","))
        for key, value in config.items()
    )


def _plural(kinds: Iterable[Owner]) -> str:
    words = {Owner.CONSUMER: "consumers", Owner.PRODUCER: "producers", Owner.ADMIN: "admin clients"}
    return " and ".join(words[kind] for kind in kinds)


#: The clients of the workers' three storage topics read the worker's configuration without a prefix.
STORAGE_CLIENTS: Mapping[Owner, Client] = {
    kind: Client(f"storage-{kind}", kind, "worker", prefixes=(), worker_prefixes=("",)) for kind in CLIENTS
}

_WORKER_CLIENTS: Mapping[str, Client] = {
    "producer.": DATA_PRODUCER,
    "consumer.": OFFSETS_CONSUMER,
    "admin.": CONNECT_ADMIN,
}


def worker_key_meaning(key: str, version: str, *, exactly_once: bool = False) -> KeyMeaning:
    """Return what `key` means in the workers' configuration; `exactly_once` is whether they support it."""
    own = definitions(version, Owner.WORKER)
    if key in own:
        return OwnProperty(own[key])
    if key.startswith(_WORKER_FAMILIES):
        return PassedOn()
    if connectors := tuple(role for role in CONNECTORS if key in definitions(version, role)):
        return OtherOwner(connectors)
    prefix = max((known for known in PREFIXES if key.startswith(known)), key=len, default="")
    if prefix in _WORKER_CLIENTS:
        return _worker_client_key(prefix, key.removeprefix(prefix), version, exactly_once)
    if prefix:
        return _of_a_connector(prefix, key.removeprefix(prefix), version)
    if kinds := [kind for kind in CLIENTS if key in definitions(version, kind)]:
        missed = (DATA_PRODUCER,) if Owner.PRODUCER in kinds else ()
        return ClientProperty(
            definitions(version, kinds[0])[key], tuple(STORAGE_CLIENTS[kind] for kind in kinds), missed
        )
    return Unknown(_nearest_worker_key(key, version), versions_with(key, Owner.WORKER))


def _worker_client_key(prefix: str, name: str, version: str, exactly_once: bool) -> KeyMeaning:
    client = EXACTLY_ONCE_PRODUCER if exactly_once and prefix == "producer." else _WORKER_CLIENTS[prefix]
    known = definitions(version, client.kind)
    if name not in known:
        if others := [kind for kind in CLIENTS if name in definitions(version, kind)]:
            return WithoutEffect(f"`{prefix}` reaches only clients of another kind.", _instead(others, name))
        similar = nearest(name, known)
        return Unknown(prefix + similar if similar else None)
    if name in client.fixed:
        return WithoutEffect(f"Connect always sets `{name}` of this client to `{client.fixed[name]}`.", "")
    # Users commonly set security settings for all three kinds of client.
    if prefix == "consumer." and not exactly_once and name not in definitions(version, Owner.CLUSTER):
        why = f"MirrorMaker's consumers do not read it; the workers have a consumer only with {client.only_with}."
        return WithoutEffect(why, _instead([Owner.CONSUMER], name))
    return ClientProperty(known[name], (client,))


def _instead(kinds: list[Owner], name: str) -> str:
    if kinds == [Owner.CONSUMER]:
        return f"`source.consumer.{name}` on the source connector"
    return either(f"{kind}.{name}" for kind in kinds if kind is not Owner.CONSUMER)


def _of_a_connector(prefix: str, name: str, version: str) -> KeyMeaning:
    """Return the meaning of a key that would reach a client only from a connector's configuration."""
    known = definitions(version, owner_of(prefix))
    if name not in known:
        similar = nearest(name, known)
        return Unknown(prefix + similar if similar else None)
    bare = prefix.removesuffix("override.")
    instead = f"`{bare}{name}`" if bare != prefix else f"`{prefix}{name}` on the connector"
    return WithoutEffect("This prefix works only in a connector's configuration.", instead)


def _nearest_worker_key(key: str, version: str) -> str | None:
    prefixed = {
        prefix + name for prefix, client in _WORKER_CLIENTS.items() for name in definitions(version, client.kind)
    }
    return nearest(key, prefixed | set(definitions(version, Owner.WORKER)))
