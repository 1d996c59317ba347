"""The settings of each Kafka client of a connector: what each tuning preset sets and why, and the effective settings
with what set them. `components.properties.clients` knows which prefix wins; this adds the layers that the values come
from.

Two clients decide a flow's rate: the consumer that a source connector creates itself (`source.consumer.`), and the
producer that the worker creates for it (`producer.override.`).
"""

import functools
from collections.abc import Iterable, Mapping

from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.properties.clients import (
    CLUSTER_PREFIXES,
    Client,
    client_properties,
    clients,
    worker_properties,
)
from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.components.render.config_layers import EffectiveSetting, Layer, LayerValue, Settings, merged
from kafka_replication.components.topology.model import ExactlyOnce, Flow, Preset

_KIB = 1024
_MIB = 1024 * _KIB

#: Every preset keeps the records of a partition in order.
_IN_ORDER = {
    "producer.override.enable.idempotence": LayerValue(
        True, "Keeps a partition's order while several requests are in flight; Connect turns it off by default."
    ),
    "producer.override.max.in.flight.requests.per.connection": LayerValue(
        5,
        "Connect's default of 1 makes each batch wait until the previous one is acknowledged; 5 is the most that an "
        "idempotent or transactional producer allows.",
    ),
}

_WINDOW = {
    "source.consumer.receive.buffer.bytes": LayerValue(
        -1,
        "The operating system sizes the TCP window by the round trip; Kafka's default of 64 KiB limits a connection to "
        "64 KiB per round trip.",
    )
}

PRESETS: Mapping[Preset, Mapping[str, LayerValue]] = {
    Preset.DEFAULT: {},
    Preset.THROUGHPUT: {
        **_WINDOW,
        "source.consumer.max.partition.fetch.bytes": LayerValue(
            8 * _MIB,
            "A fetch returns up to 8 MiB of a partition instead of 1 MiB, in three round trips of the operating "
            "system's window of 4 MiB.",
        ),
        "source.consumer.fetch.max.bytes": LayerValue(
            64 * _MIB, "Leaves room for the full fetches of eight partitions of a broker; this bounds a task's memory."
        ),
        "source.consumer.fetch.min.bytes": LayerValue(
            64 * _KIB, "The broker answers with at least 64 KiB or after fetch.max.wait.ms, which keeps fetches few."
        ),
        "source.consumer.max.poll.records": LayerValue(
            10_000,
            "A poll returns a whole fetch of 1 kB records; the next fetch waits until the last poll of this one.",
        ),
        **_IN_ORDER,
        "producer.override.batch.size": LayerValue(
            512 * _KIB,
            "A batch holds 512 KiB of a partition instead of 16 KiB, below a broker's default message.max.bytes of "
            "1 MiB.",
        ),
        "producer.override.linger.ms": LayerValue(
            20, "Batches fill for 20 ms, which is short compared to the latency between regions."
        ),
        "producer.override.compression.type": LayerValue(
            "lz4",
            "The consumer decompresses records; without compression here they are sent and stored uncompressed. "
            "lz4 costs the least CPU.",
        ),
        "producer.override.max.request.size": LayerValue(
            4 * _MIB, "A request carries the batches of eight partitions instead of two."
        ),
        "producer.override.buffer.memory": LayerValue(
            64 * _MIB, "Room for 128 batches of a task, so it does not block while requests are in flight."
        ),
        "producer.override.send.buffer.bytes": LayerValue(
            -1, "The operating system sizes the TCP window by the round trip."
        ),
    },
    Preset.LATENCY: {
        **_WINDOW,
        "source.consumer.fetch.min.bytes": LayerValue(1, "The broker answers as soon as there is a record."),
        **_IN_ORDER,
        "producer.override.linger.ms": LayerValue(0, "A record is sent at once; Kafka 4 waits 5 ms by default."),
        "producer.override.compression.type": LayerValue(
            "none", "Compressing would cost more time than it saves on the network."
        ),
    },
}


def preset_settings(flow: Flow, role: str) -> Mapping[str, LayerValue]:
    """Return the settings of a flow's preset for one of its connectors; only source connectors have any."""
    settings = PRESETS[flow.tuning.preset] if role == "source" else {}
    if flow.exactly_once is not ExactlyOnce.ENABLED:
        return settings
    # A transactional producer is always idempotent, and Connect refuses an explicit setting.
    return {key: value for key, value in settings.items() if key != "producer.override.enable.idempotence"}


#: The layer below all others.
KAFKA = "Kafka"


def flow_clients(flow: Flow, role: ConnectorRole) -> tuple[Client, ...]:
    """Return the Kafka clients of one of a flow's connectors."""
    location = flow.offset_syncs.location.value if flow.offset_syncs.enabled else ""
    return clients(Owner(role), location, exactly_once=flow.exactly_once is ExactlyOnce.ENABLED)


def client_settings(
    client: Client, connector: Settings, worker: Settings, kafka_version: str
) -> dict[str, EffectiveSetting]:
    """Return a client's settings without Kafka's defaults. Connectors win over workers, and fixed values over all."""
    setter = "Connect" if client.side == "worker" else "MirrorMaker"
    effective = {
        name: EffectiveSetting(value, "", setter, f"{setter} sets it unless it is configured.")
        for name, value in client.defaults.items()
    }
    for settings, reached_by in ((worker, worker_properties), (connector, client_properties)):
        reached = reached_by(client, {key: setting.value for key, setting in settings.items()}, kafka_version)
        effective |= {name: settings[key] for name, (_, key) in reached.items()}
    fixed = {
        name: EffectiveSetting(value, "", setter, f"{setter} always sets it to this.")
        for name, value in client.fixed.items()
    }
    return effective | fixed


def client_history(
    client: Client, name: str, connector: Iterable[Layer], worker: Iterable[Layer], kafka_version: str
) -> tuple[EffectiveSetting, ...]:
    """Return every setting of one client property, lowest precedence first; the last one is effective."""
    cluster_properties = definitions(kafka_version, Owner.CLUSTER)
    reaching = [prefix for prefix in client.prefixes if prefix not in CLUSTER_PREFIXES or name in cluster_properties]
    configured = [*_settings_in(worker, client.worker_prefixes, name), *_settings_in(connector, reaching, name)]
    if name not in client_settings(client, merged(connector), merged(worker), kafka_version):
        configured = []
    default = _kafka_defaults(client.kind, kafka_version).get(name)
    by_connect = client_settings(client, {}, {}, kafka_version).get(name)
    is_fixed = name in client.fixed
    history = [default, *configured, by_connect] if is_fixed else [default, by_connect, *configured]
    return tuple(setting for setting in history if setting is not None)


def _settings_in(layers: Iterable[Layer], prefixes: Iterable[str], name: str) -> list[EffectiveSetting]:
    return [
        layer.setting(prefix + name) for prefix in prefixes for layer in layers if prefix + name in layer.properties
    ]


def with_defaults(client: Client, settings: Settings, kafka_version: str) -> dict[str, EffectiveSetting]:
    """Return the settings together with Kafka's own defaults for everything that is not set."""
    return {**_kafka_defaults(client.kind, kafka_version), **settings}


@functools.cache
def _kafka_defaults(kind: Owner, kafka_version: str) -> Settings:
    return {
        name: EffectiveSetting(definition.default, "", KAFKA, f"default of Kafka {kafka_version}")
        for name, definition in definitions(kafka_version, kind).items()
        if definition.default is not None and not definition.internal
    }
