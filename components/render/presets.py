"""Client settings of each tuning preset, with the reason for each. Imports the model and `config_layers` only.

Two clients decide a flow's rate: the consumer that a source connector creates itself (`source.consumer.`), and the
producer that the worker creates for it (`producer.override.`).
"""

from collections.abc import Mapping

from components.render.config_layers import LayerValue
from components.topology.model import ExactlyOnce, Flow, Preset

_KIB = 1024
_MIB = 1024 * _KIB

#: Every preset keeps the records of a partition in order.
_IN_ORDER = {
    "producer.override.enable.idempotence": LayerValue(
        True,
        "Keeps a partition's order while several requests are in flight; Connect turns it off by default.",
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
            "A fetch returns up to 8 MiB of a partition instead of 1 MiB, so a round trip carries eight times as much.",
        ),
        "source.consumer.fetch.max.bytes": LayerValue(
            64 * _MIB, "Leaves room for the full fetches of eight partitions of a broker; this bounds a task's memory."
        ),
        "source.consumer.fetch.min.bytes": LayerValue(
            64 * _KIB, "The broker answers with at least 64 KiB or after fetch.max.wait.ms, which keeps fetches few."
        ),
        "source.consumer.max.poll.records": LayerValue(
            5000, "A poll returns what a fetch brought; the default of 500 small records is a small part of that."
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
