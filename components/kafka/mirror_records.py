"""The records that MirrorMaker and Connect write to their own topics, decoded. A record of another format decodes to
None. Numbers are big-endian; a string is an int16 length and UTF-8. Source:
org.apache.kafka.connect.mirror.{Heartbeat,Checkpoint,OffsetSync}, OffsetStorageWriter.
"""

import json
import struct
from typing import NamedTuple

from components.kafka.positions import TopicPartition

_INT16, _INT32, _INT64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


class Heartbeat(NamedTuple):
    """`emitted_ms` is in ms since 1970, by the clock of the worker that emitted it."""

    source: str
    target: str
    emitted_ms: int


class Checkpoint(NamedTuple):
    """A group's offset on the source, and the offset of the remote `partition` that it was translated to."""

    group: str
    partition: TopicPartition
    upstream: int
    downstream: int


class OffsetSync(NamedTuple):
    """The record at `upstream` of the source's `partition` was written to `downstream` on the target."""

    partition: TopicPartition
    upstream: int
    downstream: int


class ConnectOffset(NamedTuple):
    """The offset of the last record of a source partition that a connector replicated; None after a reset."""

    connector: str
    source: str
    partition: TopicPartition
    offset: int | None


def heartbeat(key: bytes | None, value: bytes | None) -> Heartbeat | None:
    try:
        source, at = _string(key or b"", 0)
        target, end = _string(key or b"", at)
        version, emitted_ms = struct.unpack(">hq", value or b"")
    except (struct.error, UnicodeDecodeError):
        return None
    return Heartbeat(source, target, emitted_ms) if end == len(key or b"") and version == 0 else None


def checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint | None:
    key, value = key or b"", value or b""
    try:
        group, at = _string(key, 0)
        topic, at = _string(key, at)
        (partition,) = _INT32.unpack(key[at:])
        version, upstream, downstream = struct.unpack_from(">hqq", value)
        _, end = _string(value, _INT16.size + 2 * _INT64.size)
    except (struct.error, UnicodeDecodeError):
        return None
    formed = version == 0 and end == len(value)
    return Checkpoint(group, TopicPartition(topic, partition), upstream, downstream) if formed else None


def offset_sync(key: bytes | None, value: bytes | None) -> OffsetSync | None:
    key = key or b""
    try:
        topic, at = _string(key, 0)
        (partition,) = _INT32.unpack(key[at:])
        upstream, downstream = struct.unpack(">qq", value or b"")
    except (struct.error, UnicodeDecodeError):
        return None
    return OffsetSync(TopicPartition(topic, partition), upstream, downstream)


def connect_offset(key: bytes | None, value: bytes | None) -> ConnectOffset | None:
    """Decode a record of the workers' offsets topic; also None for records of a checkpoint or heartbeat connector."""
    try:
        connector, where = json.loads(key or b"")
        partition = TopicPartition(str(where["topic"]), int(where["partition"]))
        offset = None if value is None else int(json.loads(value)["offset"])
        return ConnectOffset(str(connector), str(where["cluster"]), partition, offset)
    except (ValueError, KeyError, TypeError):
        return None


def _string(data: bytes, at: int) -> tuple[str, int]:
    """The string at a position, and the position after it."""
    (size,) = _INT16.unpack_from(data, at)
    end = at + _INT16.size + size
    if size < 0 or end > len(data):
        raise struct.error("the string ends after the data")
    return data[at + _INT16.size : end].decode(), end
