"""The first pass of parity: counts and sums of every partition on both sides.

While a flow is running, the two sides are never equal at the same moment. So their ends are read in this order:

1. The source's first end. All records before it must arrive. It is read once the transactions that were open at first
   have ended, because until then no read_committed consumer can read their records, nor any record after them.
2. The target's end, after waiting for those records.
3. The source's second end. The source is read up to there, but to no more offsets than the target's log has: then both
   sides are equal although producers write, and nothing has to be compared record by record.

Source records after the first end may still be on their way: that they are missing is not judged.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pyspark.sql import DataFrame

from components.contract.wording import numbered
from components.kafka.positions import OffsetRange, TopicPartition
from spark import readers, transforms
from spark.checks.beginnings import arrived
from spark.checks.open_transactions import settled
from spark.checks.translation import SyncHistory
from spark.estimates import estimates
from spark.flows import OpenFlow
from spark.guards import SOURCE, TARGET
from spark.transforms import PLACED_MODULUS
from spark.waiting import wait_until

#: If nothing moves on the target for this long, it counts as caught up until the digests show otherwise.
STILL_SECONDS = 3


@dataclass(frozen=True)
class Sums:
    """Count and order-free digest of the compared records of one side of a partition.

    `low_placed` and `high_placed` are sums of each record's digest times its offset, modulo PLACED_MODULUS; `first` is
    the offset of the first record. The other fields are not compared: records that the guard sets `aside` and their
    digest, records that carry both marks (`looped`) or that a filter drops (`filtered`), and times.
    """

    records: int = 0
    low: int = 0
    high: int = 0
    aside: int = field(default=0, compare=False)
    looped: int = field(default=0, compare=False)
    oldest_ms: int | None = field(default=None, compare=False)
    newest_ms: int | None = field(default=None, compare=False)
    low_placed: int = field(default=0, compare=False)
    high_placed: int = field(default=0, compare=False)
    first: int | None = field(default=None, compare=False)
    low_aside: int = field(default=0, compare=False)
    high_aside: int = field(default=0, compare=False)
    filtered: int = field(default=0, compare=False)


def same_places(source: Sums, target: Sums) -> bool:
    """Whether equal records stand at the same distances on both sides, so that their order is the same.

    If each record of the target is `shift` offsets further on, the sum of digest times offset differs by `shift` times
    the sum of the digests. Markers and records sent again change the distances, and then this is False.
    """
    if source.first is None or target.first is None:
        return True
    shift = target.first - source.first
    pairs = ((source.low, source.low_placed, target.low_placed), (source.high, source.high_placed, target.high_placed))
    return all((placed + shift * digests - there) % PLACED_MODULUS == 0 for digests, placed, there in pairs)


@dataclass(frozen=True)
class FirstPass:
    """Logs and sums of both sides, by source partition, for the partitions that exist on the target.

    `source_logs` end at the source's first end. `source_read` are the offsets whose records `source` sums up, where
    they are more. `unread` are offsets after the end of a source log that could not be read because of an open
    transaction.
    """

    source_logs: Mapping[TopicPartition, OffsetRange]
    target_logs: Mapping[TopicPartition, OffsetRange]
    source: Mapping[TopicPartition, Sums]
    target: Mapping[TopicPartition, Sums]
    seconds: float
    unread: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    source_read: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)

    @property
    def disagreeing(self) -> list[TopicPartition]:
        """The partitions that a comparison record by record must judge: they differ, or may be in another order."""
        return [
            each
            for each in self.source_logs
            if self.source[each] != self.target[each] or not same_places(self.source[each], self.target[each])
        ]

    @property
    def with_other_marks(self) -> list[TopicPartition]:
        """The partitions in which a record may carry a mark that no guard appended: what came from the target differs
        from what the target wrote, or a record carries both marks."""
        found = []
        for each, here in self.source.items():
            there = self.target[each]
            came, wrote = ((at.aside, at.low_aside, at.high_aside) for at in (here, there))
            if (here.aside and came != wrote) or there.looped:
                found.append(each)
        return found

    def dense(self, partition: TopicPartition) -> bool:
        """Whether the source holds a record at each of its offsets: no transactions, nothing compacted."""
        log = self.source_read.get(partition, self.source_logs[partition])
        return self.source[partition].records + self.source[partition].aside == log.size

    @property
    def began_ms(self) -> int | None:
        """Time of the oldest record that the flow has brought to the target, in ms since 1970."""
        return min((each.oldest_ms for each in self.target.values() if each.oldest_ms is not None), default=None)

    def total(self, side: str) -> Sums:
        """The counts of all partitions of a side, without digests."""
        sums = (self.source if side == SOURCE else self.target).values()
        return Sums(
            sum(each.records for each in sums),
            aside=sum(each.aside for each in sums),
            looped=sum(each.looped for each in sums),
            filtered=sum(each.filtered for each in sums),
        )


def read_first_pass(
    flow: OpenFlow, catch_up_seconds: float, syncs: Mapping[TopicPartition, SyncHistory] = MappingProxyType({})
) -> FirstPass:
    """Wait for the source's open transactions to end and for the target to stop moving, then read both sides of every
    replicated partition once."""
    partitions = flow.replicated_partitions()
    at_source = settled(flow, flow.source, partitions, catch_up_seconds)
    source_logs = at_source.logs
    wait_while_moving(flow, source_logs, syncs, catch_up_seconds)
    target_logs = logs_on_target(flow, partitions)
    read = {**source_logs, **_read_further(flow, source_logs, target_logs)}
    records = sum(each.size for each in (*read.values(), *target_logs.values()))
    flow.progress(
        f"{flow.name}: comparing {numbered(len(partitions), 'partition[|s]')}, about {numbered(records, 'record[|s]')}"
    )
    began = time.monotonic()
    frame = transforms.partition_sums(both_sides(flow, read, target_logs))
    found: dict[str, dict[TopicPartition, Sums]] = {
        side: dict.fromkeys(partitions, Sums()) for side in (SOURCE, TARGET)
    }
    with estimates(flow.spark, flow.progress, f"{flow.name}: comparing {numbered(len(partitions), 'partition[|s]')}"):
        rows = readers.rows(frame, both_clusters(flow), "reading the records of both sides")
    for row in rows:
        found[row.side][TopicPartition(row.topic, row.partition)] = Sums(
            row.records,
            row.low,
            row.high,
            row.aside,
            row.looped,
            row.oldest_ms,
            row.newest_ms,
            row.low_placed,
            row.high_placed,
            row.first,
            row.low_aside,
            row.high_aside,
            row.filtered,
        )
    seconds = time.monotonic() - began
    return FirstPass(source_logs, target_logs, found[SOURCE], found[TARGET], seconds, at_source.unread, read)


def _read_further(
    flow: OpenFlow, source_logs: Mapping[TopicPartition, OffsetRange], target_logs: Mapping[TopicPartition, OffsetRange]
) -> dict[TopicPartition, OffsetRange]:
    """The source logs of partitions whose target is longer, with as many offsets as it has, if the source has them.

    The length of a target says nothing in a guarded flow, which has records of its own there, and in an exactly-once
    flow, which has markers there.
    """
    longer = [each for each, log in source_logs.items() if target_logs[each].size > log.size]
    if flow.parameters.guard is not None or flow.parameters.exactly_once or not longer:
        return {}
    ends = flow.source.ends(longer)
    return {each: read_as_far(source_logs[each], target_logs[each], end) for each, end in ends.items()}


def read_as_far(source: OffsetRange, target: OffsetRange, source_end: int) -> OffsetRange:
    """The source's log up to as many offsets as the target has; the source ends at `source_end` now."""
    return OffsetRange(source.start, max(source.end, min(source_end, source.start + target.size)))


