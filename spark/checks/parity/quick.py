"""parity of a quick validation: the target holds the newest records of each partition, in the same order.

It reads at most TAIL offsets of each source partition, and at most twice REACH of its remote partition, whatever the
topics hold. It does not look at what comes before, or at whether the target holds records that the source lacks. A
target that lost nothing holds a copy of each newest record, and the last copies are in the source's order: a task that
restarts begins at an earlier record, and sends all that follow it again.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.report import CheckName, CheckOutcome, Coverage, Finding, error
from kafka_replication.components.contract.wording import numbered
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP
from kafka_replication.spark.checks import division
from kafka_replication.spark.checks.offsets.nearby import records_near
from kafka_replication.spark.checks.offsets.position_proof import RecordDigest
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.check import times_not_compared
from kafka_replication.spark.checks.parity.differences import Difference
from kafka_replication.spark.checks.parity.findings import (
    Found,
    PartitionRecords,
    findings_by_meaning,
    lags,
    topic_rows,
)
from kafka_replication.spark.checks.parity.first_pass import (
    CommittedLogs,
    committed_logs,
    logs_on_target,
    open_transaction_findings,
    wait_for_target,
)
from kafka_replication.spark.checks.topics import absent_from_target, foreign_topic_findings
from kafka_replication.spark.read.flows import OpenFlow
from kafka_replication.spark.read.waiting import wait_until


@dataclass(frozen=True)
class NewestRecords:
    """The newest records of a source log, and the target's records among which their copies should be. `whole`: every
    copy that the target holds is among them. `guarded` and `exactly_once` are as in `Sides`.
    """

    source: Sequence[RecordDigest]
    target: Sequence[RecordDigest]
    source_log: OffsetRange
    target_log: OffsetRange
    history: SyncHistory
    whole: bool
    compacted: bool
    guarded: bool = False
    exactly_once: bool = False

    @property
    def arrived(self) -> bool:
        """Return whether the offset syncs show that the whole source log was once on the target."""
        latest = self.history.latest
        if latest is None:
            return False
        return latest.upstream + self.target_log.end - latest.downstream >= self.source_log.end

    @property
    def removed(self) -> int:
        """Return an upper bound of how many of these records the target has removed, as `excuses.expired_on_target`
        does.
        """
        latest, log = self.history.latest, self.target_log
        only_copies = latest is not None and not self.guarded and latest.downstream < log.end
        if not only_copies:
            return log.start
        return self.history.records_copied(self.source[0].offset, log.start, markers=self.exactly_once)

    @property
    def certain(self) -> bool:
        """Return whether a record that was not found is certainly not on the target."""
        return self.whole and not self.compacted


def missing_or_reordered(tail: NewestRecords) -> Mapping[meanings.Meaning, Sequence[RecordDigest]]:
    """Return the source records that the target lacks or holds in another order, by what that means."""
    places = grouped(
        (digest, index) for index, record in enumerate(tail.target) for digest in {record.digest, record.untimed}
    )
    reordered: list[int] = []
    absent: list[int] = []
    wanted: Counter[str] = Counter()
    last = -1
    for index, record in enumerate(tail.source):
        at = places.get(record.digest, [])
        wanted[record.digest] += 1
        later = bisect_right(at, last)
        if later < len(at):
            last = at[later]
        else:
            (reordered if wanted[record.digest] <= len(at) else absent).append(index)
    indexes = dict(_absent(tail, absent))
    if reordered:
        what = meanings.REORDERED if tail.certain else meanings.TAIL_NOT_PROVEN
        indexes[what] = [*reordered, *indexes.get(what, [])]
    return {what: [tail.source[index] for index in at] for what, at in indexes.items()}


def _absent(tail: NewestRecords, absent: Sequence[int]) -> Mapping[meanings.Meaning, Sequence[int]]:
    """Return what it means that these records are not on the target, by their index among the newest ones."""
    if not absent:
        return {}
    if not tail.certain:
        return {meanings.TAIL_NOT_PROVEN: absent}
    held = sorted(set(range(len(tail.source))) - set(absent))
    if not held and not (tail.target_log.start > 0 and not tail.target_log.size and tail.arrived):
        return {meanings.LAGGING: absent}
    expired = [index for index in absent if not held or index < held[0]][: tail.removed]
    late = [index for index in absent if held and index > held[-1]]
    missing = [index for index in absent if index not in {*expired, *late}]
    removed = meanings.EXPIRED_OR_LOST if tail.guarded else meanings.EXPIRED_ON_TARGET
    by_meaning = ((removed, expired), (meanings.LAGGING, late), (meanings.MISSING, missing))
    return {what: indexes for what, indexes in by_meaning if indexes}


#: This many offsets at the end of each source partition are compared.
TAIL = 100
#: This many offsets of the target are read from where the copy of the oldest of them should be, and as many at its end.
REACH = 1_000
#: What differences mean that may be gone once more records have arrived.
_MAY_ARRIVE = {meanings.MISSING, meanings.LAGGING, meanings.TAIL_NOT_PROVEN}


@dataclass(frozen=True)
class BothLogs:
    """Both logs of each replicated partition, by source partition, before anything is compared."""

    at_source: CommittedLogs
    target_logs: Mapping[TopicPartition, OffsetRange]

    @property
    def source_logs(self) -> Mapping[TopicPartition, OffsetRange]:
        return self.at_source.logs


def read_logs(flow: OpenFlow, catch_up_seconds: float, syncs: Mapping[TopicPartition, SyncHistory]) -> BothLogs:
    """Return both logs once the source's open transactions have ended and the target has caught up or makes no more
    progress.
    """
    partitions = flow.replicated_partitions()
    at_source = committed_logs(flow, flow.source, partitions, catch_up_seconds)
    wait_for_target(flow, at_source.logs, syncs, catch_up_seconds)
    return BothLogs(at_source, logs_on_target(flow, partitions))


def check_newest(
    flow: OpenFlow,
    logs: BothLogs,
    catch_up_seconds: float,
    syncs: Mapping[TopicPartition, SyncHistory],
    topics_in_rings: int = 0,
) -> CheckOutcome:
    """Compare the newest records. `topics_in_rings` counts the topics that could loop, which this validation does not
    check.
    """
    absent, absent_records = absent_from_target(flow)
    findings = [*absent, *foreign_topic_findings(flow)]
    tails = _tails(flow, logs, catch_up_seconds, syncs) if _comparable(flow) else {}
    found = [
        (what, Difference(partition, what.code, len(records), min(records).offset, max(records).offset))
        for partition, tail in tails.items()
        for what, records in missing_or_reordered(tail).items()
    ]
    labels, alias = division.labels(flow.parameters, flow.partitions), flow.parameters.source.alias
    findings += findings_by_meaning(found, labels, source=alias, target=flow.parameters.target.alias)
    untimed = {
        partition for partition, tail in tails.items() if any(one.time_ms == NO_TIMESTAMP for one in tail.source)
    }
    findings += times_not_compared(untimed, alias)
    findings += division.behind(flow.parameters, {**lags(found), **absent_records})
    findings += open_transaction_findings(logs.at_source.unread, alias)
    if not absent and not logs.at_source.unread and not any(log.size for log in logs.source_logs.values()):
        what = "the source holds no records in any selected partition: there is nothing to compare"
        findings.append(error("empty-range", what))
    return _outcome(flow, logs, tails, found, findings, topics_in_rings)


def _comparable(flow: OpenFlow) -> bool:
    return flow.parameters.comparable and not flow.parameters.drops


def _tails(
    flow: OpenFlow, logs: BothLogs, catch_up_seconds: float, syncs: Mapping[TopicPartition, SyncHistory]
) -> dict[TopicPartition, NewestRecords]:
    """Return each partition's newest records once everything that should arrive has arrived, or at the deadline."""
    newest = {
        partition: OffsetRange(log.end - TAIL, log.end).within(log)
        for partition, log in logs.source_logs.items()
        if log.size
    }
    flow.progress(f"{flow.name}: comparing the newest records of {numbered(len(newest), 'partition[|s]')}")
    on_source = records_near(flow, flow.source, list(newest.items()), compared=True)
    policies = flow.source.cleanup_policies({partition.topic for partition in newest})
    compacted = {partition for partition in newest if "compact" in policies.get(partition.topic, "")}
    tails: dict[TopicPartition, NewestRecords] = {}
    wanted, until = list(on_source), time.monotonic() + catch_up_seconds
    while wanted:
        target_logs = logs_on_target(flow, wanted)
        on_target = _on_target(flow, {one: on_source[one] for one in wanted}, target_logs)
        for partition, (target, whole) in on_target.items():
            tails[partition] = NewestRecords(
                on_source[partition],
                target,
                logs.source_logs[partition],
                target_logs[partition],
                syncs.get(partition, SyncHistory()),
                whole,
                partition in compacted,
                flow.parameters.guard is not None,
                flow.parameters.exactly_once,
            )
        wanted = [partition for partition in wanted if missing_or_reordered(tails[partition]).keys() & _MAY_ARRIVE]
        if time.monotonic() >= until:
            break
        if wanted:
            _wait_for_movement(flow, wanted, target_logs, until - time.monotonic())
    return tails


