"""A record, and what identifies the same one on both clusters: its key, value, headers and timestamp. Pure."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from kafka_replication.components.kafka.positions import TopicPartition

#: Names may repeat, and their order counts; a value may be null.
Headers = Sequence[tuple[str, bytes | None]]

IDENTITY_BYTES = 16
#: The time of a record that has none, in ms since 1970. Connect replicates it with the time of its arrival.
#: Source: AbstractWorkerSourceTask.convertTransformedRecord, ConnectUtils.checkAndConvertTimestamp.
NO_TIMESTAMP = -1
_NULL = b"\xff\xff\xff\xff"


class KafkaRecord(NamedTuple):
    """`time_ms` is the record's timestamp in ms since 1970."""

    partition: TopicPartition
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def header_names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.headers)


class Identified(NamedTuple):
    """A record of a partition, by the identity of its content. `time_ms` is its timestamp in ms since 1970."""

    offset: int
    identity: bytes
    time_ms: int = 0


def identity(key: bytes | None, value: bytes | None, headers: Headers, time_ms: int) -> bytes:
    """Return a digest of IDENTITY_BYTES bytes. Null differs from empty."""
    parts = [_sized(key), _sized(value), time_ms.to_bytes(8, "big", signed=True)]
    for name, content in headers:
        parts += (_sized(name.encode()), _sized(content))
    return blake2b(b"".join(parts), digest_size=IDENTITY_BYTES).digest()


def without_mark(headers: Headers, mark: str) -> Headers:
    """Return the headers that the record had before a loop guard appended its mark.

    The mark is the last header of its name and has no value; one with a value is not the guard's.
    """
    for at in range(len(headers) - 1, -1, -1):
        if headers[at][0] == mark:
            return [*headers[:at], *headers[at + 1 :]] if headers[at][1] is None else headers
    return headers


def _sized(data: bytes | None) -> bytes:
    return _NULL if data is None else len(data).to_bytes(4, "big") + data
