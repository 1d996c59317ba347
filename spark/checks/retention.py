"""nothing-lost-to-retention: retention removed no record from the source before it was replicated.

Parity cannot see such a loss, because the record is on neither side. The offset syncs show it: if the source advanced
further than the target between two syncs, the offsets in between were never written to the target. Transaction markers,
aborted records, compaction and filters leave the same trace. So a gap counts as a loss only in a topic that has none of
these, and only if it is longer than one offset, which a marker takes. Any other gap cannot be judged. A source that has
removed nothing has lost nothing.

Exactly-once delivery writes transaction markers to the target. A marker looks like a record to the offset syncs, and
hides a missing one. So the records between the syncs are counted there.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812

from components.contract.parameters import FlowParameters
from components.contract.report import SAMPLES, CheckName, CheckOutcome, Coverage, Finding, Scalar, error, fail
from components.contract.wording import agreeing, numbered
from components.kafka.mirror_records import OffsetSync
from components.kafka.offset_syncs import SyncHistory
from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.parity.first_pass import logs_on_target
from spark.read import frames
from spark.read.flows import OpenFlow
from spark.read.frames import frame_of


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
    syncs_since = {
        partition: syncs[partition].stretch(log.start) for partition, log in logs.items() if partition in syncs
    }
    stretches = {partition: stretch for partition, stretch in syncs_since.items() if stretch}
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
class Replicated:
    """A partition with its syncs and logs. The source's log was read before the target's, so that records replicated in
    between cannot look lost. `dense`: the source holds a record at each of its offsets. `hidden` gives the reason if
    the syncs cannot show a loss. `copies` are counted where the target has transaction markers.
    """

    partition: TopicPartition
    history: SyncHistory
    source: OffsetRange
    target: OffsetRange
    dense: bool
    policy: str
    hidden: str = ""
    copies: CopyCounts | None = None

    @property
    def why_not(self) -> str:
        """Return why a loss could not be seen; empty if it would be, or if the source has removed nothing."""
        if self.source.start == 0:
            return ""
        return self.hidden or ("" if self.history.latest is not None else "the partition has no offset sync")


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
    """Return the offsets that retention removed unreplicated: in the past (between two syncs) or now (before log
    start).
    """
    latest = replicated.history.latest
    if latest is None or replicated.hidden:
        return []
    syncs = replicated.history.syncs
    gaps = [
        (before, after)
        for before, after in itertools.pairwise(syncs)
        if after.downstream >= before.downstream and _skipped(before, after) > 0
    ]
    copies = replicated.copies
    after = replicated.target.end - latest.downstream if copies is None else copies.after
    position = latest.upstream + after
    beyond = after > 0 and position < replicated.source.start
    plain = "compact" not in replicated.policy and replicated.dense
    # Without any record left, markers cannot be ruled out: one gap may be a loss, several gaps are transactions.
    certain = plain and (replicated.source.size > 0 or len(gaps) + beyond <= 1)
    unseen = 0 if copies is None else _unseen(copies, gaps)
    losses_seen = []
    for before, behind in gaps:
        # If there is only one gap, the records that the markers hide are in it.
        skipped = _skipped(before, behind) + (unseen if len(gaps) == 1 else 0)
        first, end = behind.upstream - skipped, min(behind.upstream, replicated.source.start)
        # Parity judges what the source still holds. What the target has removed as well no longer matters.
        if first < end and behind.downstream >= replicated.target.start:
            losses_seen.append(Loss(replicated.partition, first, end, certain and skipped > 1, behind.written_ms))
    if copies is not None and unseen and len(gaps) != 1:
        first, end = copies.first.upstream + 1, min(copies.newest.upstream, replicated.source.start)
        if first < end:
            # The missing offsets may be markers of the source: only remaining records show whether it has any.
            sure = plain and replicated.source.size > 0 and unseen > 1
            losses_seen.append(Loss(replicated.partition, first, end, sure, some=unseen))
    if beyond:
        several = replicated.source.start - position > 1
        losses_seen.append(Loss(replicated.partition, position, replicated.source.start, certain and several))
    return losses_seen


def _unseen(copies: CopyCounts, gaps: Sequence[tuple[OffsetSync, OffsetSync]]) -> int:
    """Return how many source offsets have no copy on the target, but do not show as a gap between syncs: a marker hides
    each of them.
    """
    missing = copies.newest.upstream - copies.first.upstream - copies.between
    seen = sum(_skipped(*gap) for gap in gaps if gap[0].downstream >= copies.first.downstream)
    return max(0, missing - seen)


def check_retention(
    flow: OpenFlow,
    source_logs: Mapping[TopicPartition, OffsetRange],
    target_logs: Mapping[TopicPartition, OffsetRange],
    dense: Callable[[TopicPartition], bool],
    syncs: Mapping[TopicPartition, SyncHistory],
    *,
    counts: bool = True,
) -> CheckOutcome:
    """Judge from the logs that parity has read. `dense` says which partitions are not known to have offsets without a
    record. With exactly-once delivery, it also `counts` the target's records between offset syncs.
    """
    policies = flow.source.cleanup_policies(flow.partitions)
    hidden, marked = _hidden(flow.parameters), flow.parameters.exactly_once
    may_drop = not flow.parameters.comparable or bool(flow.parameters.drops)
    removed = {partition: target_logs[partition] for partition, log in source_logs.items() if log.start}
    copies = count_copies(flow, removed, syncs) if marked and counts and not hidden else {}
    return judge(
        [
            Replicated(
                partition,
                syncs.get(partition, SyncHistory()),
                log,
                target_logs[partition],
                dense(partition) and not may_drop,
                policies.get(partition.topic, ""),
                hidden or (_UNCOUNTED if copies.get(partition, True) is None else ""),
                copies.get(partition),
            )
            for partition, log in source_logs.items()
        ],
        may_drop=may_drop,
    )


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
        "removed nothing in "
        f"{counts['removedNothing']} of them",
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


def _skipped(before: OffsetSync, after: OffsetSync) -> int:
    """Return, by how many offsets the source advanced further than the target."""
    return (after.upstream - before.upstream) - (after.downstream - before.downstream)


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
