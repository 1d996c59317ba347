"""What a key in the configuration of Connect's workers means, and whether it has any effect there.

Imports `definitions`, `clients`, `connector_context` and `connector_keys` only. Source: DistributedConfig, Worker and
the three Kafka…BackingStore classes in connect-runtime.
"""

from collections.abc import Mapping

from components.properties.clients import (
    CONNECT_ADMIN,
    DATA_PRODUCER,
    EXACTLY_ONCE_PRODUCER,
    OFFSETS_CONSUMER,
    PREFIXES,
    Client,
)
from components.properties.connector_context import either, owner_of
from components.properties.connector_keys import (
    ClientProperty,
    KeyMeaning,
    OtherOwner,
    OwnProperty,
    PassedOn,
    Unknown,
    WithoutEffect,
)
from components.properties.definitions import CLIENTS, CONNECTORS, Owner, definitions, nearest, versions_with

#: The clients of the workers' three storage topics read the worker's configuration without a prefix.
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


def worker_key_meaning(key: str, version: str, *, exactly_once: bool = False) -> KeyMeaning:
    """Return what `key` means in the workers' configuration; `exactly_once` is whether they support it."""
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
    return Unknown(_nearest(key, version), versions_with(key, Owner.WORKER))


def _client_key(prefix: str, name: str, version: str, exactly_once: bool) -> KeyMeaning:
    client = EXACTLY_ONCE_PRODUCER if exactly_once and prefix == "producer." else _PREFIXED[prefix]
    known = definitions(version, client.kind)
    if name not in known:
        others = [kind for kind in CLIENTS if name in definitions(version, kind)]
        if others:
            why = f"`{prefix}` reaches only clients of another kind."
            return WithoutEffect(definitions(version, others[0])[name], why, _instead(others, name))
        similar = nearest(name, known)
        return Unknown(prefix + similar if similar else None)
    if name in client.fixed:
        why = f"Connect always sets `{name}` of this client to `{client.fixed[name]}`."
        return WithoutEffect(known[name], why, "")
    # Users commonly set security settings for all three kinds of client.
    if prefix == "consumer." and not exactly_once and name not in definitions(version, Owner.CLUSTER):
        why = f"MirrorMaker's consumers do not read it; the workers have a consumer only with {client.only_with}."
        return WithoutEffect(known[name], why, _instead([Owner.CONSUMER], name))
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
    return WithoutEffect(known[name], "This prefix works only in a connector's configuration.", instead)


def _nearest(key: str, version: str) -> str | None:
    prefixed = {prefix + name for prefix, client in _PREFIXED.items() for name in definitions(version, client.kind)}
    return nearest(key, prefixed | set(definitions(version, Owner.WORKER)))
