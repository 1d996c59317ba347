"""What a difference between the two sides of a partition means. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.parity import meanings

#: Kinds of source records that a flow with `startFrom: latest` need not have replicated (see `causes`).
BEFORE_START, NOT_BEGUN, UNPROVEN = "before-start", "not-begun", "unproven"
#: Records that both sides hold, but in another order.
REORDERED = "reordered"
#: The last record of each block that the target holds again, although no restart can have sent it.
OUT_OF_TURN = "copied-out-of-turn"
#: The last record of such a block at the end of the target's log; its `records` are the offsets that those which follow
#: it take at most. A restarted task may still be sending them.
COPIED_AT_END = "copied-at-end"
#: Kinds of records that other kinds count, or that both sides hold.
UNCOUNTED = frozenset({REORDERED, OUT_OF_TURN, COPIED_AT_END})


#: This many restarts within what the offset-syncs topic holds are normal.
RESTARTS = 2


class Difference(NamedTuple):
    """Records that only one side of a partition holds, by kind (see `pairs.differing_records`).

    `first` and `last` are offsets on the side that holds them. Samples are (offset, time in ms, digest).
    """

    partition: TopicPartition
    kind: str
    records: int
    first: int
    last: int
    samples: tuple[tuple[int, int, str], ...] = ()

    @property
    def place(self) -> str:
        """Return where the records are, such as `partition 0 offsets 5 to 9`."""
        offsets = f"offset {self.first}" if self.first == self.last else f"offsets {self.first} to {self.last}"
        return f"partition {self.partition.partition} {offsets}"


@dataclass(frozen=True)
class Sides:
    """Both logs of a partition, and the records that each held in the first pass.

    A log may have offsets without a record: transaction markers, aborted records, records removed by compaction.
    `source_unread` and `target_unread` are offsets that could not be read because of open transactions. With
    `exactly_once`, the flow sends nothing twice. `written_end` is an end offset that the target's log has had: the
    offset after that of the newest offset sync; 0 without one. `source_anew`: the source's log is not the one from
    which records were replicated. `sent_again`: how many records the flow sent again each time it went back to an
    earlier offset. `guarded`: the records of the target that are compared carry the flow's mark.
    """

    source: OffsetRange
    target: OffsetRange
    source_records: int
    target_records: int
    compacted: bool
    source_unread: OffsetRange | None = None
    target_unread: OffsetRange | None = None
    exactly_once: bool = False
    written_end: int = 0
    source_anew: bool = False
    sent_again: Sequence[int] = ()
    guarded: bool = False

    @property
    def resent(self) -> int:
        """Return how many duplicates restarts explain. A second connector that writes the flow's offset syncs seems to
        begin again constantly, and explains none.
        """
        return sum(self.sent_again) if len(self.sent_again) <= RESTARTS else 0

    @property
    def held(self) -> int:
        """Return how many records the target holds. Markers of the flow's own transactions take at most half of its
        offsets; `target_records` were counted before the end was read.
        """
        return max(self.target_records, self.target.size // 2) if self.exactly_once else self.target.size

    @property
    def remade(self) -> bool:
        """Return whether the target's log ends before a record that the flow once wrote to it."""
        return self.target.end < self.written_end


#: What a difference means if the source topic was recreated.
_OF_ANOTHER_SOURCE: Mapping[meanings.Meaning, meanings.Meaning] = {
    **dict.fromkeys((meanings.MISSING, meanings.DIFFERENT, meanings.NEWEST_MISSING), meanings.NOT_OF_NEW_SOURCE),
    **dict.fromkeys(
        (meanings.EXTRA, meanings.NEWEST_OUTDATED, meanings.NEWEST_UNDELETED, meanings.NEWEST_FOREIGN),
        meanings.OF_OLD_SOURCE,
    ),
    meanings.EXPIRED_ON_TARGET: meanings.EXPIRED_OR_NEVER_CAME,
}
#: What a difference means on a target that has records of its own.
_IN_GUARDED: Mapping[meanings.Meaning, meanings.Meaning] = {
    meanings.EXTRA: meanings.MARKED_ELSEWHERE,
    meanings.EXPIRED_ON_TARGET: meanings.EXPIRED_OR_LOST,
}
#: A record that differs on the target: what the source has, and what the target has in its place (see `excuses`).
CHANGED, CHANGED_COPY = "missing-changed", "extra-changed"
#: `…-surplus`: more than an excuse explains (see `excuses`).
ON_TARGET_ONLY = frozenset({"extra", "extra-head", "extra-surplus", CHANGED_COPY})
#: Kinds of target records that no record of the source is paired with.
SURPLUS = ON_TARGET_ONLY | {"duplicated", "aborted"}
UNREPLICATED = frozenset({BEFORE_START, NOT_BEGUN, UNPROVEN})
#: Kinds of keys of a compacted topic, by the newest record of each key (see `pairs.newest_by_key`).
NEWEST: Mapping[str, Callable[[Sides], meanings.Meaning]] = {
    "newest-missing": lambda sides: meanings.COMPACTED if sides.target.start > 0 else meanings.NEWEST_MISSING,
    "newest-outdated": lambda _: meanings.NEWEST_OUTDATED,
    "newest-undeleted": lambda _: meanings.NEWEST_UNDELETED,
    "newest-foreign": lambda sides: meanings.COMPACTED if sides.source.start > 0 else meanings.NEWEST_FOREIGN,
    "newest-unproven": lambda _: meanings.COMPACTED,
    "newest-lost": lambda _: meanings.NEWEST_MISSING,
    "newest-stray": lambda _: meanings.NEWEST_FOREIGN,
}
#: What such keys are if an excuse does not explain them.
NEWEST_SURPLUS: Mapping[str, str] = {"newest-missing": "newest-lost", "newest-foreign": "newest-stray"}
NEWEST_ON_TARGET = NEWEST.keys() - {"newest-missing", "newest-lost"}
# Compaction keeps the newest record of each key, so it does not explain these kinds.
_JUDGED_WHEN_COMPACTED = UNREPLICATED | {
    *("missing", "missing-tail", "duplicated", "aborted", "unmarked", "missing-surplus", "extra-surplus"),
    REORDERED,
}

