"""parity: what the target holds is what the source holds, record for record.

First a count and an order-free digest of every partition, one pass over both sides. Only partitions that disagree are
compared as multisets of records. While a flow is live the two sides are never the same at one moment, so that the ends
are taken in an order that explains it: the source's first end S0 (everything before it must arrive), the target's end
after waiting for it, and the source's second end after that, so that no record of the target is unknown to the source
for being new; source records from S0 on may still be on their way and are not judged.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from spark import readers, transforms
from spark.checks.parity_findings import Difference, Sides, parity_findings, parity_samples
from spark.flows import OpenFlow
from spark.positions import OffsetRange, TopicPartition
from spark.report import CheckOutcome, error, fail
from spark.transforms import SOURCE, TARGET
from spark.waiting import wait_until

NAME = "parity"
#: A target on which nothing moves for so long is taken to be as far as it gets, until the digests say otherwise.
STILL_SECONDS = 3


@dataclass(frozen=True)
class Sums:
    """Count and order-free digest of one side of a partition."""

    records: int = 0
    low: int = 0
    high: int = 0


@dataclass(frozen=True)
class FirstPass:
    """Logs and sums of both sides, by the source's partitions that exist on the target."""

    source_logs: Mapping[TopicPartition, OffsetRange]
    target_logs: Mapping[TopicPartition, OffsetRange]
    source: Mapping[TopicPartition, Sums]
    target: Mapping[TopicPartition, Sums]
    seconds: float

    @property
    def disagreeing(self) -> list[TopicPartition]:
        return [each for each in self.source_logs if self.source[each] != self.target[each]]

    def dense(self, partition: TopicPartition) -> bool:
        """Whether the source holds a record at each of its offsets: no transaction marker, nothing compacted away."""
        return self.source[partition].records == self.source_logs[partition].size


def first_pass(opened: OpenFlow, catch_up_seconds: float) -> FirstPass:
    """Wait for the target as long as it moves, then read both sides of every replicated partition once."""
    partitions = opened.replicated_partitions()
    source_logs = opened.source.offsets(partitions)
    _wait_while_moving(opened, source_logs, catch_up_seconds)
    target_logs = _target_logs(opened, partitions)
    records = sum(each.size for each in (*source_logs.values(), *target_logs.values()))
    opened.progress(f"{opened.flow.name}: comparing {len(partitions)} partitions, about {records} records")
    began = time.monotonic()
    frame = transforms.partition_sums(both_sides(opened, source_logs, target_logs))
    found: dict[str, dict[TopicPartition, Sums]] = {
        side: dict.fromkeys(partitions, Sums()) for side in (SOURCE, TARGET)
    }
    for row in readers.rows(frame, _both(opened), "reading the records of both sides"):
        found[row.side][TopicPartition(row.topic, row.partition)] = Sums(row.records, row.low, row.high)
    return FirstPass(source_logs, target_logs, found[SOURCE], found[TARGET], time.monotonic() - began)


def both_sides(
    opened: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    target_logs: Mapping[TopicPartition, OffsetRange],
) -> DataFrame:
    """The digests of both sides' records in one frame, read by one job; `target_logs` by source partition."""
    prefix = opened.selection.prefix
    remote = {opened.selection.remote_partition(each): offsets for each, offsets in target_logs.items()}
    source = transforms.digests(opened.read(opened.source, source_logs), SOURCE, "")
    return source.unionByName(transforms.digests(opened.read(opened.target, remote), TARGET, prefix))


def check_parity(opened: OpenFlow, first: FirstPass, catch_up_seconds: float) -> CheckOutcome:
    """Compare record by record the partitions that the first pass found to disagree, and judge."""
    findings = []
    absent = sorted(
        topic for topic in opened.partitions if opened.selection.remote(topic) not in opened.remote_partitions
    )
    if absent:
        names = ", ".join(absent)
        findings.append(
            fail("topic-not-replicated", f"on {opened.target.where} there is no copy of: {names}", len(absent))
        )
    for topic, count in sorted(opened.partitions.items()):
        remote = opened.remote_partitions.get(opened.selection.remote(topic))
        if remote is not None and remote < count:
            what = f"{topic} has {count} partitions on the source and {remote} on the target"
            findings.append(fail("partitions-not-replicated", what, count - remote))
    differences, sides = _compared(opened, first, catch_up_seconds)
    findings += parity_findings(differences, sides)
    records = {
        side: sum(each.records for each in sums.values())
        for side, sums in ((SOURCE, first.source), (TARGET, first.target))
    }
    if not records[SOURCE] and not absent:
        findings.append(
            error("empty-range", "the source holds no record in any selected partition: nothing to compare")
        )
    kinds = {kind: sum(each.records for each in differences if each.kind == kind) for kind in _COUNTED}
    counts: dict[str, int | float] = {
        "topics": len(opened.partitions),
        "partitions": len(first.source_logs),
        "sourceRecords": records[SOURCE],
        "targetRecords": records[TARGET],
        "agreeingPartitions": len(first.source_logs) - len({each.partition for each in differences}),
        "comparedByRecord": len(first.disagreeing),
        "readSeconds": round(first.seconds, 2),
    }
    counts |= {name: sum(kinds[kind] for kind in members) for name, members in _COUNTS.items()}
    summary = (
        f"{records[SOURCE]} source and {records[TARGET]} target records in {len(first.source_logs)} partitions, "
        f"{counts['agreeingPartitions']} of them equal"
    )
    return CheckOutcome(NAME, summary, counts, tuple(findings), parity_samples(differences))