def both_sides(
    flow: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    target_logs: Mapping[TopicPartition, OffsetRange],
) -> DataFrame:
    """The digests of both sides' records in one frame, so that one Spark job reads them. `target_logs` is by source
    partition."""
    remote = {flow.policy.remote_partition(each): offsets for each, offsets in target_logs.items()}
    source = flow.digests(flow.read(flow.source, source_logs), SOURCE)
    return source.unionByName(flow.digests(flow.read(flow.target, remote), TARGET))


def wait_while_moving(
    flow: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    syncs: Mapping[TopicPartition, SyncHistory],
    deadline_seconds: float,
) -> None:
    """Return when every partition may be complete by its offsets, or when the target has stopped moving."""
    moved = time.monotonic()
    before: Mapping[TopicPartition, OffsetRange] = {}

    def done() -> bool:
        nonlocal before, moved
        now = logs_on_target(flow, list(source_logs))
        if now != before:
            before, moved = now, time.monotonic()
        caught_up = all(
            arrived(flow.parameters, log, now[each], syncs.get(each, SyncHistory()))
            for each, log in source_logs.items()
        )
        return caught_up or time.monotonic() - moved >= STILL_SECONDS

    wait_until(done, deadline_seconds)


def logs_on_target(flow: OpenFlow, partitions: list[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    """The target's logs by source partition."""
    remote = flow.policy.remote_partition
    logs = flow.target.offsets([remote(each) for each in partitions])
    return {each: logs[remote(each)] for each in partitions}


def both_clusters(flow: OpenFlow) -> str:
    return f"{flow.source.where} and {flow.target.where}"
