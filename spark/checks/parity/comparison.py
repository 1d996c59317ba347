"""Compares the partitions that differ in the first pass record by record, once what is due has arrived."""

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity.causes import (
    at_end,
    by_newest,
    known_starts,
    owed_ends,
    records_sent_again,
    source_was_recreated,
    with_expired,
    with_late,
    without_start,
    without_time_to_continue,
)
from kafka_replication.spark.checks.parity.differences import Difference, Sides
from kafka_replication.spark.checks.parity.evidence import OVERLAP
from kafka_replication.spark.checks.parity.excuses import with_surplus
from kafka_replication.spark.checks.parity.first_pass import (
    STILL_SECONDS,
    FirstPass,
    committed_logs,
    logs_on_target,
    unread,
)
from kafka_replication.spark.checks.parity.sums import both_clusters, both_sides, without_times
from kafka_replication.spark.read import digests, frames
from kafka_replication.spark.read.digests import SOURCE
from kafka_replication.spark.read.flows import OpenFlow
from kafka_replication.spark.read.frames import frame_of
from kafka_replication.spark.read.pairs import (
    REACHED,
    differing_records,
    last_copies,
    newest_by_key,
    out_of_turn,
    paired,
    reordered,
)
from kafka_replication.spark.read.waiting import wait_until


class RecordComparison(NamedTuple):
    """The differences between both sides of some partitions, and both logs of each partition.

    `reached` has an offset of the source, the target offset at which the records before it end, and their number.
    It leaves out partitions without such records. `kinds` are the numbers of differing records as they were found.
    """

    differences: list[Difference]
    sides: dict[TopicPartition, Sides]
    reached: Mapping[TopicPartition, tuple[int, int, int]] = MappingProxyType({})
    kinds: Mapping[TopicPartition, Mapping[str, int]] = MappingProxyType({})


def compared(
    flow: OpenFlow,
    first_pass: FirstPass,
    catch_up_seconds: float,
    syncs: Mapping[TopicPartition, SyncHistory] = MappingProxyType({}),
    recreated: Collection[str] = (),
) -> RecordComparison:
    """Return the comparison of the partitions that disagree, with both their logs afterwards. The syncs were read
    before, so a target log that ends before the newest of them was recreated. `recreated` source topics have another
    id than when they were last validated.
    """
    if not first_pass.disagreeing:
        return RecordComparison([], {})
    comparison = _after_waiting(flow, first_pass, catch_up_seconds, syncs)
    differences, sides = by_newest(comparison.differences, comparison.sides), comparison.sides
    histories = {partition: syncs.get(partition, SyncHistory()) for partition in sides}
    known = {
        partition: replace(
            side,
            written_end=latest.downstream + 1 if (latest := histories[partition].latest) is not None else 0,
            sent_again=records_sent_again(histories[partition]),
            source_anew=side.source_unread is None
            and (partition.topic in recreated or source_was_recreated(histories[partition], side.source)),
        )
        for partition, side in sides.items()
    }
    synced = histories if flow.parameters.offset_syncs.enabled else {}
    differences = with_late(with_expired(differences, known, histories), known, synced)
    return comparison._replace(differences=with_surplus(differences, known, synced), sides=known)


def _after_waiting(
    flow: OpenFlow,
    first_pass: FirstPass,
    catch_up_seconds: float,
    syncs: Mapping[TopicPartition, SyncHistory],
) -> RecordComparison:
    """Return the comparison, once the records that are still due have had time to arrive.

    A block of older records at the end of the target's log looks the same whether a restarted task is still sending,
    or something else wrote it. So it gets the time to catch up, from when it is first seen: a task sends all records
    that follow the block again, and then it is a duplicate. Until they have arrived, the target does end with old
    values, whoever wrote them, so a block that is still there is out of turn. Offset syncs and stored offsets cannot
    replace the wait. They are written late, and the first sync of a restarted task may be dropped.
    """
    partitions = first_pass.disagreeing
    starts = known_starts(flow.parameters, partitions, syncs)
    unread_there: dict[TopicPartition, OffsetRange] = {}
    if flow.parameters.start_from == "earliest":
        unread_there = _wait_for_the_missing(flow, _owed_by_count(first_pass), catch_up_seconds)
        comparison = _differing(flow, first_pass, starts, unread_there, catch_up_seconds)
    else:
        # The number of records due after the start cannot be computed; a first comparison shows it.
        comparison = _differing(flow, first_pass, starts, {}, catch_up_seconds)
        if owed := owed_ends(comparison.differences, comparison.sides):
            unread_there = _wait_for_the_missing(flow, owed, catch_up_seconds)
            comparison = _differing(flow, first_pass, starts, unread_there, 0)
    until = time.monotonic() + catch_up_seconds
    while (owed := owed_ends(at_end(comparison.differences), comparison.sides)) and time.monotonic() < until:
        unread_there |= _wait_for_the_missing(flow, owed, until - time.monotonic())
        comparison = _differing(flow, first_pass, starts, unread_there, catch_up_seconds)
    return comparison._replace(differences=without_time_to_continue(comparison.differences))


