"""Exactly where consumer groups go on in a partition of a prefixless pair, computed from both sides' records. Pure.

Both clusters hold the records of both, in different orders. A group that stands at `c` on the source has consumed some
of the target's own records there, as copies, and lacks others. Its position is the highest target offset from which on
everything that it has not consumed is still to come; what it has consumed and stands behind that is read again.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from components.kafka.exact_positions import PartitionPositions, exact_positions
from components.kafka.record_identity import Identified
from components.kafka.walked_records import Copies, ExactPosition

#: The records of one kind on one side, from a given offset on.
From = Callable[[int], Iterator[Identified]]


@dataclass(frozen=True)
class PairSides:
    """A partition of a pair: what was produced on the source or the target, and the copies of it on the other side.

    `target_end` was asked for before the source's end; `target_first` is the target's log start.
    """

    source: From
    copies_on_target: From
    target: From
    copies_on_source: From
    target_end: int
    target_first: int = 0


def pair_positions(
    committed: Iterable[int], sides: PairSides, source_start: int, target_start: int
) -> PartitionPositions:
    """Walk both directions, and return the position of each committed offset.

    The walk begins at these offsets, the first at or before the lowest committed offset, and again further before where
    a position is before the second. Raises NotProvenError.
    """
    wanted = sorted(set(committed))
    while True:
        found = _walked(wanted, sides, source_start, target_start)
        lowest = min(each.offset for each in found.positions.values())
        if lowest >= target_start:
            return found
        target_start = lowest


def _walked(wanted: list[int], sides: PairSides, source_start: int, target_start: int) -> PartitionPositions:
    there = _Noted(sides.copies_on_target(target_start))
    copies = Copies()
    found = exact_positions(wanted, sides.source(source_start), there, sides.target_end, copies=copies)
    own, theirs = _Noted(sides.target(target_start)), _Noted(sides.copies_on_source(source_start))
    back = Copies()
    returned = exact_positions([], own, theirs, 0, copies=back)
    if returned.passed_over and target_start > sides.target_first:
        # Timestamps may be out of order: only the whole log shows that the target has lost what these are copies of.
        return _walked(wanted, sides, source_start, sides.target_first)
    # The first of the target's own records that has no copy on the source.
    lacking = sides.target_end if returned.first_waiting is None else returned.first_waiting.offset
    lost = back.target_passed if own.offsets else theirs.rest()
    positions = {}
    to_come = _StillToCome(back)
    for each in sorted(found.positions.values(), key=lambda each: each.committed, reverse=True):
        at = bisect_left(back.target, each.committed)
        unread = back.source[at] if at < len(back.source) else lacking
        twice = to_come.since(each.committed)
        offset = min(each.offset, unread, *twice[:1])
        own_again = _between(own.offsets, offset, unread) - bisect_left(twice, unread)
        again = _consumed(copies, there.offsets, each.committed, offset) + own_again
        not_there = each.not_there + len(lost) - bisect_left(lost, each.committed)
        positions[each.committed] = ExactPosition(each.committed, offset, again, not_there)
    read_source = found.source_records + returned.target_records
    read_target = found.target_records + returned.source_records
    return replace(
        found,
        positions=positions,
        source_records=read_source,
        target_records=read_target,
        passed_over=found.passed_over + (_between(own.offsets, 0, back.source[0]) if back.source else 0),
    )


class _StillToCome:
    """The target's own records of which a second copy stands at a group's offset on the source or after it, in order.

    A group that came back has not always consumed the first copy: its position was that of the last one.
    """

    def __init__(self, back: Copies) -> None:
        self._back, self._found, self._from = back, array("q"), len(back.target_again)

    def since(self, committed: int) -> "array[int]":
        """Offsets on the target; to be asked for lower and lower offsets on the source."""
        begin = bisect_left(self._back.target_again, committed)
        for each in self._back.source_again[begin : self._from]:
            at = bisect_left(self._found, each)
            if at == len(self._found) or self._found[at] != each:
                self._found.insert(at, each)
        self._from = begin
        return self._found


class _Noted(Iterator[Identified]):
    """Notes the offsets of the records that pass."""

    def __init__(self, records: Iterator[Identified]) -> None:
        self._records = records
        self.offsets = array("q")

    def __next__(self) -> Identified:
        record = next(self._records)
        self.offsets.append(record.offset)
        return record

    def rest(self) -> "array[int]":
        """The offsets of all of them, also of those that nobody has asked for."""
        for _ in self:
            pass
        return self.offsets


def _between(offsets: "array[int]", start: int, end: int) -> int:
    return max(0, bisect_left(offsets, end) - bisect_left(offsets, start))


def _consumed(copies: Copies, there: "array[int]", committed: int, offset: int) -> int:
    """How many copies from `offset` on the target on are of records before `committed` on the source."""
    first = copies.target[0] if copies.target else (there[-1] + 1 if there else offset)
    earlier = _between(there, offset, first)
    in_order = max(0, bisect_left(copies.source, committed) - bisect_left(copies.target, offset))
    begin = bisect_left(copies.target_again, offset)
    again = sum(each < committed for each in copies.source_again[begin:])
    return earlier + in_order + again