def _wait_for_movement(
    flow: OpenFlow, partitions: list[TopicPartition], before: Mapping[TopicPartition, OffsetRange], seconds: float
) -> None:
    flow.progress(
        f"{flow.name}: waiting up to {seconds:.0f} s for the newest records of "
        + numbered(len(partitions), "partition[|s]")
    )
    wait_until(
        lambda: any(log != before[partition] for partition, log in logs_on_target(flow, partitions).items()), seconds
    )


def _on_target(
    flow: OpenFlow, on_source: Mapping[TopicPartition, list[RecordDigest]], logs: Mapping[TopicPartition, OffsetRange]
) -> dict[TopicPartition, tuple[list[RecordDigest], bool]]:
    """Return the target's records from the first that is as new as the source's oldest, and whether all were read."""
    remote = flow.policy.remote_partition
    oldest = {remote(partition): min(one.time_ms for one in every) for partition, every in on_source.items()}
    begins = flow.target.offsets_at(oldest, committed=True)
    ranges: list[tuple[TopicPartition, OffsetRange]] = []
    whole: dict[TopicPartition, bool] = {}
    for partition in on_source:
        log, begin = logs[partition], begins[remote(partition)]
        should = OffsetRange(log.end if begin < 0 else begin, log.end).within(log)
        whole[partition] = should.size <= 2 * REACH
        several = (
            [should]
            if whole[partition]
            else [OffsetRange(should.start, should.start + REACH), OffsetRange(log.end - REACH, log.end)]
        )
        ranges += [(remote(partition), one) for one in several]
    read = records_near(flow, flow.target, ranges, compared=True)
    return {partition: (read.get(partition, []), whole[partition]) for partition in on_source}


