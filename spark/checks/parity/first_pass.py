"""The first pass of parity: counts and sums of every partition on both sides.

While a flow is running, the two sides are never equal at the same moment. So their ends are read in this order:

1. The source's first end. All records before it must arrive. It is read once the transactions that were open at first
   have ended, because until then no read_committed consumer can read their records, nor any record after them.
2. The target's end, after waiting for those records.
3. The source's second end. The source is read up to there, but to no more offsets than the target's log has: then both
   sides are equal even while producers write, and nothing has to be compared record by record.

Source records after the first end may still be on their way, so they are not judged as missing.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kafka_replication.components.contract.evidence import Proven
from kafka_replication.components.contract.report import SAMPLES, Finding, error
from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition, by_topic
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP
from kafka_replication.spark.checks.parity.causes import arrived
from kafka_replication.spark.checks.parity.evidence import NOTHING_EARLIER, Earlier, still_hold, topics_now
from kafka_replication.spark.checks.parity.sums import Sums, same_records, sums_of_both
from kafka_replication.spark.read.digests import SOURCE, TARGET
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow
from kafka_replication.spark.read.waiting import wait_until

CODE = "open-transaction"


@dataclass(frozen=True)
class CommittedLogs:
    """The logs of partitions as a read_committed consumer sees them. `unread`: the offsets that such a consumer could
    not read, because a transaction was open too long."""

    logs: Mapping[TopicPartition, OffsetRange]
    unread: Mapping[TopicPartition, OffsetRange]


def committed_logs(
    flow: OpenFlow, cluster: FlowCluster, partitions: Iterable[TopicPartition], deadline_seconds: float
) -> CommittedLogs:
    """Return the logs once every transaction that was open at first has ended, or at the deadline."""
    wanted = list(partitions)
    written = cluster.ends(wanted)
    logs = cluster.logs(wanted, committed=True)

    def ended() -> bool:
        nonlocal logs
        logs = cluster.logs(wanted, committed=True)
        return not unread(logs, written)

    if hidden := unread(logs, written):
        flow.progress(
            f"{flow.name}: waiting up to {deadline_seconds:.0f} s for open transactions in "
            f"{numbered(len(hidden), 'partition[|s]')} on {cluster.where}"
        )
        wait_until(ended, deadline_seconds)
    return CommittedLogs(logs, unread(logs, written))


def unread(
    logs: Mapping[TopicPartition, OffsetRange], written: Mapping[TopicPartition, int]
) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets that `logs` do not show as committed, up to `written`, an earlier high watermark."""
    return {
        partition: OffsetRange(logs[partition].end, end)
        for partition, end in written.items()
        if logs[partition].end < end
    }


def open_transaction_findings(hidden: Mapping[TopicPartition, OffsetRange], alias: str) -> list[Finding]:
    """Return one error per topic, named as on the cluster `alias`, for offsets that could not be read."""
    topics = by_topic(dict(sorted(hidden.items())))
    return [error(CODE, _message(topic, ranges, alias), _offsets(ranges)) for topic, ranges in topics.items()]


def _message(topic: str, ranges: Mapping[int, OffsetRange], alias: str) -> str:
    where = "; ".join(
        f"partition {number} from offset {offsets.start} on, {numbered(offsets.size, 'offset[|s]')}"
        for number, offsets in list(ranges.items())[:SAMPLES]
    )
    some = next(iter(ranges))
    return (
        f"{topic} on {alias}: {numbered(_offsets(ranges), 'offset[|s]')} in {numbered(len(ranges), 'partition[|s]')} "
        f"cannot be read ({where}), so records there were not checked. A transaction was still open there when the "
        "time to catch up ended. Its producer died, or keeps it open for a long time. Until it is committed or "
        "aborted, every read_committed consumer waits there, and so does an exactly-once source connector. Remedy: "
        f"find the producer with kafka-transactions.sh describe-producers --topic {topic} --partition {some}. End its "
        "transaction, wait for its transaction.timeout.ms, or abort it with kafka-transactions.sh abort --topic "
        f"{topic} --partition {some} --start-offset {ranges[some].start}. Then validate again"
    )


def _offsets(ranges: Mapping[int, OffsetRange]) -> int:
    return sum(offsets.size for offsets in ranges.values())


