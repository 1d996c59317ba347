"""Readings of both sides for parity: sums of every partition, then the records of those that disagree.

While a flow is live the two sides are never the same at one moment, so that the ends are taken in an order that
explains it: the source's first end S0 (everything before it must arrive), the target's end after waiting for it, and
the source's second end after that, so that no record of the target is unknown to the source for being new; source
records from S0 on may still be on their way and are not judged. S0 is taken when the transactions are over that were
open on the source at first: before that, their records and all behind them are there for no read_committed consumer.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pyspark.sql import DataFrame

from spark import readers, transforms
from spark.checks.beginnings import arrived, known_starts, owed_ends, without_start
from spark.checks.open_transactions import settled, unread
from spark.checks.parity_findings import Difference, Sides
from spark.checks.translation import SyncHistory
from spark.flows import OpenFlow
from spark.guards import SOURCE, TARGET
from spark.positions import OffsetRange, TopicPartition
from spark.waiting import wait_until

#: A target on which nothing moves for so long is taken to be as far as it gets, until the digests say otherwise.
STILL_SECONDS = 3


@dataclass(frozen=True)
class Sums:
    """Count and order-free digest of the compared records of one side of a partition; beside them, not compared:
    records of no concern to the flow for its guard (`aside`), those that have been both ways (`looped`), and times."""

    records: int = 0
    low: int = 0
    high: int = 0
    aside: int = field(default=0, compare=False)
    looped: int = field(default=0, compare=False)
    oldest_ms: int | None = field(default=None, compare=False)
    newest_ms: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class FirstPass:
    """Logs and sums of both sides, by the source's partitions that exist on the target.

    `unread` are offsets behind the end of a source's log that an open transaction kept from being read.
    """

    source_logs: Mapping[TopicPartition, OffsetRange]
    target_logs: Mapping[TopicPartition, OffsetRange]
    source: Mapping[TopicPartition, Sums]
    target: Mapping[TopicPartition, Sums]
    seconds: float
    unread: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)

    @property
    def disagreeing(self) -> list[TopicPartition]:
        return [each for each in self.source_logs if self.source[each] != self.target[each]]

    def dense(self, partition: TopicPartition) -> bool:
        """Whether the source holds a record at each of its offsets: no transaction, nothing compacted away."""
        return self.source[partition].records + self.source[partition].aside == self.source_logs[partition].size

    @property
    def began_ms(self) -> int | None:
        """Time of the oldest record that the target has from the flow, ms since 1970."""
        return min((each.oldest_ms for each in self.target.values() if each.oldest_ms is not None), default=None)

    def total(self, side: str) -> Sums:
        """The counts of all partitions of a side, without digests."""
        sums = (self.source if side == SOURCE else self.target).values()
        return Sums(
            sum(each.records for each in sums),
            aside=sum(each.aside for each in sums),
            looped=sum(each.looped for each in sums),
        )


def first_pass(
    opened: OpenFlow, catch_up_seconds: float, syncs: Mapping[TopicPartition, SyncHistory] = MappingProxyType({})
) -> FirstPass:
    """Wait for the source's open transactions, and for the target as long as it moves; then read both sides of every
    replicated partition once."""
    partitions = opened.replicated_partitions()
    at_source = settled(opened, opened.source, partitions, catch_up_seconds)
    source_logs = at_source.logs
    _wait_while_moving(opened, source_logs, syncs, catch_up_seconds)
    target_logs = _target_logs(opened, partitions)
    records = sum(each.size for each in (*source_logs.values(), *target_logs.values()))
    opened.progress(f"{opened.flow.name}: comparing {len(partitions)} partitions, about {records} records")
    began = time.monotonic()
    frame = transforms.partition_sums(both_sides(opened, source_logs, target_logs))
    found: dict[str, dict[TopicPartition, Sums]] = {
        side: dict.fromkeys(partitions, Sums()) for side in (SOURCE, TARGET)
    }
    for row in readers.rows(frame, _both(opened), "reading the records of both sides"):
        found[row.side][TopicPartition(row.topic, row.partition)] = Sums(
            row.records, row.low, row.high, row.aside, row.looped, row.oldest_ms, row.newest_ms
        )
    seconds = time.monotonic() - began
    return FirstPass(source_logs, target_logs, found[SOURCE], found[TARGET], seconds, at_source.unread)


def both_sides(
    opened: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    target_logs: Mapping[TopicPartition, OffsetRange],
) -> DataFrame:
    """The digests of both sides' records in one frame, read by one job; `target_logs` by source partition."""
    remote = {opened.selection.remote_partition(each): offsets for each, offsets in target_logs.items()}
    source = opened.digests(opened.read(opened.source, source_logs), SOURCE)
    return source.unionByName(opened.digests(opened.read(opened.target, remote), TARGET))


def compared(
    opened: OpenFlow,
    first: FirstPass,
    catch_up_seconds: float,
    syncs: Mapping[TopicPartition, SyncHistory] = MappingProxyType({}),
) -> tuple[list[Difference], dict[TopicPartition, Sides]]:
    """The differences of the disagreeing partitions, and both logs of those after the records were read."""
    partitions = first.disagreeing
    if not partitions:
        return [], {}
    starts = known_starts(opened.flow, partitions, syncs)
    if opened.flow.start_from == "earliest":
        unread_there = _wait_for_the_missing(opened, _owed_by_count(first), catch_up_seconds)
        return _differing(opened, first, starts, unread_there, catch_up_seconds)
    # What is owed after the start cannot be counted, but is what a first comparison shows.
    differences, sides = _differing(opened, first, starts, {}, catch_up_seconds)
    owed = owed_ends(differences, sides)
    if not owed:
        return differences, sides
    unread_there = _wait_for_the_missing(opened, owed, catch_up_seconds)
    return _differing(opened, first, starts, unread_there, 0)


