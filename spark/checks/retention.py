"""nothing-lost-to-retention: retention removed no record from the source before it was replicated.

Parity cannot see such a loss, because the record is on neither side. The offset syncs show it: if the source advanced
further than the target between two syncs, some offsets in between were never written to the target. MirrorMaker drops a
sync that waits to be sent when the partition has a newer one, so the loss may be anywhere between two syncs. Parity
judges the offsets that the source still holds; everything else that the target lacks is lost. After the newest sync,
each record that the source has removed must be a record that only the target holds.

Transaction markers, aborted records, compaction and filters leave the same trace. So a gap counts as a loss only in a
topic that has none of these, and only if it is longer than one offset, which a marker takes. Any other gap cannot be
judged. A source that has removed nothing has lost nothing.

Exactly-once delivery writes transaction markers to the target. A marker looks like a record to the offset syncs, and
hides a missing one. So the records between the syncs are counted there.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812

from kafka_replication.components.contract.evidence import Proven
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import (
    SAMPLES,
    CheckName,
    CheckOutcome,
    Coverage,
    Finding,
    Scalar,
    error,
    fail,
)
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.mirror_records import OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory, skipped_offsets
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity import meanings
from kafka_replication.spark.checks.parity.comparison import RecordComparison
from kafka_replication.spark.checks.parity.differences import SURPLUS, Difference, meaning
from kafka_replication.spark.checks.parity.first_pass import FirstPass, logs_on_target
from kafka_replication.spark.checks.parity.quick import BothLogs
from kafka_replication.spark.read import frames
from kafka_replication.spark.read.flows import OpenFlow
from kafka_replication.spark.read.frames import frame_of


@dataclass(frozen=True)
class CopyCounts:
    """Counts of target records: from the record of the `first` sync to that of the `newest` one, and from there on."""

    first: OffsetSync
    newest: OffsetSync
    between: int
    after: int


def count_copies(
    flow: OpenFlow, logs: Mapping[TopicPartition, OffsetRange], syncs: Mapping[TopicPartition, SyncHistory]
) -> dict[TopicPartition, CopyCounts | None]:
    """Return the copies by source partition; `logs` are the target's logs, also by source partition.

    Leaves out partitions where the target no longer holds the record of any sync. None if the target removed records
    while they were counted.
    """
    stretches = {
        partition: stretch
        for partition, log in logs.items()
        if partition in syncs and (stretch := syncs[partition].stretch(log.start))
    }
    if not stretches:
        return {}
    source_of = {flow.policy.remote_partition(partition): partition for partition in stretches}
    ranges = {
        there: OffsetRange(stretches[partition][0].downstream, logs[partition].end)
        for there, partition in source_of.items()
    }
    newest = frame_of(
        flow.spark.session,
        [(*there, stretches[partition][-1].downstream) for there, partition in source_of.items()],
        "topic string, partition int, newest bigint",
    )
    flow.progress(f"{flow.name}: counting the records between offset syncs")
    before = F.col("offset") < F.col("newest")
    frame = (
        flow.read(flow.target, ranges)
        .join(F.broadcast(newest), on=["topic", "partition"])
        .groupBy("topic", "partition")
        .agg(F.count_if(before).alias("between"), F.count_if(~before).alias("after"))
    )
    counted = {
        source_of[TopicPartition(row.topic, row.partition)]: (row.between, row.after)
        for row in frames.collected_rows(frame, flow.target.where, "counting the records between offset syncs")
    }
    now = logs_on_target(flow, list(stretches))
    return {
        partition: CopyCounts(stretch[0], stretch[-1], *counted.get(partition, (0, 0)))
        if now[partition].start <= stretch[0].downstream
        else None
        for partition, stretch in stretches.items()
    }


_UNCOUNTED = "the target removed records while those between its transaction markers were counted"


@dataclass(frozen=True)
class Unequal:
    """What parity found in a partition: `missing` are source records that should be on the target, `surplus` are target
    records that the source does not hold, or not as often.
    """

    missing: Sequence[Difference] = ()
    surplus: Sequence[Difference] = ()

    def missing_between(self, first: int, end: int) -> int:
        """Return at most how many records of these source offsets are missing."""
        return sum(_within(difference, first, end) for difference in self.missing)

    def surplus_from(self, first: int) -> int:
        """Return at most how many records at or after this target offset are surplus."""
        return sum(_within(difference, first, difference.last + 1) for difference in self.surplus)


def _within(difference: Difference, first: int, end: int) -> int:
    return min(difference.records, max(0, min(difference.last + 1, end) - max(difference.first, first)))


def unequal(comparison: RecordComparison, partition: TopicPartition) -> Unequal:
    sides = comparison.sides.get(partition)
    of_partition = [difference for difference in comparison.differences if difference.partition == partition]
    return Unequal(
        [one for one in of_partition if sides is not None and meaning(one, sides) == meanings.MISSING],
        [one for one in of_partition if one.kind in SURPLUS],
    )


@dataclass(frozen=True)
class Replicated:
    """A partition with its syncs and logs. The source's log was read before the target's, so that records replicated in
    between cannot look lost. `dense`: the source holds a record at each of its offsets. `hidden` gives the reason if
    the syncs cannot show a loss. `copies` are counted where the target has transaction markers. `unequal` is None if
    the records were not compared.
    """

    partition: TopicPartition
    history: SyncHistory
    source: OffsetRange
    target: OffsetRange
    dense: bool
    policy: str
    hidden: str = ""
    copies: CopyCounts | None = None
    unequal: Unequal | None = None

    @property
    def why_not(self) -> str:
        """Return why a loss could not be seen; empty if it would be, or if the source has removed nothing."""
        latest = self.history.latest
        if self.source.start == 0:
            return ""
        if self.hidden or latest is None:
            return self.hidden or "the partition has no offset sync"
        if self.unequal is None and not self.lost_since(latest) and self.removed_since(latest):
            return "it has removed records after the newest offset sync, and the records since then were not compared"
        return ""

    def removed_between(self, before: OffsetSync, after: OffsetSync) -> OffsetRange:
        """Return the offsets between these syncs that the source has removed. A loss may be anywhere among them."""
        first = before.upstream + 1
        return OffsetRange(first, max(first, min(after.upstream, self.source.start)))

    def removed_since(self, sync: OffsetSync) -> int:
        """Return how many offsets after that of this sync the source has removed."""
        return max(0, self.source.start - sync.upstream - 1)

    def lost_since(self, latest: OffsetSync) -> int:
        """Return how many of these never reached the target, at least: their copies can only be records that the target
        has removed or that only the target holds.
        """
        written = (self.target.end - latest.downstream if self.copies is None else self.copies.after) - 1
        if written < 0:
            return 0
        if self.unequal is not None:
            first = latest.downstream + 1
            expired = max(0, self.target.start - first)
            written = min(written, expired + self.unequal.surplus_from(max(first, self.target.start)))
        return max(0, self.removed_since(latest) - written)


@dataclass(frozen=True)
class Loss:
    """Source offsets [first, end) that never reached the target. `written_ms` is the time of the sync that shows it.

    With `some`, only this many of these offsets, and nothing shows which.
    """

    partition: TopicPartition
    first: int
    end: int
    certain: bool
    written_ms: int | None = None
    some: int | None = None

    @property
    def count(self) -> int:
        return self.end - self.first if self.some is None else self.some


def losses(replicated: Replicated) -> list[Loss]:
    """Return what retention removed unreplicated: between two syncs, or since the newest one."""
    latest = replicated.history.latest
    if latest is None or replicated.hidden:
        return []
    gaps = [
        (before, after)
        for before, after in itertools.pairwise(replicated.history.syncs)
        if after.downstream >= before.downstream and skipped_offsets(before, after) > 0
    ]
    copies, source = replicated.copies, replicated.source
    since_latest = replicated.lost_since(latest)
    plain = "compact" not in replicated.policy and replicated.dense
    # Without any record left, markers cannot be ruled out: one gap may be a loss, several gaps are transactions.
    certain = plain and (source.size > 0 or len(gaps) + (since_latest > 0) <= 1)
    unseen = 0 if copies is None else _unseen(copies, gaps)

    def lost(count: int, among: OffsetRange, certain: bool, written_ms: int | None = None) -> Loss:
        some = count if count < among.size else None
        return Loss(replicated.partition, *among, certain and count > 1, written_ms, some)

    losses_seen = []
    for before, behind in gaps:
        removed = replicated.removed_between(before, behind)
        # If there is only one gap, the records that the markers hide are in it.
        skipped = skipped_offsets(before, behind) + (unseen if len(gaps) == 1 else 0)
        if replicated.unequal is not None:
            skipped -= replicated.unequal.missing_between(source.start, behind.upstream)
        count = min(skipped, removed.size)
        # What the target has removed as well no longer matters.
        if count > 0 and behind.downstream >= replicated.target.start:
            losses_seen.append(lost(count, removed, certain, behind.written_ms))
    if copies is not None and unseen and len(gaps) != 1:
        removed = replicated.removed_between(copies.first, copies.newest)
        if removed.size:
            # The missing offsets may be markers of the source: only remaining records show whether it has any.
            losses_seen.append(lost(min(unseen, removed.size), removed, plain and source.size > 0))
    if since_latest:
        losses_seen.append(lost(since_latest, OffsetRange(latest.upstream + 1, source.start), certain))
    return losses_seen


def _unseen(copies: CopyCounts, gaps: Sequence[tuple[OffsetSync, OffsetSync]]) -> int:
    """Return how many source offsets have no copy although no gap shows them: a marker hides each."""
    missing = copies.newest.upstream - copies.first.upstream - copies.between
    seen = sum(skipped_offsets(*gap) for gap in gaps if gap[0].downstream >= copies.first.downstream)
    return max(0, missing - seen)


def check_retention(
    flow: OpenFlow,
    logs: FirstPass | BothLogs,
    syncs: Mapping[TopicPartition, SyncHistory],
    comparison: RecordComparison | None = None,
) -> CheckOutcome:
    """Judge from the logs that parity has read, and from its `comparison` if it compared all records.

    Without a first pass, a gap may always be markers, and the target's records between offset syncs are not counted.
    """
    policies = flow.source.cleanup_policies(flow.partitions)
    hidden, first_pass = _hidden(flow.parameters), logs if isinstance(logs, FirstPass) else None
    may_drop = flow.parameters.may_drop
    removed = {partition: logs.target_logs[partition] for partition, log in logs.source_logs.items() if log.start}
    proven = first_pass.proven if first_pass is not None else {}
    histories = {
        partition: with_proven(syncs.get(partition, SyncHistory()), proven.get(partition))
        for partition in logs.source_logs
    }
    counted = first_pass is not None and flow.parameters.exactly_once and not hidden
    copies = count_copies(flow, removed, histories) if counted else {}
    return judge(
        [
            Replicated(
                partition,
                histories[partition],
                log,
                logs.target_logs[partition],
                first_pass is not None and first_pass.dense(partition) and not may_drop,
                policies.get(partition.topic, ""),
                hidden or (_UNCOUNTED if copies.get(partition, True) is None else ""),
                copies.get(partition),
                unequal(comparison, partition) if comparison is not None else None,
            )
            for partition, log in logs.source_logs.items()
        ],
        may_drop=may_drop,
    )


def with_proven(history: SyncHistory, proven: Proven | None) -> SyncHistory:
    """Return the history, and where an earlier validation found both sides equal, which says as much as a sync: the
    source still holds what follows, and this validation has compared it.
    """
    latest = history.latest
    if proven is None or latest is None or proven.source <= latest.upstream or proven.target <= latest.downstream:
        return history
    return SyncHistory((*history.syncs, OffsetSync(proven.source, proven.target, proven.since * 1000)))


def _hidden(flow: FlowParameters) -> str:
    """Return why the offset syncs of a flow cannot show a loss; empty if they can."""
    if not flow.offset_syncs.enabled:
        return "the flow has no offset syncs"
    if flow.guard is not None:
        return "the target has records of its own, which the offset syncs of a guarded flow also count"
    return ""


def judge(partitions: Sequence[Replicated], *, may_drop: bool = False) -> CheckOutcome:
    """Return the outcome over all replicated partitions; `may_drop`: the flow's transforms may drop records."""
    by_partition = {partition.partition: losses(partition) for partition in partitions}
    all_losses = [loss for of_partition in by_partition.values() for loss in of_partition]
    lost = sum(loss.count for loss in all_losses if loss.certain)
    why_not = {partition.partition: partition.why_not for partition in partitions if partition.why_not}
    uncertain = sum(any(not loss.certain for loss in losses) for losses in by_partition.values())
    known = sum(partition.history.latest is not None and not partition.hidden for partition in partitions)
    counts: dict[str, int | float] = {
        "partitions": len(partitions),
        "withOffsetSyncs": known,
        "removedNothing": sum(partition.source.start == 0 for partition in partitions),
        "lost": lost,
        "possibleMarkers": sum(loss.count for loss in all_losses if not loss.certain),
    }
    not_judged = {"possible-markers": uncertain, "losses-not-visible": len(why_not)}
    return CheckOutcome(
        CheckName.RETENTION,
        f"{numbered(lost, 'offset[|s]')} lost in {numbered(len(partitions), 'partition[|s]')}; the source has "
        f"removed nothing in {counts['removedNothing']} of them",
        counts,
        (*(_finding(loss, may_drop=may_drop) for loss in all_losses), *_not_visible(why_not)),
        tuple(_sample(loss) for loss in sorted(all_losses, key=lambda loss: (not loss.certain, -loss.count))),
        Coverage("partitions", len(partitions) - uncertain - len(why_not), not_judged),
    )


