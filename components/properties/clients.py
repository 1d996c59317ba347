"""The Kafka clients that a connector runs on, the prefixes by which its configuration reaches them, and precedence.

Imports `definitions` only. Source: MirrorConnectorConfig, MirrorSourceConfig, MirrorCheckpointConfig and
MirrorUtils of connect-mirror; Worker of connect-runtime. Kafka 3.9 to 4.3 are alike here.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from components.properties.definitions import CLIENTS, CONNECTORS, Owner, definitions, supported_versions

Side = Literal["source", "target", "worker"]
OffsetSyncsLocation = Literal["source", "target"]

#: A connector's prefixes for properties of clients. Worker's own clients have the first three of the second line.
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
    """A Kafka client that a connector runs on.

    `side` is the cluster it talks to; "worker" is the worker's own cluster, unless an override names another.
    `prefixes` are those of the connector's configuration, lowest first; `worker_prefixes` those of the worker's, all of
    them lower. `defaults` are what MirrorMaker or Connect sets under the user's, `fixed` what it sets over them.
    `only_with` says in Kafka's terms when this client exists, empty if always.
    """

    name: str
    kind: Owner
    side: Side
    prefixes: tuple[str, ...]
    worker_prefixes: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    only_with: str = ""


def _mirror(name: str, kind: Owner, side: OffsetSyncsLocation) -> Client:
    """A client of MirrorMaker's own. Source: MirrorConnectorConfig.sourceConsumerConfig and its five sisters."""
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

#: The same under exactly-once. Source: Worker.exactlyOnceSourceTaskProducerConfigs.
EXACTLY_ONCE_PRODUCER = Client(
    "data-producer",
    Owner.PRODUCER,
    "worker",
    prefixes=DATA_PRODUCER.prefixes,
    worker_prefixes=DATA_PRODUCER.worker_prefixes,
    defaults={key: value for key, value in DATA_PRODUCER.defaults.items() if key != "enable.idempotence"},
    fixed={"enable.idempotence": "true", "transactional.id": "<group.id of the workers>-<connector>-<task>"},
)

#: Reads the offsets topic of one connector. Source: Worker.baseConsumerConfigs and its callers for source connectors.
OFFSETS_CONSUMER = Client(
    "offsets-consumer",
    Owner.CONSUMER,
    "worker",
    prefixes=("consumer.override.",),
    worker_prefixes=("consumer.",),
    defaults={
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    },
    only_with="exactly-once, or `offsets.storage.topic` of the connector",
)

#: Creates topics for Connect itself. Source: Worker.adminConfigs, TopicAdmin.
CONNECT_ADMIN = Client(
    "connect-admin",
    Owner.ADMIN,
    "worker",
    prefixes=("admin.override.",),
    worker_prefixes=("", "admin."),
    only_with="exactly-once, `offsets.storage.topic` or `topic.creation.` of the connector",
)

SOURCE_CONSUMER = _mirror("source-consumer", Owner.CONSUMER, "source")
SOURCE_ADMIN = _mirror("source-admin", Owner.ADMIN, "source")
TARGET_ADMIN = _mirror("target-admin", Owner.ADMIN, "target")
CHECKPOINTS_CONSUMER = _mirror("checkpoints-consumer", Owner.CONSUMER, "target")


def clients(role: Owner, offset_syncs_location: str = "source", *, exactly_once: bool = False) -> tuple[Client, ...]:
    """Every Kafka client of a connector; `offset_syncs_location` is "source" or "target", or "" without offset syncs.

    The admin client that creates or looks up the offset syncs topic has the properties of that side's admin.
    Raises ValueError for what is no connector or no location.
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
    """The source connector's producer, the checkpoint connector's consumer."""
    kind = Owner.PRODUCER if role is Owner.SOURCE else Owner.CONSUMER
    if location not in {"source", "target", ""}:
        raise ValueError(f"`{location}` is no location of offset syncs")
    if location == "":
        return ()
    return (_mirror(f"offset-syncs-{kind}", kind, "source" if location == "source" else "target"),)


def split_prefix(key: str) -> tuple[str, str] | None:
    """A connector's key as a client's prefix and the client's property; None if it has no such prefix.

    `consumer.poll.timeout.ms`, `admin.timeout.ms` and the aliases are the connector's own in spite of their look.
    """
    if key in _own_keys():
        return None
    prefix = max((each for each in PREFIXES if key.startswith(each)), key=len, default=None)
    return (prefix, key.removeprefix(prefix)) if prefix else None


def client_properties(
    client: Client, config: Mapping[str, object], kafka_version: str = ""
) -> dict[str, tuple[object, str]]:
    """The user's properties that reach a client: property -> its value and the whole key that set it.

    Of a cluster prefix MirrorMaker lets only addresses and security settings through; `client.fixed` wins over all.
    Without `kafka_version` the newest is meant.
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
    """The same for the worker's configuration, which is under that of the connector."""
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
