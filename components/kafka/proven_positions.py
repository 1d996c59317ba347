"""Where a group continues if the source is lost, derived from what was proven while both sides could be read. Pure. A
group's checkpoint on the target says how far the group had come on the source, and gives a target offset for that,
often an earlier one than necessary. A span that was proven earlier translates it exactly. Neither skips a record, so
the one further ahead is used.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kafka_replication.components.kafka.positions import OffsetRange


class Span(NamedTuple):
    """What both sides of a partition held when they were found equal.

    The source's records at offsets from `source_start` to before `source` are those of the target from `target_start`
    to before `target`, in the same order, and every later one is at `target` or after it. With `dense`, both logs held
    a record at each of these offsets, so the place of each record is known.
    """

    source_start: int
    source: int
    target_start: int
    target: int
    dense: bool


class TargetPlace(NamedTuple):
    """An offset of the target. A group that continues there skips nothing and reads at most `read_again` records again.

    Copies of a restarted task are not counted.
    """

    offset: int
    read_again: int


class ProvenPosition(NamedTuple):
    """A group at `committed` on the source was proven to continue at `offset` on the target."""

    committed: int
    offset: int
    read_again: int

    @property
    def place(self) -> TargetPlace:
        return TargetPlace(self.offset, self.read_again)


def place_in(span: Span, committed: int) -> TargetPlace | None:
    """Return where a group at `committed` on the source continues; None if the span does not show it."""
    if committed >= span.source:
        return TargetPlace(span.target, committed - span.source)
    if span.dense and committed >= span.source_start:
        return TargetPlace(span.target_start + committed - span.source_start, 0)
    return None


def further(*places: TargetPlace | None) -> TargetPlace | None:
    """Return the place furthest ahead, since none of them skips a record."""
    return max((place for place in places if place is not None), key=lambda place: place.offset, default=None)


def place_after_loss(
    upstream: int, downstream: int, span: Span | None, published: ProvenPosition | None, target: OffsetRange
) -> int:
    """Return the offset on the target at which a group with this newest checkpoint continues.

    `span` and `published` were published about the partition and the group; `target` is the log now. Since then, a
    group may have been reset to an earlier offset on the source. MirrorMaker then writes a checkpoint if it can
    translate the offset, so a position that was published for a later offset than the checkpoint's is ignored. The
    result is never before the start of the log: a consumer would apply its `auto.offset.reset` there, usually the end.
    """
    return max([target.start, downstream, *_usable(upstream, span, published, target)])


def _usable(upstream: int, span: Span | None, published: ProvenPosition | None, target: OffsetRange) -> Iterator[int]:
    if span is None or target.end < span.target:
        # The target has since lost the end of its log, and now holds other records there.
        return
    known = place_in(span, upstream)
    places = [known] if known is not None else []
    if published is not None and published.committed <= upstream:
        places.append(published.place)
    yield from (place.offset for place in places if target.start <= place.offset <= target.end)