def _not_visible(why_not: Mapping[TopicPartition, str]) -> list[Finding]:
    """Return one finding for the partitions in which a loss could not be seen."""
    if not why_not:
        return []
    named = ", ".join(map(str, sorted(why_not)[:SAMPLES]))
    why = "; ".join(sorted(set(why_not.values())))
    what = (
        f"{named}: the source has removed records, and nothing shows whether all of them were replicated first, "
        f"because {why}"
    )
    return [error("losses-not-visible", what, len(why_not))]


def _finding(loss: Loss, *, may_drop: bool) -> Finding:
    named = f"offset {loss.first}" if loss.end == loss.first + 1 else f"offsets {loss.first} to {loss.end - 1}"
    some = f"{loss.count} of the " if loss.some is not None else ""
    offsets = f"{loss.partition}: {some}source {named}"
    if not loss.certain:
        dropped = "[a record|records] that the flow's transforms dropped, "
        return error(
            "possible-markers",
            f"{offsets} "
            + agreeing(
                loss.count,
                "[was not replicated. It was a transaction marker, an aborted or a compacted record, |were not "
                "replicated. They were transaction markers, aborted or compacted records, ]"
                f"{dropped if may_drop else ''}[or it was|or they were] lost: nothing shows which, because the source "
                "no longer holds [it|them]",
            ),
            loss.count,
        )
    when = ""
    if loss.written_ms is not None:
        when = f" (seen {datetime.fromtimestamp(loss.written_ms / 1000, UTC).isoformat(timespec='seconds')})"
    return fail(
        "lost-to-retention",
        f"{offsets} never reached the target{when}: retention removed "
        + agreeing(loss.count, "[it before it was|them before they were] replicated"),
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