_MEANINGS: Mapping[str, Callable[[Sides], meanings.Meaning]] = {
    BEFORE_START: lambda sides: meanings.BEFORE_START_OR_EXPIRED if sides.target.start > 0 else meanings.BEFORE_START,
    NOT_BEGUN: lambda _: meanings.NOT_BEGUN,
    UNPROVEN: lambda _: meanings.UNPROVEN,
    "missing-hole": lambda _: meanings.MISSING,
    "missing-surplus": lambda _: meanings.MISSING,
    **dict.fromkeys((CHANGED, CHANGED_COPY), lambda _: meanings.DIFFERENT),
    "extra-surplus": lambda _: meanings.EXTRA,
    "missing-head": lambda sides: meanings.EXPIRED_ON_TARGET if sides.target.start > 0 else meanings.MISSING,
    "missing-tail": lambda sides: meanings.REMADE if sides.remade else meanings.LAGGING,
    "missing": lambda sides: _nothing_equal(sides),
    "duplicated": lambda _: meanings.DUPLICATED,
    "aborted": lambda _: meanings.ABORTED,
    "unmarked": lambda _: meanings.UNMARKED,
    REORDERED: lambda _: meanings.REORDERED,
    OUT_OF_TURN: lambda _: meanings.OUT_OF_TURN,
    "extra-head": lambda sides: meanings.EXPIRED_ON_SOURCE if sides.source.start > 0 else meanings.EXTRA,
    "extra": lambda sides: (
        meanings.EXPIRED_ON_SOURCE if not sides.source_records and sides.source.start > 0 else meanings.EXTRA
    ),
}


def _nothing_equal(sides: Sides) -> meanings.Meaning:
    """In a guarded flow, the target may still hold records of its own."""
    if sides.target_records:
        return meanings.DIFFERENT
    if sides.remade:
        return meanings.REMADE
    expired = sides.target.start > 0 and (sides.guarded or not sides.target.size)
    return meanings.EXPIRED_ON_TARGET if expired else meanings.LAGGING


def _of_newest(difference: Difference, sides: Sides) -> meanings.Meaning:
    if sides.source_unread is not None and difference.kind in NEWEST_ON_TARGET - {"newest-stray"}:
        return meanings.UNDECIDED
    if sides.remade and difference.kind == "newest-missing":
        return meanings.REMADE
    return NEWEST[difference.kind](sides)


def meaning(difference: Difference, sides: Sides) -> meanings.Meaning:
    """Return what a difference means, given what both logs still hold and what may explain it."""
    kind = _of_both_logs(difference, sides)
    if sides.source_anew:
        return _OF_ANOTHER_SOURCE.get(kind, kind)
    return _IN_GUARDED.get(kind, kind) if sides.guarded else kind


def _of_both_logs(difference: Difference, sides: Sides) -> meanings.Meaning:
    if difference.kind in NEWEST:
        return _of_newest(difference, sides)
    if sides.compacted and difference.kind not in _JUDGED_WHEN_COMPACTED:
        return meanings.COMPACTED_APART
    if sides.source_unread is not None and difference.kind in ON_TARGET_ONLY - {"extra-surplus", CHANGED_COPY}:
        return meanings.UNDECIDED
    if difference.kind == "duplicated" and 2 * (difference.records - sides.resent) >= sides.held:
        return meanings.REPEATED
    if (
        difference.kind == REORDERED
        and difference.records <= sides.resent
        and (sides.compacted or sides.target.start > 0)
    ):
        return meanings.ORDER_NOT_PROVEN
    if difference.kind == "duplicated" and sides.exactly_once:
        return meanings.DUPLICATED_EXACTLY_ONCE
    return _MEANINGS[difference.kind](sides)
