"""What a key in the configuration of Connect's workers is, and whether it has an effect there.

Imports `definitions`, `clients`, `place` and `placement` only. Source: DistributedConfig, Worker and the three
Kafka…BackingStore classes of connect-runtime.
"""

from collections.abc import Mapping

from components.properties.clients import (
    CLUSTER_PREFIXES,
    CONNECT_ADMIN,
    DATA_PRODUCER,
    EXACTLY_ONCE_PRODUCER,
    OFFSETS_CONSUMER,
    PREFIXES,
    Client,
)
from components.properties.definitions import (
    CLIENTS,
    CONNECTORS,
    Definition,
    Owner,
    definitions,
    nearest,
    supported_versions,
)
from components.properties.place import either, kind_of
from components.properties.placement import (
    ClientProperty,
    OtherOwner,
    OwnProperty,
    PassedOn,
    Placement,
    Unknown,
    WithoutEffect,
)

#: Clients of the workers' three topics read the whole configuration as it is.
STORAGE_CLIENTS: Mapping[Owner, Client] = {
    kind: Client(f"storage-{kind}", kind, "worker", prefixes=(), worker_prefixes=("",)) for kind in CLIENTS
}

_FAMILIES: Mapping[str, str] = {
    "config.providers.": "a configuration provider",
    "key.converter.": "the key converter",
    "value.converter.": "the value converter",
    "header.converter.": "the header converter",
    "config.storage.": "the topic of configurations",
    "offset.storage.": "the topic of offsets",
    "status.storage.": "the topic of statuses",
    "listeners.https.": "the REST listener",
    "admin.listeners.https.": "the REST listener for administration",
    "metrics.context.": "metrics reporters",
}
_PREFIXED: Mapping[str, Client] = {
    "producer.": DATA_PRODUCER,
    "consumer.": OFFSETS_CONSUMER,
    "admin.": CONNECT_ADMIN,
}


def worker_placement(key: str, version: str, *, exactly_once: bool = False) -> Placement:
    """What `key` is in the configuration of the workers; `exactly_once` says that they write exactly once."""
    own = definitions(version, Owner.WORKER)
    if key in own:
        return OwnProperty(own[key])
    if family := next((words for prefix, words in _FAMILIES.items() if key.startswith(prefix)), None):
        return PassedOn(family)
    connectors = tuple(role for role in CONNECTORS if key in definitions(version, role))
    if connectors:
        return OtherOwner(definitions(version, connectors[0])[key], connectors)
    prefix = max((each for each in PREFIXES if key.startswith(each)), key=len, default="")
    if prefix in _PREFIXED:
        return _client_key(prefix, key.removeprefix(prefix), version, exactly_once)
    if prefix:
        return _of_a_connector(prefix, key.removeprefix(prefix), version)
    kinds = [kind for kind in CLIENTS if key in definitions(version, kind)]
    if kinds:
        missed = (DATA_PRODUCER,) if Owner.PRODUCER in kinds else ()
        return ClientProperty(
            definitions(version, kinds[0])[key], tuple(STORAGE_CLIENTS[kind] for kind in kinds), missed
        )
    known_in = tuple(each for each in supported_versions() if key in definitions(each, Owner.WORKER))
    return Unknown(_nearest(key, version), known_in)


def _client_key(prefix: str, name: str, version: str, exactly_once: bool) -> Placement:
    client = EXACTLY_ONCE_PRODUCER if exactly_once and prefix == "producer." else _PREFIXED[prefix]
    known = definitions(version, client.kind)
    if name not in known:
        others = [kind for kind in CLIENTS if name in definitions(version, kind)]
        if others:
            why = f"`{prefix}` reaches clients of another kind only."
            return WithoutEffect(definitions(version, others[0])[name], why, _instead(others, name))
        similar = nearest(name, known)
        return Unknown(prefix + similar if similar else None)
    if name in client.fixed:
        why = f"Connect sets `{name}` of this client to `{client.fixed[name]}` over whatever is given."
        return WithoutEffect(known[name], why, "")
    # Security settings are customarily given to all three kinds alike.
    if prefix == "consumer." and not exactly_once and name not in definitions(version, Owner.CLUSTER):
        why = f"MirrorMaker's consumers do not read it; the workers' own exists only with {client.only_with}."
        return WithoutEffect(known[name], why, _instead([Owner.CONSUMER], name))
    return ClientProperty(known[name], (client,))


def _instead(kinds: list[Owner], name: str) -> str:
    if kinds == [Owner.CONSUMER]:
        return f"`source.consumer.{name}` on the source connector"
    return either(f"{kind}.{name}" for kind in kinds if kind is not Owner.CONSUMER)


def _of_a_connector(prefix: str, name: str, version: str) -> Placement:
    """A key that would reach a client from a connector's configuration."""
    overrides = prefix.endswith(".override.")
    known: Mapping[str, Definition] = definitions(
        version, Owner.CLUSTER if prefix in CLUSTER_PREFIXES else kind_of(prefix)
    )
    if name not in known:
        similar = nearest(name, known)
        return Unknown(prefix + similar if similar else None)
    instead = [prefix.removesuffix("override.") + name] if overrides else [prefix + name]
    place = "" if overrides else " on the connector"
    return WithoutEffect(known[name], "Only a connector's configuration has this prefix.", either(instead) + place)


def _nearest(key: str, version: str) -> str | None:
    prefixed = {prefix + name for prefix, client in _PREFIXED.items() for name in definitions(version, client.kind)}
    return nearest(key, prefixed | set(definitions(version, Owner.WORKER)))