_CHANGED = "topics were recreated or reconfigured meanwhile"
_DIFFERS = "records that follow the proven ones differ"
_NOTHING_LEFT = "the source holds no newer records, and may no longer hold the proven ones"
#: What is proven of a partition without evidence.
_NOTHING = Proven(0, 0, 0, 0, 0, 0, unmoved=False)
#: If nothing moves on the target for this long, it counts as caught up until the digests show otherwise.
STILL_SECONDS = 3


@dataclass(frozen=True)
class FirstPass:
    """Logs and sums of both sides, by source partition, for the partitions that exist on the target.

    `source_logs` end at the source's first end. `source_read` has the offsets whose records `source` sums up, in
    partitions where these are more. `unread` are offsets after the end of a source log that could not be read because
    of an open transaction.
    """

    source_logs: Mapping[TopicPartition, OffsetRange]
    target_logs: Mapping[TopicPartition, OffsetRange]
    source: Mapping[TopicPartition, Sums]
    target: Mapping[TopicPartition, Sums]
    seconds: float
    unread: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    source_read: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    proven: Mapping[TopicPartition, Proven] = field(default_factory=dict)
    in_full: Mapping[TopicPartition, str] = field(default_factory=dict)

    @property
    def disagreeing(self) -> list[TopicPartition]:
        """Return the partitions to compare record by record: they differ, or may be in another order."""
        return [
            partition
            for partition in self.source_logs
            if not same_records(self.source[partition], self.target[partition])
        ]

    @property
    def untimed(self) -> list[TopicPartition]:
        """Return the partitions that disagree and whose source holds a record without a timestamp."""
        return [partition for partition in self.disagreeing if self.source[partition].oldest_ms == NO_TIMESTAMP]

    @property
    def with_other_marks(self) -> list[TopicPartition]:
        """Return the partitions in which a record may carry a mark that no guard appended: what came from the target
        differs from what the target wrote, or a record carries both marks.
        """
        partitions = []
        for partition, here in self.source.items():
            there = self.target[partition]
            came, wrote = ((at.aside, at.low_aside, at.high_aside) for at in (here, there))
            if (here.aside and came != wrote) or there.looped:
                partitions.append(partition)
        return partitions

    def dense(self, partition: TopicPartition) -> bool:
        """Return whether the source holds a record at each of its offsets: no transactions and no compaction."""
        log = self.source_read.get(partition, self.source_logs[partition])
        before = self.proven.get(partition)
        dense = self.source[partition].records + self.source[partition].aside == log.size
        return dense and (before is None or before.dense)

    @property
    def began_ms(self) -> int | None:
        """Time of the oldest record that the flow has brought to the target, in ms since 1970."""
        return min((sums.oldest_ms for sums in self.target.values() if sums.oldest_ms is not None), default=None)

    def total(self, side: str) -> Sums:
        """Return the counts of all partitions of a side, without digests."""
        sums = (self.source if side == SOURCE else self.target).values()
        return Sums(
            sum(part.records for part in sums),
            aside=sum(part.aside for part in sums),
            looped=sum(part.looped for part in sums),
            filtered=sum(part.filtered for part in sums),
        )


def read_first_pass(
    flow: OpenFlow,
    catch_up_seconds: float,
    syncs: Mapping[TopicPartition, SyncHistory] = MappingProxyType({}),
    earlier: Earlier = NOTHING_EARLIER,
) -> FirstPass:
    """Wait for the source's open transactions to end and for the target to stop moving, then read both sides of every
    replicated partition once: all of it, or what follows the part that `earlier` has proven. If that differs, read all
    of it.
    """
    partitions = flow.replicated_partitions()
    at_source = committed_logs(flow, flow.source, partitions, catch_up_seconds)
    source_logs = at_source.logs
    proven, _ = earlier.usable(source_logs, logs_on_target(flow, partitions))
    wait_for_target(flow, source_logs, syncs, catch_up_seconds, proven)
    target_logs = logs_on_target(flow, partitions)
    proven, in_full = earlier.usable(source_logs, target_logs)
    began = time.monotonic()
    read, source, target = _read(flow, source_logs, target_logs, proven)
    again = {partition: _DIFFERS for partition in proven if not same_records(source[partition], target[partition])}
    if (
        not again
        and not any(sums.records for sums in source.values())
        and not still_hold([(at, source_logs[one]) for one, at in proven.items()])
    ):
        again = dict.fromkeys(proven, _NOTHING_LEFT)
    if proven and topics_now(flow) != earlier.now:
        again = dict.fromkeys(proven, _CHANGED)
    if again:
        target_logs = {**target_logs, **logs_on_target(flow, list(again))}
        whole_logs, whole_source, whole_target = _read(
            flow,
            {partition: source_logs[partition] for partition in again},
            {partition: target_logs[partition] for partition in again},
        )
        read, source, target = read | whole_logs, source | whole_source, target | whole_target
    return FirstPass(
        source_logs,
        target_logs,
        source,
        target,
        time.monotonic() - began,
        at_source.unread,
        read,
        {partition: at for partition, at in proven.items() if partition not in again},
        in_full | again,
    )


