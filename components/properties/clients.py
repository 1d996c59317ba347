"""The Kafka clients of a connector: which prefixes of its configuration reach each one, and which prefix wins.

Imports `definitions` and Kafka's rules only. Source: MirrorConnectorConfig, MirrorSourceConfig, MirrorCheckpointConfig
and MirrorUtils in connect-mirror, and Worker in connect-runtime. They behave the same from Kafka 3.9 to 4.3.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.properties.definitions import (
    CLIENTS,
    CONNECTORS,
    Owner,
    definitions,
    supported_versions,
)

ClientSide = Side | Literal["worker"]

#: Prefixes that address a client in a connector's configuration. A worker's configuration has only those of the second
#: line.
PREFIXES = (
    *("source.cluster.", "target.cluster."),
    *("consumer.", "producer.", "admin."),
    *(f"{side}.{kind}." for side in ("source", "target") for kind in CLIENTS),
    *(f"{kind}.override." for kind in CLIENTS),
)
CLUSTER_PREFIXES = ("source.cluster.", "target.cluster.")

_MIRROR_CONSUMER = {
    "enable.auto.commit": "false",
    "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
}
_MIRROR_PRODUCER = {
    "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
    "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
}


@dataclass(frozen=True)
class Client:
    """A Kafka client that a connector uses.

    `side` is the cluster that the client talks to; "worker" is the cluster of the Connect workers, unless an override
    names another. `prefixes` address the client in the connector's configuration and `worker_prefixes` in the
    worker's, lowest precedence first; every worker prefix ranks below every connector prefix. MirrorMaker or Connect
    sets `defaults`, which users can override, and `fixed`, which they cannot. `only_with` is the condition under which
    the client exists, in Kafka's terms; empty if it always does.
    """

    name: str
    kind: Owner
    side: ClientSide
    prefixes: tuple[str, ...]
    worker_prefixes: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    only_with: str = ""


def _mirror(name: str, kind: Owner, side: Side) -> Client:
    """Return a client that MirrorMaker creates itself. Source: MirrorConnectorConfig.sourceConsumerConfig."""
    return Client(
        name,
        kind,
        side,
        prefixes=(f"{side}.cluster.", f"{kind}.", f"{side}.{kind}."),
        defaults={"auto.offset.reset": "earliest"} if kind is Owner.CONSUMER else {},
        fixed={Owner.CONSUMER: _MIRROR_CONSUMER, Owner.PRODUCER: _MIRROR_PRODUCER}.get(kind, {}),
    )


#: Writes the records that a connector's tasks return. Source: Worker.baseProducerConfigs.
DATA_PRODUCER = Client(
    "data-producer",
    Owner.PRODUCER,
    "worker",
    prefixes=("producer.override.",),
    worker_prefixes=("producer.",),
    defaults={
        **_MIRROR_PRODUCER,
        "max.block.ms": "9223372036854775807",
        "enable.idempotence": "false",
        "acks": "all",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": "2147483647",
    },
)

#: The same client under exactly-once. Source: Worker.exactlyOnceSourceTaskProducerConfigs.
EXACTLY_ONCE_PRODUCER = replace(
    DATA_PRODUCER,
    defaults={key: value for key, value in DATA_PRODUCER.defaults.items() if key != "enable.idempotence"},
    fixed={"enable.idempotence": "true", "transactional.id": "<group.id of the workers>-<connector>-<task>"},
)

#: Reads a source connector's own offsets topic. Source: Worker.baseConsumerConfigs.
OFFSETS_CONSUMER = Client(
    "offsets-consumer",
    Owner.CONSUMER,
    "worker",
    prefixes=("consumer.override.",),
    worker_prefixes=("consumer.",),
    defaults={"enable.auto.commit": "false", "auto.offset.reset": "earliest", "isolation.level": "read_committed"},
    only_with="exactly-once, or with the connector's own `offsets.storage.topic`",
)

#: Creates topics for Connect itself. Source: Worker.adminConfigs, TopicAdmin.
CONNECT_ADMIN = Client(
    "connect-admin",
    Owner.ADMIN,
    "worker",
    prefixes=("admin.override.",),
    worker_prefixes=("", "admin."),
    only_with="exactly-once, or with the connector's own `offsets.storage.topic` or `topic.creation.`",
)

SOURCE_CONSUMER = _mirror("source-consumer", Owner.CONSUMER, "source")
SOURCE_ADMIN = _mirror("source-admin", Owner.ADMIN, "source")
TARGET_ADMIN = _mirror("target-admin", Owner.ADMIN, "target")
CHECKPOINTS_CONSUMER = _mirror("checkpoints-consumer", Owner.CONSUMER, "target")


def clients(role: Owner, offset_syncs_location: str = "source", *, exactly_once: bool = False) -> tuple[Client, ...]:
    """Return every Kafka client of a connector.

    `offset_syncs_location` is "source", "target", or "" without offset syncs. The admin client for the offset-syncs
    topic is left out: it has the same properties as the admin client of its cluster. Raises ValueError if `role` is not
    a connector or the location is unknown.
    """
    connect = (EXACTLY_ONCE_PRODUCER if exactly_once else DATA_PRODUCER, OFFSETS_CONSUMER, CONNECT_ADMIN)
    match role:
        case Owner.SOURCE:
            return (SOURCE_CONSUMER, SOURCE_ADMIN, TARGET_ADMIN, *_offset_syncs(role, offset_syncs_location), *connect)
        case Owner.CHECKPOINT:
            syncs = _offset_syncs(role, offset_syncs_location)
            return (SOURCE_ADMIN, TARGET_ADMIN, *syncs, CHECKPOINTS_CONSUMER, *connect)
        case Owner.HEARTBEAT:
            return (TARGET_ADMIN, *connect)
    raise ValueError(f"`{role}` is not a connector")


def _offset_syncs(role: Owner, location: str) -> tuple[Client, ...]:
    """Return the client of offset syncs: a source connector produces them, a checkpoint connector consumes them."""
    kind = Owner.PRODUCER if role is Owner.SOURCE else Owner.CONSUMER
    if location not in {"source", "target", ""}:
        raise ValueError(f"`{location}` is not a location of offset syncs")
    if location == "":
        return ()
    return (_mirror(f"offset-syncs-{kind}", kind, "source" if location == "source" else "target"),)


def split_prefix(key: str) -> tuple[str, str] | None:
    """Split a connector's key into a client prefix and the client's property, or return None if it has no such prefix.

    `consumer.poll.timeout.ms`, `admin.timeout.ms` and the cluster aliases look prefixed but belong to the connector.
    """
    if key in _own_keys():
        return None
    prefix = max((known for known in PREFIXES if key.startswith(known)), key=len, default=None)
    return (prefix, key.removeprefix(prefix)) if prefix else None


def client_properties(
    client: Client, config: Mapping[str, object], kafka_version: str = ""
) -> dict[str, tuple[object, str]]:
    """Return what a connector's configuration sets for a client: property -> (value, full key that set it).

    MirrorMaker passes only addresses and security settings from a cluster prefix to its clients, and `client.fixed`
    overrides everything. `kafka_version` defaults to the newest known.
    """
    let_through = definitions(kafka_version or supported_versions()[-1], Owner.CLUSTER)
    effective: dict[str, tuple[object, str]] = {}
    for wanted in client.prefixes:
        for key, value in config.items():
            prefix, name = split_prefix(key) or ("", "")
            reaches = prefix == wanted and (wanted not in CLUSTER_PREFIXES or name in let_through)
            if reaches and name not in client.fixed:
                effective[name] = (value, key)
    return effective


def worker_properties(
    client: Client, worker: Mapping[str, object], kafka_version: str = ""
) -> dict[str, tuple[object, str]]:
    """Return what the worker's configuration sets for a client, as `client_properties` does; connector keys win."""
    known = definitions(kafka_version or supported_versions()[-1], client.kind)
    effective: dict[str, tuple[object, str]] = {}
    for prefix in client.worker_prefixes:
        for key, value in worker.items():
            name = key.removeprefix(prefix)
            if key.startswith(prefix) and name in known and name not in client.fixed:
                effective[name] = (value, key)
    return effective


@functools.cache
def _own_keys() -> frozenset[str]:
    newest = supported_versions()[-1]
    return frozenset(key for role in CONNECTORS for key in definitions(newest, role) if key.startswith(PREFIXES))