def _differing(
    opened: OpenFlow,
    first: FirstPass,
    starts: Mapping[TopicPartition, int | None],
    target_unread: Mapping[TopicPartition, OffsetRange],
    deadline_seconds: float,
) -> tuple[list[Difference], dict[TopicPartition, Sides]]:
    """One comparison of the partitions of `starts`, record by record."""
    partitions = list(starts)
    target_logs = _target_logs(opened, partitions)
    # A transaction that has outlived one deadline is not given another.
    at_source = settled(opened, opened.source, partitions, 0 if first.unread else deadline_seconds)
    opened.progress(f"{opened.flow.name}: comparing {len(partitions)} partitions record by record")
    judged = opened.spark.createDataFrame(
        [(each.topic, each.partition, first.source_logs[each].end, start) for each, start in starts.items()],
        "topic string, partition int, judged_end bigint, started bigint",
    )
    # Where records may have been aborted: a connector that reads uncommitted ones has replicated them.
    gapped = {each: log for each, log in at_source.logs.items() if not first.dense(each)}
    aborted = opened.digests(opened.read_uncommitted(opened.source, gapped), SOURCE)
    sides_read = both_sides(opened, at_source.logs, target_logs).unionByName(transforms.uncommitted(aborted))
    frame = transforms.differences(transforms.paired(sides_read, opened.flow.start_from == "latest"), judged)
    rows = readers.rows(frame, _both(opened), "comparing records")
    sides = _sides_now(opened, first, partitions, at_source.unread, target_unread)
    found = [
        Difference(
            TopicPartition(row.topic, row.partition),
            row.kind,
            row.records,
            row.first,
            row.last,
            tuple((each.offset, each.time_ms, each.digest) for each in row.samples),
        )
        for row in rows
    ]
    newest = {each: first.source[each].newest_ms for each in partitions}
    return without_start(found, sides, starts, newest, first.began_ms), sides


def _sides_now(
    opened: OpenFlow,
    first: FirstPass,
    partitions: list[TopicPartition],
    source_unread: Mapping[TopicPartition, OffsetRange],
    target_unread: Mapping[TopicPartition, OffsetRange],
) -> dict[TopicPartition, Sides]:
    """Both logs as they are now: where retention removed records while they were read, that is what explains it."""
    source_logs, target_logs = opened.source.offsets(partitions), _target_logs(opened, partitions)
    policies = opened.source.cleanup_policies({each.topic for each in partitions})
    return {
        each: Sides(
            source_logs[each],
            target_logs[each],
            first.source[each].records,
            first.target[each].records,
            "compact" in policies.get(each.topic, ""),
            opened.flow.source.alias,
            opened.flow.target.alias,
            source_unread.get(each),
            target_unread.get(each),
        )
        for each in partitions
    }


def _wait_while_moving(
    opened: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    syncs: Mapping[TopicPartition, SyncHistory],
    deadline_seconds: float,
) -> None:
    """Return when every partition may hold all by its offsets, or when the target has stopped moving."""
    moved = time.monotonic()
    before: Mapping[TopicPartition, OffsetRange] = {}

    def done() -> bool:
        nonlocal before, moved
        now = _target_logs(opened, list(source_logs))
        if now != before:
            before, moved = now, time.monotonic()
        caught_up = all(
            arrived(opened.flow, log, now[each], syncs.get(each, SyncHistory())) for each, log in source_logs.items()
        )
        return caught_up or time.monotonic() - moved >= STILL_SECONDS

    wait_until(done, deadline_seconds)


def _owed_by_count(first: FirstPass) -> dict[TopicPartition, int]:
    """The target's end, by source partition, at which it could hold as many records as the source."""
    return {
        each: first.target_logs[each].end + first.source[each].records - first.target[each].records
        for each in first.disagreeing
        if first.target[each].records < first.source[each].records
    }


def _wait_for_the_missing(
    opened: OpenFlow, owed: Mapping[TopicPartition, int], deadline_seconds: float
) -> dict[TopicPartition, OffsetRange]:
    """Give records that are missing the time to arrive: until the target's ends are the `owed` ones.

    Returns the target's offsets, by the source's partition, that a transaction of that time still keeps from being
    read when the wait is over.
    """
    if not owed:
        return {}
    written = _target_high_watermarks(opened, list(owed))
    opened.progress(
        f"{opened.flow.name}: waiting up to {deadline_seconds:.0f} s for {len(owed)} partitions to catch up"
    )
    moved = time.monotonic()
    before: Mapping[TopicPartition, OffsetRange] = {}

    def caught_up() -> bool:
        nonlocal before, moved
        now = _target_logs(opened, list(owed))
        if now != before:
            before, moved = now, time.monotonic()
        # Behind a guard the target has records of its own, which may be what made it long enough.
        still = opened.flow.guard is None or time.monotonic() - moved >= STILL_SECONDS
        return still and not unread(now, written) and all(now[each].end >= end for each, end in owed.items())

    wait_until(caught_up, deadline_seconds)
    return unread(before, written)


def _target_high_watermarks(opened: OpenFlow, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """The target's high watermarks by the source's partition."""
    remote = opened.selection.remote_partition
    ends = opened.target.high_watermarks([remote(each) for each in partitions])
    return {each: ends[remote(each)] for each in partitions}


def _target_logs(opened: OpenFlow, partitions: list[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    """The target's logs by the source's partition."""
    remote = opened.selection.remote_partition
    logs = opened.target.offsets([remote(each) for each in partitions])
    return {each: logs[remote(each)] for each in partitions}


def _both(opened: OpenFlow) -> str:
    return f"{opened.source.where} and {opened.target.where}"
