"""nothing-lost-to-retention: no record left the source before it was replicated. Pure, but for its caller's readings.

Such a record is on neither side any more, so that parity cannot miss it. The offset syncs remember it: where the source
advanced by more than the target did, offsets in between were never written to the target. Transaction markers and
compaction leave the same trace, which is why a gap is only a loss in a topic that has neither, and never when it is one
offset: that is what a marker takes, while retention removes whole segments.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from spark.checks.translation import Sync, SyncHistory
from spark.positions import OffsetRange, TopicPartition
from spark.report import CheckOutcome, Finding, Scalar, error, fail, note

NAME = "nothing-lost-to-retention"


@dataclass(frozen=True)
class Replicated:
    """A partition with its syncs and logs. The source's log is from before the target's, so that what was replicated
    in between cannot look lost. `dense`: the source holds a record at each of its offsets."""

    partition: TopicPartition
    history: SyncHistory
    source: OffsetRange
    target: OffsetRange
    dense: bool
    policy: str


@dataclass(frozen=True)
class Loss:
    """Offsets [first, end) of the source that never reached the target; `written_ms` is when the sync showed it."""

    partition: TopicPartition
    first: int
    end: int
    certain: bool
    written_ms: int | None = None

    @property
    def count(self) -> int:
        return self.end - self.first


def losses(replicated: Replicated) -> list[Loss]:
    """The offsets that left the source unreplicated, in the past (between two syncs) and now (before its log start)."""
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
    # Without a live record nothing shows that there are no markers: then one gap may be a loss, many are transactions.
    certain = plain and (replicated.source.size > 0 or len(gaps) + beyond <= 1)
    found = []
    for before, after in gaps:
        first, end = after.upstream - _skipped(before, after), min(after.upstream, replicated.source.start)
        # What the source still holds is parity's to judge; what the target has removed too is past for both.
        if first < end and after.downstream >= replicated.target.start:
            several = _skipped(before, after) > 1
            found.append(Loss(replicated.partition, first, end, certain and several, after.written_ms))
    if beyond:
        several = replicated.source.start - position > 1
        found.append(Loss(replicated.partition, position, replicated.source.start, certain and several))
    return found


def judge(partitions: Sequence[Replicated]) -> CheckOutcome:
    """The outcome over all replicated partitions; an error when none of them has an offset sync to tell by."""
    found = [loss for each in partitions for loss in losses(each)]
    known = sum(each.history.latest is not None for each in partitions)
    lost = sum(loss.count for loss in found if loss.certain)
    findings: list[Finding] = [_finding(loss) for loss in found]
    if not known:
        findings.append(
            error("no-offset-sync", "no offset sync for any selected partition: positions cannot be compared")
        )
    counts: dict[str, int | float] = {
        "partitions": len(partitions),
        "withOffsetSyncs": known,
        "lost": lost,
        "possibleMarkers": sum(loss.count for loss in found if not loss.certain),
    }
    return CheckOutcome(
        NAME,
        f"{lost} offsets lost in {known} partitions with offset syncs",
        counts,
        tuple(findings),
        tuple(_sample(loss) for loss in sorted(found, key=lambda loss: (not loss.certain, -loss.count))),
    )


def _skipped(before: Sync, after: Sync) -> int:
    """Offsets by which the source advanced more than the target."""
    return (after.upstream - before.upstream) - (after.downstream - before.downstream)


def _finding(loss: Loss) -> Finding:
    offsets = f"{loss.partition}: source offsets {loss.first} to {loss.end - 1}"
    if not loss.certain:
        return note(
            "possible-markers",
            f"{offsets} were not replicated; the topic has transaction markers or compaction, which look the same",
            loss.count,
        )
    when = "" if loss.written_ms is None else f" (seen {_utc(loss.written_ms)})"
    return fail(
        "lost-to-retention",
        f"{offsets} never reached the target{when}: retention removed them first",
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


def _utc(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
