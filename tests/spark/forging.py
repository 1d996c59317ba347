"""MirrorMaker 2's records, written in its binary formats, so that a test decides what a broker holds."""

import struct
from typing import Self

from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord

_INTERNAL = TopicPartition("internal", 0)


class Written(KafkaRecord):
    """A record of one of MirrorMaker's own topics, as a client returns it."""

    def __new__(
        cls,
        key: bytes | None,
        value: bytes | None,
        offset: int = 0,
        time_ms: int = 0,
        partition: TopicPartition = _INTERNAL,
    ) -> Self:
        return super().__new__(cls, partition, offset, time_ms, key, value, ())


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def heartbeat_key(source: str, target: str) -> bytes:
    return string(source) + string(target)


def heartbeat_value(emitted_ms: int, version: int = 0) -> bytes:
    return struct.pack(">hq", version, emitted_ms)


def checkpoint_key(group: str, topic: str, partition: int) -> bytes:
    return string(group) + string(topic) + struct.pack(">i", partition)


def checkpoint_value(upstream: int, downstream: int, metadata: str = "", version: int = 0) -> bytes:
    return struct.pack(">hqq", version, upstream, downstream) + string(metadata)


def offset_sync_key(topic: str, partition: int) -> bytes:
    return string(topic) + struct.pack(">i", partition)


def offset_sync_value(upstream: int, downstream: int) -> bytes:
    return struct.pack(">qq", upstream, downstream)


def written(*pairs: tuple[bytes | None, bytes | None]) -> list[Written]:
    """The records of one partition, in order."""
    return [Written(key, value, offset) for offset, (key, value) in enumerate(pairs)]