_COUNTS = {
    "missing": ("missing", "missing-hole", "missing-head"),
    "lagging": ("missing-tail",),
    "duplicated": ("duplicated",),
    "extra": ("extra", "extra-head"),
}
_COUNTED = [kind for members in _COUNTS.values() for kind in members]


def _compared(
    opened: OpenFlow, first: FirstPass, catch_up_seconds: float
) -> tuple[list[Difference], Mapping[TopicPartition, Sides]]:
    """The differences of the disagreeing partitions, and both logs of those after the records were read."""
    partitions = first.disagreeing
    if not partitions:
        return [], {}
    _wait_for_the_missing(opened, first, catch_up_seconds)
    target_logs = _target_logs(opened, partitions)
    source_logs = opened.source.offsets(partitions)
    opened.progress(f"{opened.flow.name}: comparing {len(partitions)} partitions record by record")
    judged = opened.spark.createDataFrame(
        [(each.topic, each.partition, first.source_logs[each].end) for each in partitions],
        "topic string, partition int, judged_end bigint",
    )
    frame = transforms.differences(transforms.paired(both_sides(opened, source_logs, target_logs)), judged)
    rows = readers.rows(frame, _both(opened), "comparing records")
    # Retention may have removed records while they were read: the logs as they are now explain what is not there.
    source_logs, target_logs = opened.source.offsets(partitions), _target_logs(opened, partitions)
    policies = opened.source.cleanup_policies({each.topic for each in partitions})
    sides = {
        each: Sides(
            source_logs[each],
            target_logs[each],
            first.target[each].records,
            "compact" in policies.get(each.topic, ""),
            opened.flow.source.alias,
            opened.flow.target.alias,
        )
        for each in partitions
    }
    return [
        Difference(
            TopicPartition(row.topic, row.partition),
            row.kind,
            row.records,
            row.first,
            row.last,
            tuple((each.offset, each.time_ms, each.digest) for each in row.samples),
        )
        for row in rows
    ], sides


def _wait_while_moving(
    opened: OpenFlow, source_logs: Mapping[TopicPartition, OffsetRange], deadline_seconds: float
) -> None:
    """Return when every partition holds as many offsets as the source, or when the target has stopped moving."""
    moved = time.monotonic()
    before: Mapping[TopicPartition, OffsetRange] = {}

    def done() -> bool:
        nonlocal before, moved
        now = _target_logs(opened, list(source_logs))
        if now != before:
            before, moved = now, time.monotonic()
        caught_up = all(now[each].size >= source_logs[each].size for each in source_logs)
        return caught_up or time.monotonic() - moved >= STILL_SECONDS

    wait_until(done, deadline_seconds)


def _wait_for_the_missing(opened: OpenFlow, first: FirstPass, deadline_seconds: float) -> None:
    """Give records that the first pass counted as missing the time to arrive."""
    owed = {
        each: first.target_logs[each].end + first.source[each].records - first.target[each].records
        for each in first.disagreeing
        if first.target[each].records < first.source[each].records
    }
    if owed:
        opened.progress(
            f"{opened.flow.name}: waiting up to {deadline_seconds:.0f} s for {len(owed)} partitions to catch up"
        )

        def caught_up() -> bool:
            logs = _target_logs(opened, list(owed))
            return all(logs[each].end >= end for each, end in owed.items())

        wait_until(caught_up, deadline_seconds)


def _target_logs(opened: OpenFlow, partitions: list[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
    """The target's logs by the source's partition."""
    remote = opened.selection.remote_partition
    logs = opened.target.offsets([remote(each) for each in partitions])
    return {each: logs[remote(each)] for each in partitions}


def _both(opened: OpenFlow) -> str:
    return f"{opened.source.where} and {opened.target.where}"