def _differing(
    flow: OpenFlow,
    first_pass: FirstPass,
    starts: Mapping[TopicPartition, int | None],
    target_unread: Mapping[TopicPartition, OffsetRange],
    deadline_seconds: float,
) -> RecordComparison:
    """Return one comparison of the partitions of `starts`, record by record."""
    partitions = list(starts)
    target_logs = logs_on_target(flow, partitions)
    # A transaction that was still open at one deadline does not get another.
    at_source = committed_logs(flow, flow.source, partitions, 0 if first_pass.unread else deadline_seconds)
    flow.progress(f"{flow.name}: comparing {numbered(len(partitions), 'partition[|s]')} record by record")
    ends = {partition: first_pass.source_logs[partition].end for partition in partitions}
    proven_ends = {partition: end - OVERLAP for partition, end in ends.items()}
    judged = frame_of(
        flow.spark.session,
        [(*partition, ends[partition], start, proven_ends[partition]) for partition, start in starts.items()],
        "topic string, partition int, judged_end bigint, started bigint, proven_end bigint",
    )
    # Partitions that may hold aborted records: a connector that reads uncommitted records has replicated them.
    gapped = {partition: log for partition, log in at_source.logs.items() if not first_pass.dense(partition)}
    untimed = first_pass.untimed
    aborted = flow.digests(without_times(flow.read(flow.source, gapped, committed=False), untimed), SOURCE)
    sides_read = both_sides(flow, at_source.logs, target_logs, untimed).unionByName(digests.uncommitted(aborted))
    pairs = paired(sides_read, flow.parameters.start_from == "latest").cache()
    try:
        frame = differing_records(pairs, judged).unionByName(reordered(pairs))
        frame = frame.unionByName(out_of_turn(pairs)).unionByName(last_copies(pairs, judged))
        rows = frames.collected_rows(frame, both_clusters(flow), "comparing records")
    finally:
        pairs.unpersist()
    compacted = _compacted(flow, partitions)
    if compacted:
        here, there = ({one: logs[one] for one in compacted} for logs in (at_source.logs, target_logs))
        frame = newest_by_key(both_sides(flow, here, there, untimed), judged)
        rows += frames.collected_rows(frame, both_clusters(flow), "comparing the newest record of each key")
    sides = _sides_now(flow, first_pass, compacted, partitions, at_source.unread, target_unread)
    reached = {
        TopicPartition(row.topic, row.partition): (row.last + 1, row.records) for row in rows if row.kind == REACHED
    }
    differences = [
        Difference(
            TopicPartition(row.topic, row.partition),
            # A filter may have dropped the newest record of the key, which may be the only one that the source still
            # holds.
            "newest-unproven" if flow.parameters.drops and row.kind == "newest-foreign" else row.kind,
            row.records,
            row.first,
            row.last,
            tuple((sample.offset, sample.time_ms, sample.digest) for sample in row.samples),
        )
        for row in rows
        if row.kind != REACHED
    ]
    kinds: dict[TopicPartition, dict[str, int]] = {partition: {} for partition in partitions}
    for difference in differences:
        kinds[difference.partition][difference.kind] = difference.records
    newest = {partition: first_pass.source[partition].newest_ms for partition in partitions}
    differences = without_start(differences, sides, starts, newest, first_pass.began_ms)
    positions = {partition: (proven_ends[partition], *at) for partition, at in reached.items()}
    return RecordComparison(differences, sides, positions, kinds)


def _compacted(flow: OpenFlow, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
    policies = flow.source.cleanup_policies({partition.topic for partition in partitions})
    return {partition for partition in partitions if "compact" in policies.get(partition.topic, "")}


def _sides_now(
    flow: OpenFlow,
    first_pass: FirstPass,
    compacted: Collection[TopicPartition],
    partitions: list[TopicPartition],
    source_unread: Mapping[TopicPartition, OffsetRange],
    target_unread: Mapping[TopicPartition, OffsetRange],
) -> dict[TopicPartition, Sides]:
    """Return both logs as they are now: they show whether retention removed records during the comparison."""
    source_logs, target_logs = flow.source.logs(partitions, committed=True), logs_on_target(flow, partitions)
    return {
        partition: Sides(
            source_logs[partition],
            target_logs[partition],
            first_pass.source[partition].records,
            first_pass.target[partition].records,
            partition in compacted,
            source_unread.get(partition),
            target_unread.get(partition),
            flow.parameters.exactly_once,
            guarded=flow.parameters.guard is not None,
        )
        for partition in partitions
    }


def _owed_by_count(first_pass: FirstPass) -> dict[TopicPartition, int]:
    """Return, by source partition, the target's end offset at which it could hold as many records as the source."""
    return {
        partition: first_pass.target_logs[partition].end
        + first_pass.source[partition].records
        - first_pass.target[partition].records
        for partition in first_pass.disagreeing
        if first_pass.target[partition].records < first_pass.source[partition].records
    }


def _wait_for_the_missing(
    flow: OpenFlow, owed: Mapping[TopicPartition, int], deadline_seconds: float
) -> dict[TopicPartition, OffsetRange]:
    """Give missing records time to arrive: wait until the target has reached the `owed` end offsets.

    Returns, by source partition, the target's offsets that still cannot be read at the end of the wait because of a
    transaction that was open during it.
    """
    if not owed:
        return {}
    remote = flow.policy.remote_partition
    ends = flow.target.ends([remote(partition) for partition in owed])
    written = {partition: ends[remote(partition)] for partition in owed}
    flow.progress(
        f"{flow.name}: waiting up to {deadline_seconds:.0f} s for {numbered(len(owed), 'partition[|s]')} to catch up"
    )
    moved = time.monotonic()
    before: Mapping[TopicPartition, OffsetRange] = {}

    def caught_up() -> bool:
        nonlocal before, moved
        now = logs_on_target(flow, list(owed))
        if now != before:
            before, moved = now, time.monotonic()
        # With a guard the target has records of its own, which may make its log look long enough.
        still = flow.parameters.guard is None or time.monotonic() - moved >= STILL_SECONDS
        return still and not unread(now, written) and all(now[partition].end >= end for partition, end in owed.items())

    wait_until(caught_up, deadline_seconds)
    return unread(before, written)
