"""nothing-lost-to-retention: retention removed no record from the source before it was replicated.

Parity cannot see such a loss, because the record is on neither side. The offset syncs show it: if between two syncs the
source advanced further than the target, the offsets in between were never written to the target. Transaction markers
and compaction leave the same trace. So a gap counts as a loss only in a topic that has neither, and never if it is one
offset long: a marker takes one offset, while retention removes whole segments.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from components.contract.report import CheckName, CheckOutcome, Finding, Scalar, error, fail, note
from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.parity_readings import FirstPass
from spark.checks.translation import Sync, SyncHistory
from spark.flows import OpenFlow


@dataclass(frozen=True)
class Replicated:
    """A partition with its syncs and logs. The source's log was read before the target's, so that records replicated
    in between cannot look lost. `dense`: the source holds a record at each of its offsets."""

    partition: TopicPartition
    history: SyncHistory
    source: OffsetRange
    target: OffsetRange
    dense: bool
    policy: str


@dataclass(frozen=True)
class Loss:
    """Source offsets [first, end) that never reached the target. `written_ms` is the time of the sync that shows it."""

    partition: TopicPartition
    first: int
    end: int
    certain: bool
    written_ms: int | None = None

    @property
    def count(self) -> int:
        return self.end - self.first


def losses(replicated: Replicated) -> list[Loss]:
    """The offsets that retention removed unreplicated: in the past (between two syncs) or now (before log start)."""
    latest = replicated.history.latest
    if latest is None:
        return []
    syncs = replicated.history.syncs
    gaps = [
        (before, after)
        for before, after in itertools.pairwise(syncs)
        if after.downstream >= before.downstream and _skipped(before, after) > 0
    ]
    position = latest.upstream + replicated.target.end - latest.downstream
    beyond = replicated.target.end > latest.downstream and position < replicated.source.start
    plain = "compact" not in replicated.policy and replicated.dense
    # Without any record left, markers cannot be ruled out: one gap may be a loss, several gaps are transactions.
    certain = plain and (replicated.source.size > 0 or len(gaps) + beyond <= 1)
    found = []
    for before, after in gaps:
        first, end = after.upstream - _skipped(before, after), min(after.upstream, replicated.source.start)
        # Parity judges what the source still holds. What the target has removed as well no longer matters.
        if first < end and after.downstream >= replicated.target.start:
            several = _skipped(before, after) > 1
            found.append(Loss(replicated.partition, first, end, certain and several, after.written_ms))
    if beyond:
        several = replicated.source.start - position > 1
        found.append(Loss(replicated.partition, position, replicated.source.start, certain and several))
    return found


def check_retention(flow: OpenFlow, first_pass: FirstPass, syncs: Mapping[TopicPartition, SyncHistory]) -> CheckOutcome:
    """Judge from the logs and sums of parity's first pass, so that nothing is read twice."""
    policies = flow.source.cleanup_policies(flow.partitions)
    return judge(
        [
            Replicated(
                partition,
                syncs.get(partition, SyncHistory()),
                log,
                first_pass.target_logs[partition],
                first_pass.dense(partition),
                policies.get(partition.topic, ""),
            )
            for partition, log in first_pass.source_logs.items()
        ]
    )


def judge(partitions: Sequence[Replicated]) -> CheckOutcome:
    """The outcome over all replicated partitions; an error if none of them has an offset sync."""
    found = [loss for each in partitions for loss in losses(each)]
    known = sum(each.history.latest is not None for each in partitions)
    lost = sum(loss.count for loss in found if loss.certain)
    findings: list[Finding] = [_finding(loss) for loss in found]
    if not known:
        findings.append(
            error("no-offset-sync", "there is no offset sync for any selected partition, so losses cannot be seen")
        )
    counts: dict[str, int | float] = {
        "partitions": len(partitions),
        "withOffsetSyncs": known,
        "lost": lost,
        "possibleMarkers": sum(loss.count for loss in found if not loss.certain),
    }
    return CheckOutcome(
        CheckName.RETENTION,
        f"{lost} offsets lost in {known} partitions with offset syncs",
        counts,
        tuple(findings),
        tuple(_sample(loss) for loss in sorted(found, key=lambda loss: (not loss.certain, -loss.count))),
    )


def _skipped(before: Sync, after: Sync) -> int:
    """By how many offsets the source advanced further than the target."""
    return (after.upstream - before.upstream) - (after.downstream - before.downstream)


def _finding(loss: Loss) -> Finding:
    offsets = f"{loss.partition}: source offsets {loss.first} to {loss.end - 1}"
    if not loss.certain:
        return note(
            "possible-markers",
            f"{offsets} were not replicated. They may be transaction markers or compacted records, not lost ones",
            loss.count,
        )
    when = ""
    if loss.written_ms is not None:
        when = f" (seen {datetime.fromtimestamp(loss.written_ms / 1000, UTC).isoformat(timespec='seconds')})"
    return fail(
        "lost-to-retention",
        f"{offsets} never reached the target{when}: retention removed them before they were replicated",
        loss.count,
    )


def _sample(loss: Loss) -> Mapping[str, Scalar]:
    topic, partition = loss.partition
    return {
        "topic": topic,
        "partition": partition,
        "firstOffset": loss.first,
        "lastOffset": loss.end - 1,
        "certain": loss.certain,
        "timestampMs": loss.written_ms,
    }
