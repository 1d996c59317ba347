"""Client settings of each tuning preset, with the reason for each. Imports the model and the form of a layer.

Two clients decide a flow's rate: the consumer that a source connector makes for itself (`source.consumer.`), and the
producer that the worker makes for it (`producer.override.`).
"""

from collections.abc import Mapping

from components.model import ExactlyOnce, Flow, Preset
from components.specs.layers import Given

_KIB = 1024
_MIB = 1024 * _KIB

#: Whatever is tuned, records of a partition stay in order.
_IN_ORDER = {
    "producer.override.enable.idempotence": Given(
        True,
        "Keeps a partition's order while several requests are in flight; Connect turns it off unless it is asked for.",
    ),
    "producer.override.max.in.flight.requests.per.connection": Given(
        5,
        "Connect's default is 1, so that each batch waits for the last one's acknowledgement; 5 is the most that an "
        "idempotent or transactional producer takes.",
    ),
}

_WINDOW = {
    "source.consumer.receive.buffer.bytes": Given(
        -1,
        "The operating system sizes the window by the round trip; Kafka's 64 KiB holds a connection to 64 KiB a "
        "round trip.",
    )
}

PRESETS: Mapping[Preset, Mapping[str, Given]] = {
    Preset.DEFAULT: {},
    Preset.THROUGHPUT: {
        **_WINDOW,
        "source.consumer.max.partition.fetch.bytes": Given(
            8 * _MIB,
            "A fetch brings up to 8 MiB of a partition instead of 1 MiB, so that a round trip carries eight times as "
            "much.",
        ),
        "source.consumer.fetch.max.bytes": Given(
            64 * _MIB, "Eight partitions of a broker can fill their share of one fetch; this bounds a task's memory."
        ),
        "source.consumer.fetch.min.bytes": Given(
            64 * _KIB, "The broker answers with at least 64 KiB or after fetch.max.wait.ms, so that fetches are few."
        ),
        "source.consumer.max.poll.records": Given(
            5000, "A poll hands on what a fetch brought; 500 small records are a small part of it."
        ),
        **_IN_ORDER,
        "producer.override.batch.size": Given(
            512 * _KIB,
            "A batch holds 512 KiB of a partition instead of 16 KiB, and stays below a broker's message.max.bytes of "
            "1 MiB.",
        ),
        "producer.override.linger.ms": Given(20, "Batches fill for 20 ms, little beside the way between regions."),
        "producer.override.compression.type": Given(
            "lz4",
            "Records were decompressed when they were read; without it they travel and are stored as they are now. "
            "lz4 costs least CPU for it.",
        ),
        "producer.override.max.request.size": Given(
            4 * _MIB, "A request carries the batches of eight partitions instead of two."
        ),
        "producer.override.buffer.memory": Given(
            64 * _MIB, "Room for 128 batches of a task, so that it does not block while requests are in flight."
        ),
        "producer.override.send.buffer.bytes": Given(-1, "The operating system sizes the window by the round trip."),
    },
    Preset.LATENCY: {
        **_WINDOW,
        "source.consumer.fetch.min.bytes": Given(1, "The broker answers as soon as there is a record."),
        **_IN_ORDER,
        "producer.override.linger.ms": Given(0, "A record is sent at once; Kafka 4's default waits for 5 ms."),
        "producer.override.compression.type": Given("none", "A record is not held up for what it saves on the way."),
    },
}


def preset_settings(flow: Flow, role: str) -> Mapping[str, Given]:
    """Settings of a flow's preset for one of its connectors; only a source connector moves records that need them."""
    settings = PRESETS[flow.tuning.preset] if role == "source" else {}
    if flow.exactly_once is not ExactlyOnce.ENABLED:
        return settings
    # A transactional producer is idempotent; Connect lets nobody say so or otherwise.
    return {key: given for key, given in settings.items() if key != "producer.override.enable.idempotence"}