def _read(
    flow: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    target_logs: Mapping[TopicPartition, OffsetRange],
    proven: Mapping[TopicPartition, Proven] = MappingProxyType({}),
) -> tuple[dict[TopicPartition, OffsetRange], dict[TopicPartition, Sums], dict[TopicPartition, Sums]]:
    """Read both logs of each partition, from where it is `proven` on, and return the offsets that were read on the
    source, and the sums of both sides, by source partition.
    """
    partitions = list(source_logs)
    here = {partition: log.after(proven.get(partition, _NOTHING).source) for partition, log in source_logs.items()}
    there = {partition: log.after(proven.get(partition, _NOTHING).target) for partition, log in target_logs.items()}
    read = {**here, **_read_further(flow, here, there)}
    records = sum(offsets.size for offsets in (*read.values(), *there.values()))
    flow.progress(
        f"{flow.name}: comparing {numbered(len(partitions), 'partition[|s]')}, about {numbered(records, 'record[|s]')}"
    )
    sums, without = sums_of_both(flow, read, there), {partition: Sums() for partition in partitions}
    return read, without | sums[SOURCE], without | sums[TARGET]


def _read_further(
    flow: OpenFlow, source_logs: Mapping[TopicPartition, OffsetRange], target_logs: Mapping[TopicPartition, OffsetRange]
) -> dict[TopicPartition, OffsetRange]:
    """Return the source logs of partitions whose target is longer, with as many offsets as it has, if the source has
    them.

    The length of a target means nothing in a guarded flow, which has records of its own there, or in an exactly-once
    flow, which has markers there.
    """
    longer = [partition for partition, log in source_logs.items() if target_logs[partition].size > log.size]
    if flow.parameters.guard is not None or flow.parameters.exactly_once or not longer:
        return {}
    ends = flow.source.ends(longer, committed=True)
    return {
        partition: read_as_far(source_logs[partition], target_logs[partition], end) for partition, end in ends.items()
    }


def read_as_far(source: OffsetRange, target: OffsetRange, source_end: int) -> OffsetRange:
    """Return the source's log up to as many offsets as the target has; the source ends at `source_end` now."""
    return OffsetRange(source.start, max(source.end, min(source_end, source.start + target.size)))


def wait_for_target(
    flow: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    syncs: Mapping[TopicPartition, SyncHistory],
    deadline_seconds: float,
    proven: Mapping[TopicPartition, Proven] = MappingProxyType({}),
) -> None:
    """Return when every partition may be complete by its offsets, or when the target has stopped moving. In `proven`
    partitions, only what follows counts.
    """
    moved = time.monotonic()
    before: Mapping[TopicPartition, OffsetRange] = {}

    def done() -> bool:
        nonlocal before, moved
        now = logs_on_target(flow, list(source_logs))
        if now != before:
            before, moved = now, time.monotonic()
        caught_up = all(
            arrived(
                flow.parameters,
                log.after(proven.get(partition, _NOTHING).source),
                now[partition].after(proven.get(partition, _NOTHING).target),
                syncs.get(partition, SyncHistory()),
            )
            for partition, log in source_logs.items()
        )
        return caught_up or time.monotonic() - moved >= STILL_SECONDS

    wait_until(done, deadline_seconds)


def logs_on_target(flow: OpenFlow, partitions: list[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    """Return the target's logs by source partition."""
    remote = flow.policy.remote_partition
    logs = flow.target.logs([remote(partition) for partition in partitions], committed=True)
    return {partition: logs[remote(partition)] for partition in partitions}
