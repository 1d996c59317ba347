"""The records that MirrorMaker and Connect write to their own topics, decoded, and the newest of each key.

Everything that reads these topics uses this module, so that an operation and the proof cannot disagree about what they
hold. A record of another format decodes to None. Numbers are big-endian; a string is an int16 length and UTF-8.
Source: org.apache.kafka.connect.mirror.{Heartbeat,Checkpoint,OffsetSync}, OffsetStorageWriter.
"""

import json
import struct
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord

_INT16, _INT32, _INT64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


class Heartbeat(NamedTuple):
    """`emitted_ms` is in ms since 1970, by the clock of the worker that emitted it."""

    source: str
    target: str
    emitted_ms: int


class Checkpoint(NamedTuple):
    """A group's offset on the source, and the offset of the remote partition that MirrorMaker translated it to.

    `written_ms` is when the checkpoint was written, in ms since 1970. `metadata` is what the application has committed
    with its offset on the source.
    """

    upstream: int
    downstream: int
    written_ms: int = 0
    metadata: str = ""


class OffsetSync(NamedTuple):
    """The record at `upstream` on the source was written to `downstream` on the target.

    `written_ms` is when the sync was written, in ms since 1970.
    """

    upstream: int
    downstream: int
    written_ms: int = 0


class ConnectOffset(NamedTuple):
    """The offset of the last record of a source partition that a connector replicated; None after a reset."""

    connector: str
    source: str
    partition: TopicPartition
    offset: int | None


def heartbeat(record: KafkaRecord) -> Heartbeat | None:
    """Decode a heartbeat."""
    key, value = record.key or b"", record.value or b""
    try:
        source, at = _string(key, 0)
        target, end = _string(key, at)
        version, emitted_ms = struct.unpack(">hq", value)
    except (struct.error, UnicodeDecodeError):
        return None
    return Heartbeat(source, target, emitted_ms) if end == len(key) and version == 0 else None


def checkpoint(record: KafkaRecord) -> tuple[str, TopicPartition, Checkpoint] | None:
    """Decode a checkpoint: its group, its remote partition, and its offsets."""
    key, value = record.key or b"", record.value or b""
    try:
        group, at = _string(key, 0)
        topic, at = _string(key, at)
        (partition,) = _INT32.unpack(key[at:])
        version, upstream, downstream = struct.unpack_from(">hqq", value)
        metadata, end = _string(value, _INT16.size + 2 * _INT64.size)
    except (struct.error, UnicodeDecodeError):
        return None
    if version != 0 or end != len(value):
        return None
    return group, TopicPartition(topic, partition), Checkpoint(upstream, downstream, record.time_ms, metadata)


def offset_sync(record: KafkaRecord) -> tuple[TopicPartition, OffsetSync] | None:
    """Decode an offset sync: its partition of the source, and its offsets."""
    key = record.key or b""
    try:
        topic, at = _string(key, 0)
        (partition,) = _INT32.unpack(key[at:])
        upstream, downstream = struct.unpack(">qq", record.value or b"")
    except (struct.error, UnicodeDecodeError):
        return None
    return TopicPartition(topic, partition), OffsetSync(upstream, downstream, record.time_ms)


def connect_offset(record: KafkaRecord) -> ConnectOffset | None:
    """Decode a record of the workers' offsets topic; also None for records of a checkpoint or heartbeat connector."""
    try:
        connector, where = json.loads(record.key or b"")
        partition = TopicPartition(str(where["topic"]), int(where["partition"]))
        offset = None if record.value is None else int(json.loads(record.value)["offset"])
        return ConnectOffset(str(connector), str(where["cluster"]), partition, offset)
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class Checkpoints:
    """The newest checkpoint of each group and remote partition, with the offset of its own record.

    `undecodable` counts the records of the topic that are not checkpoints, and `without_value` the tombstones among
    them. MirrorMaker does not expect a tombstone: a task that reads one at its start loads no checkpoint at all.
    Source: `CheckpointStore.readCheckpoints`.
    """

    newest: Mapping[tuple[str, TopicPartition], tuple[int, Checkpoint]] = field(default_factory=dict)
    undecodable: int = 0
    without_value: int = 0

    def get(self, group: str, partition: TopicPartition) -> Checkpoint | None:
        newest = self.newest.get((group, partition))
        return None if newest is None else newest[1]


def latest_checkpoints(records: Iterable[KafkaRecord], before: Checkpoints | None = None) -> Checkpoints:
    """Return the newest checkpoint of each group and remote partition, even if its offsets are lower: a checkpoint
    follows a group that was reset. `before` has the checkpoints of earlier records.
    """
    known = before or Checkpoints()
    newest, undecodable, without_value = dict(known.newest), known.undecodable, known.without_value
    for record in records:
        decoded = checkpoint(record)
        if decoded is None:
            undecodable += 1
            without_value += record.value is None
            continue
        group, partition, offsets = decoded
        at, _ = newest.get((group, partition), (record.offset, offsets))
        if record.offset >= at:
            newest[group, partition] = record.offset, offsets
    return Checkpoints(newest, undecodable, without_value)


def stored_offsets(records: Iterable[KafkaRecord], source_alias: str) -> dict[tuple[str, TopicPartition], int | None]:
    """Return the newest offset that each connector has stored for each partition of a source; None after a reset.

    A connector whose source was renamed still has the offsets of the old alias, which its tasks no longer use. Offsets
    may be in several partitions of the topic, if it has ever been extended. These have no common order, so the highest
    offset counts.
    """
    newest: dict[tuple[str, TopicPartition, int], int | None] = {}
    for record in records:
        stored = connect_offset(record)
        if stored is not None and stored.source == source_alias:
            newest[stored.connector, stored.partition, record.partition.partition] = stored.offset
    highest: dict[tuple[str, TopicPartition], int | None] = {}
    for (connector, partition, _), offset in newest.items():
        before = highest.get((connector, partition))
        highest[connector, partition] = offset if before is None else max(before, before if offset is None else offset)
    return highest


def replicated_offsets(
    records: Iterable[KafkaRecord], connectors: Collection[str], source_alias: str
) -> dict[TopicPartition, int]:
    """Return the offset of the last record of each source partition that any of these connectors reports as replicated.

    A partition whose offset was reset is left out.
    """
    furthest: dict[TopicPartition, int] = {}
    for (connector, partition), offset in stored_offsets(records, source_alias).items():
        if connector in connectors and offset is not None:
            furthest[partition] = max(offset, furthest.get(partition, offset))
    return furthest


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return the string at a position, and the position after it."""
    (size,) = _INT16.unpack_from(data, at)
    end = at + _INT16.size + size
    if size < 0 or end > len(data):
        raise struct.error("the string ends after the data")
    return data[at + _INT16.size : end].decode(), end
