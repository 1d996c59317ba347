"""How far a flow has replicated, and what a group would read again: bounds from offsets alone. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.kafka.mirror_records import Checkpoint, ConnectOffset, OffsetSync
from components.kafka.positions import OffsetRange, TopicPartition

Syncs = Mapping[TopicPartition, tuple[OffsetSync, ...]]


def latest_offsets(records: Iterable[ConnectOffset], connectors: frozenset[str]) -> dict[TopicPartition, int]:
    """The offset of the last record that any of these connectors reports as replicated, by source partition.

    `records` come in the order of each partition of their topic.
    """
    newest: dict[tuple[str, TopicPartition], int | None] = {}
    for each in records:
        if each.connector in connectors:
            newest[each.connector, each.partition] = each.offset
    found: dict[TopicPartition, int] = {}
    for (_, partition), offset in newest.items():
        if offset is not None:
            found[partition] = max(offset, found.get(partition, offset))
    return found


def syncs_by_partition(records: Iterable[OffsetSync]) -> Syncs:
    """Offset syncs by source partition, in the order in which they were written."""
    found: dict[TopicPartition, list[OffsetSync]] = {}
    for each in records:
        found.setdefault(each.partition, []).append(each)
    return {partition: tuple(syncs) for partition, syncs in found.items()}


def latest_checkpoints(records: Iterable[Checkpoint]) -> dict[tuple[str, TopicPartition], Checkpoint]:
    """The newest checkpoint of each group and remote partition."""
    return {(each.group, each.partition): each for each in records}


def replicated_up_to(
    partitions: Mapping[TopicPartition, OffsetRange], offsets: Mapping[TopicPartition, int], syncs: Syncs
) -> dict[TopicPartition, int]:
    """The source offset below which everything is certainly on the target, by source partition.

    A connector's offset is committed once a minute, and an offset sync is written at most every `offset.lag.max`
    records: both are valid, and the higher one counts. Without either, it is the beginning of the source's log.
    """
    found = {}
    for partition, log in partitions.items():
        known = [offsets[partition] + 1] if partition in offsets else []
        known += [sync.upstream + 1 for sync in syncs.get(partition, ())[-1:]]
        found[partition] = min(max([log.start, *known]), log.end)
    return found


@dataclass(frozen=True)
class GroupPosition:
    """Where a group is in one source partition, and where it would continue. `committed` is its offset on the source.
    `start` is the offset on the target at which it would continue, or None. `target_end` is the end of the remote
    partition.
    """

    committed: int
    start: int | None
    target_end: int | None


def read_again(position: GroupPosition, syncs: tuple[OffsetSync, ...]) -> int | None:
    """At most how many records a group would read again on the target; None if it has no position there.

    These are the records from `start` on that the group has read on the source. The newest sync at or before `start`
    gives their lowest possible source offset. Without a sync, all records from `start` to the end may be among them.
    """
    if position.start is None or position.target_end is None:
        return None
    bounds = [position.target_end - position.start]
    before = [sync for sync in syncs if sync.downstream <= position.start]
    if before:
        sync = max(before, key=lambda each: each.downstream)
        first = sync.upstream + (position.start > sync.downstream)
        bounds.append(position.committed - first)
    return max(0, min(bounds))
