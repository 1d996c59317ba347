"""What a flow loses: the source deletes records that have not crossed, or a log is replaced. Pure.

Kafka deletes whole segments from the start of a log, each when its newest record is older than `retention.ms`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_replication.components.kafka.connectors import BEHIND_SECONDS
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP
from kafka_replication.components.kafka.topic_sync import TopicSetting

#: A warning when this part of the retention is left for the first record that has not crossed.
_NEAR = 1 / 4


class Retention(NamedTuple):
    """How a topic deletes records by itself; None where it does not."""

    ms: int | None
    bytes: int | None

    @classmethod
    def of(cls, settings: Mapping[str, TopicSetting]) -> "Retention":
        """Return the retention in a topic's settings. A topic that is only compacted deletes nothing by age or size."""
        policy = settings["cleanup.policy"].value or ""
        ms, size = (int(settings[name].value or -1) for name in ("retention.ms", "retention.bytes"))
        deletes = "delete" in policy.split(",")
        return cls(ms if deletes and ms >= 0 else None, size if deletes and size >= 0 else None)

    @property
    def lasts(self) -> bool:
        """Return whether a record lives longer than a flow that keeps up takes to commit its offset."""
        return self.bytes is not None or (self.ms or 0) > BEHIND_SECONDS * 1000


class Deletion(NamedTuple):
    """The source deletes the first record that has not crossed at `at_ms` or later; `near` is when to warn."""

    at_ms: int
    near_ms: int


def deletion(oldest_ms: int, retention: Retention) -> Deletion | None:
    """Return when the source deletes a record with this timestamp by age at the earliest; None if it never does.

    Connectors commit their offsets once a minute, so a younger record may have crossed.
    """
    if retention.ms is None or oldest_ms == NO_TIMESTAMP:
        return None
    near = max(round((1 - _NEAR) * retention.ms), BEHIND_SECONDS * 1000)
    return Deletion(oldest_ms + retention.ms, oldest_ms + near)


class Gap(NamedTuple):
    """How many offsets the source deleted before they crossed. They held no more records than that."""

    at_least: int
    at_most: int


def gap(
    source_start: int, position: int, newest: OffsetSync | None, target_end: int | None, retention: Retention
) -> Gap | None:
    """Return what the source has deleted from `position` on; None if it still holds the record there.

    Source offsets after the newest sync have copies after the sync's target offset. If the target's log has fewer
    offsets there, some are missing. `target_end` was read after `source_start`. If records live less than two minutes,
    or only applications delete them, a position that is up to a minute old says nothing for certain.
    """
    if source_start <= position:
        return None
    least, most = 0, source_start - position
    if retention.lasts and newest is not None and target_end is not None and target_end > newest.downstream:
        copied = target_end - newest.downstream - 1
        least = source_start - newest.upstream - 1 - copied
    return Gap(min(max(0, least), most), most)


def passed_over(earlier: OffsetSync, newest: OffsetSync, source_start: int, retention: Retention) -> Gap | None:
    """Return what a flow has skipped because it was too slow: deleted source offsets between an earlier sync and the
    newest one, for which the target has no offsets between the two. If the syncs are further apart than the retention,
    or if size decides, such offsets may be transaction markers that have expired since.
    """
    if retention.bytes is not None or (retention.ms or 0) <= newest.written_ms - earlier.written_ms:
        return None
    copies = newest.downstream - earlier.downstream
    deleted = min(source_start, newest.upstream) - earlier.upstream - 1
    least = min(newest.upstream - earlier.upstream - copies, deleted)
    return Gap(least, deleted) if retention.lasts and copies > 0 and least > 0 else None


class Stop(NamedTuple):
    """The `position` of a connector that stops at a gap, and the source's log, which lacks that offset. Unless this is
    `certain`, the connector may have replicated more than it has stored yet.
    """

    position: int
    log: OffsetRange
    certain: bool


def stops(
    positions: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, OffsetRange],
    gaps: Mapping[TopicPartition, Gap],
) -> dict[TopicPartition, Stop]:
    """Return where connectors have stopped: before the start of a log, or after the end of one that was replaced."""
    return {
        partition: Stop(position, log, position > log.end or (partition in gaps and gaps[partition].at_least > 0))
        for partition, log in logs.items()
        if (position := positions.get(partition, log.start)) < log.start or position > log.end
    }


class Replaced(NamedTuple):
    """Topics that were deleted and created again, and partitions of others whose log is shorter than it was."""

    recreated: tuple[str, ...] = ()
    cut: tuple[TopicPartition, ...] = ()


@dataclass
class LogMemory:
    """What earlier looks saw of one side of a flow: the first id of each topic, how far each log reached, and of the
    source's partitions the newest offset sync, and where connectors may have stopped, since when.
    """

    ids: dict[str, str] = field(default_factory=dict)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    syncs: Mapping[TopicPartition, OffsetSync] = field(default_factory=dict)
    stops: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    def lasting(self, stopped: Mapping[TopicPartition, Stop], now_ms: int) -> dict[TopicPartition, Stop]:
        """Return the stops. One is certain if records wait, and the connector has stored nothing for two minutes."""
        since = {}
        for partition, stop in stopped.items():
            position, at_ms = self.stops.get(partition, (stop.position, now_ms))
            if stop.log.start < stop.log.end:
                since[partition] = stop.position, at_ms if position == stop.position else now_ms
        self.stops = since
        long = {partition for partition, (_, at_ms) in since.items() if now_ms - at_ms > BEHIND_SECONDS * 1000}
        return {at: stop._replace(certain=stop.certain or at in long) for at, stop in stopped.items()}

    def look(
        self,
        ids: Mapping[str, str],
        ends: Mapping[TopicPartition, int],
        proven: Mapping[str, str],
        reached: Mapping[TopicPartition, int],
    ) -> Replaced:
        """Return what was replaced, and remember what is there. `proven` has the ids that a validation has judged,
        which count instead of earlier ones. Every log was at least as long as in `reached`, read before `ends`.
        """
        self.ids |= proven
        recreated = tuple(sorted(topic for topic in ids if self.ids.setdefault(topic, ids[topic]) != ids[topic]))
        cut = []
        for partition, end in sorted(ends.items()):
            key = ids.get(partition.topic, ""), partition.partition
            seen = self.ends.get(key, 0)
            if partition.topic not in recreated and end < max(seen, reached.get(partition, 0)):
                cut.append(partition)
            self.ends[key] = max(seen, end)
        return Replaced(recreated, tuple(cut))
