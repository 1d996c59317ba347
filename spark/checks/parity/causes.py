"""What explains differences between two sides: where a flow with `startFrom: latest` started, a recreated topic,
records that were changed on the way or sent again.

Neither cluster stores where a flow started. But a record that both sides hold, or an offset sync, proves that its
partition was replicated at that offset. Records before the earliest such offset may be older than the start; all
records after it must be on the target. A partition that was never replicated shows no start. Its records are older than
the start if they are older than everything that the flow has replicated; otherwise they cannot be distinguished from
lost records.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.offset_syncs import SyncHistory, skipped_offsets
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity.differences import (
    COPIED_AT_END,
    NEWEST,
    NOT_BEGUN,
    OUT_OF_TURN,
    UNPROVEN,
    Difference,
    Sides,
)


def source_was_recreated(history: SyncHistory, log: OffsetRange) -> bool:
    """Return whether a source log cannot be the one from which records were replicated, because it ends before an
    offset that was replicated. The syncs were read before the log.

    Timestamps show nothing: a producer sets them, and its clock may differ by any time.
    """
    return any(sync.upstream >= log.end for sync in history.syncs)


def with_expired(
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
    syncs: Mapping[TopicPartition, SyncHistory],
) -> list[Difference]:
    """Return `differences`, where surplus records count as expired on the source if the flow wrote them from offsets
    that the source no longer holds. After a restart they come after records that it still holds.
    """

    def expired(difference: Difference) -> bool:
        history, start = syncs.get(difference.partition, SyncHistory()), sides[difference.partition].source.start
        guesses = [history.guess(difference.first), history.guess(difference.last)]
        return difference.kind == "extra" and all(guess is not None and guess.offset < start for guess in guesses)

    return [difference._replace(kind="extra-head") if expired(difference) else difference for difference in differences]


def with_late(
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
    syncs: Mapping[TopicPartition, SyncHistory],
) -> list[Difference]:
    """Return `differences`, where records that the flow has not read yet are late, and have not expired on a target
    whose log is empty. After the newest offset sync, each record takes one offset on both sides; without a sync, the
    flow has replicated nothing. `syncs` lacks the partitions of a flow that writes none.
    """
    result: list[Difference] = []
    for difference in differences:
        history, target = syncs.get(difference.partition), sides[difference.partition].target
        latest = history.latest if history is not None else None
        if (
            difference.kind != "missing"
            or history is None
            or target.size
            or (latest and target.end <= latest.downstream)
        ):
            result.append(difference)
            continue
        first_late = (
            difference.first
            if latest is None
            else max(difference.first, latest.upstream + target.end - latest.downstream)
        )
        late = min(difference.records, max(0, difference.last + 1 - first_late))
        if late:
            result.append(difference._replace(kind="missing-tail", records=late, first=first_late))
        if late < difference.records:
            result.append(
                difference._replace(records=difference.records - late, last=min(difference.last, first_late - 1))
            )
    return result


def by_newest(differences: Sequence[Difference], sides: Mapping[TopicPartition, Sides]) -> list[Difference]:
    """Return `differences`, where the newest record of each key decides what is missing from the target of a compacted
    topic.

    Compaction removes copies, so it explains blocks that are out of turn. If all keys agree, the target has removed
    what it lacks at the end, such as old tombstones. Otherwise records that are still due explain the differences in
    their keys.
    """
    newest = grouped((difference.partition, difference) for difference in differences if difference.kind in NEWEST)
    result: list[Difference] = []
    explained: set[Difference] = set()
    for difference in differences:
        side, keys = sides[difference.partition], newest.get(difference.partition, [])
        if side.compacted and difference.kind == OUT_OF_TURN:
            continue
        if not side.compacted or difference.kind not in ("missing", "missing-tail"):
            result.append(difference)
        elif not keys or (difference.kind == "missing" and side.target.size and not _are_outdated(keys, side)):
            result.append(difference._replace(kind="missing-hole"))
        else:
            result.append(difference)
            explained |= {key for key in keys if difference.kind == "missing" or _is_due(key, difference)}
    return [difference for difference in result if difference not in explained]


def _is_due(key: Difference, tail: Difference) -> bool:
    """Return whether the records that are due explain the key. The source holds no record of a foreign key."""
    return key.kind != "newest-foreign" and key.first >= tail.first


def _are_outdated(keys: Iterable[Difference], side: Sides) -> bool:
    """Return whether the target has an older value of any key, and not one from offsets that the job could not read."""
    return side.source_unread is None and any(key.kind == "newest-outdated" for key in keys)


def records_sent_again(history: SyncHistory) -> list[int]:
    """Return how many records the flow sent again each time it went back to an offset that it had already replicated,
    as a restarted task does: the target then advances further than the source.
    """
    advanced = itertools.starmap(skipped_offsets, itertools.pairwise(history.syncs))
    return [-records for records in advanced if records < 0]


def known_starts(
    flow: FlowParameters, partitions: Iterable[TopicPartition], syncs: Mapping[TopicPartition, SyncHistory]
) -> dict[TopicPartition, int | None]:
    """Return the source offset from which every record must be on the target; None if only the records can show it."""
    if flow.start_from == "earliest":
        return dict.fromkeys(partitions, 0)
    histories = {partition: syncs.get(partition, SyncHistory()) for partition in partitions}
    return {partition: history.oldest_upstream if history.latest else None for partition, history in histories.items()}


def arrived(flow: FlowParameters, source: OffsetRange, target: OffsetRange, history: SyncHistory) -> bool:
    """Return whether the target may be complete, by its size or, in a flow that starts at latest, its syncs."""
    if flow.start_from == "earliest":
        return target.size >= source.size
    sync = history.latest
    return sync is None or target.end >= sync.downstream + source.end - sync.upstream


def without_start(
    differences: Sequence[Difference],
    sides: Mapping[TopicPartition, Sides],
    starts: Mapping[TopicPartition, int | None],
    newest_ms: Mapping[TopicPartition, int | None],
    began_ms: int | None,
) -> list[Difference]:
    """Return `differences`, with another kind for partitions that were never replicated.

    `newest_ms` is the time of a partition's newest source record. `began_ms` is the time of the oldest record that the
    flow has brought to the target; None if it has brought none.
    """

    def renamed(difference: Difference) -> Difference:
        side = sides[difference.partition]
        expired = side.target.start > 0 and not side.target.size
        if difference.kind != "missing" or starts[difference.partition] is not None or side.target_records or expired:
            return difference
        newest = newest_ms[difference.partition]
        older = began_ms is not None and newest is not None and newest < began_ms
        return difference._replace(kind=NOT_BEGUN if older else UNPROVEN)

    return [renamed(difference) for difference in differences]


def owed_ends(differences: Iterable[Difference], sides: Mapping[TopicPartition, Sides]) -> dict[TopicPartition, int]:
    """Return, by source partition, the target's end offset at which the records that are missing, or that a restarted
    task sends again, could have arrived.
    """
    owed: dict[TopicPartition, int] = {}
    for difference in differences:
        if difference.kind == COPIED_AT_END or difference.kind.startswith("missing"):
            records = difference.records
        elif difference.kind == UNPROVEN:
            # In a partition without a known start, a single record may be all that ever arrives.
            records = 1
        else:
            continue
        owed[difference.partition] = owed.get(difference.partition, sides[difference.partition].target.end) + records
    return owed


def at_end(differences: Iterable[Difference]) -> list[Difference]:
    """Return the blocks at the end of the target's log after which a restarted task may still send other records."""
    return [difference for difference in differences if difference.kind == COPIED_AT_END]


def without_time_to_continue(differences: Sequence[Difference]) -> list[Difference]:
    """Return `differences`, after the time that a restarted task has to continue: a block at the end is out of turn,
    too.
    """
    blocks = {difference: difference._replace(kind=OUT_OF_TURN, records=1) for difference in at_end(differences)}
    return [blocks.get(difference, difference) for difference in differences]