def _outcome(
    flow: OpenFlow,
    logs: BothLogs,
    tails: Mapping[TopicPartition, NewestRecords],
    found: Iterable[Found],
    findings: list[Finding],
    topics_in_rings: int,
) -> CheckOutcome:
    lacking: Counter[TopicPartition] = Counter()
    for _, difference in found:
        lacking[difference.partition] += difference.records
    compared = {
        partition: PartitionRecords(len(tail.source), len(tail.source) - lacking[partition], not lacking[partition])
        for partition, tail in tails.items()
    }
    records = sum(tail.source for tail in compared.values())
    newest = TAIL if _comparable(flow) else 0
    left_out = sum(max(0, log.size - newest) for log in logs.source_logs.values())
    counts: dict[str, int | float] = {
        "topics": len(flow.partitions),
        "partitions": len(logs.source_logs),
        "tailOffsets": TAIL,
        "sourceRecords": records,
        "targetRecords": records - sum(lacking.values()),
        "agreeingPartitions": sum(partition.equal for partition in compared.values()),
        "targetRecordsRead": sum(len(tail.target) for tail in tails.values()),
        "offsetsLeftOut": left_out,
        "unreadOffsets": sum(offsets.size for offsets in logs.at_source.unread.values()),
    }
    summary = (
        f"the newest {numbered(records, 'record[|s]')} of {numbered(len(compared), 'partition[|s]')} compared, "
        f"{counts['targetRecords']} of them found on the target; {numbered(left_out, 'older offset[|s]')} "
        "not compared"
    )
    not_judged = {"open-transaction": len(logs.at_source.unread)}
    coverage = Coverage("partitions", len(compared.keys() - logs.at_source.unread.keys()), not_judged)
    return CheckOutcome(
        CheckName.PARITY,
        summary,
        counts,
        tuple(findings),
        coverage=coverage,
        rows=topic_rows(compared),
        left_out=_left_out(flow, left_out, topics_in_rings),
    )


def _left_out(flow: OpenFlow, offsets: int, topics_in_rings: int) -> str:
    left = numbered(offsets, "source offset[|s]")
    older = f"{left} before the newest {TAIL} of each partition"
    every = f"all {left}, because the flow's transforms change or drop records"
    parts = [older if _comparable(flow) else every, "records that only the target holds, duplicates among them"]
    if topics_in_rings:
        parts.append(f"whether records of {numbered(topics_in_rings, 'topic[|s]')} loop")
    return "not compared: " + "; ".join(parts)
