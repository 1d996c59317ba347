"""Exactly where consumer groups continue in a partition of a prefixless pair, computed from both sides' records. Pure.
Both clusters hold the records of both, in different orders. A group at offset `c` on the source has consumed some of
the target's own records there, as copies, but not others. Its position is the highest target offset from which
everything that it has not consumed is still to come; it reads again what it has consumed after that.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from kafka_replication.components.kafka.exact_positions import (
    CopyOffsets,
    ExactPosition,
    PartitionPositions,
    exact_positions,
)
from kafka_replication.components.kafka.record_identity import Identified

#: Returns the records of one kind on one side, from a given offset on.
RecordsFrom = Callable[[int], Iterator[Identified]]


@dataclass(frozen=True)
class PairSides:
    """A partition of a pair: what was produced on the source or the target, and the copies of it on the other side.

    `target_end` was asked for before the source's end; `target_first` is the target's log start.
    """

    source: RecordsFrom
    copies_on_target: RecordsFrom
    target: RecordsFrom
    copies_on_source: RecordsFrom
    target_end: int
    target_first: int = 0


def pair_positions(
    committed: Iterable[int],
    sides: PairSides,
    source_start: int,
    target_start: int,
    left: Iterable[tuple[int, int]] = (),
) -> PartitionPositions:
    """Walk both directions, and return the position of each committed offset.

    `left` has the committed offsets of groups that have consumed on the target before, each with the offset at which
    they left it. The walk begins at the two starts; `source_start` is at or before the lowest committed offset. If a
    position turns out to be before `target_start`, the walk is repeated from there. Raises NotProvenError.
    """
    wanted, returning = sorted(set(committed)), sorted(set(left), reverse=True)
    while True:
        combined = _walk_both(wanted, sides, source_start, target_start, returning)
        lowest = min(position.offset for position in combined.positions.values())
        if lowest >= target_start:
            return combined
        target_start = lowest


def _walk_both(
    wanted: list[int], sides: PairSides, source_start: int, target_start: int, left: list[tuple[int, int]]
) -> PartitionPositions:
    there = _Noted(sides.copies_on_target(target_start))
    copies = CopyOffsets()
    forward = exact_positions(wanted, sides.source(source_start), there, sides.target_end, copies=copies)
    own, theirs = _Noted(sides.target(target_start)), _Noted(sides.copies_on_source(source_start))
    back = CopyOffsets()
    returned = exact_positions([], own, theirs, 0, copies=back)
    if returned.passed_over and target_start > sides.target_first:
        # Timestamps may be out of order: only the whole log shows that the target lost the originals of these copies.
        return _walk_both(wanted, sides, source_start, sides.target_first, left)
    # The first of the target's own records that has no copy on the source.
    lacking = sides.target_end if returned.first_waiting is None else returned.first_waiting.offset
    lost = back.target_passed if own.offsets else theirs.rest()
    walk = _BothWalks(copies, there.offsets, back, own.offsets, lost, lacking, sides.target_end, _StillToCome(back))
    positions = {committed: walk.position(forward.positions[committed]) for committed in reversed(wanted)}
    walk = replace(walk, to_come=_StillToCome(back))
    returning = {(committed, at): walk.returning(positions[committed], at) for committed, at in left}
    read_source = forward.source_records + returned.target_records
    read_target = forward.target_records + returned.source_records
    return replace(
        forward,
        positions=positions,
        returning=returning,
        source_records=read_source,
        target_records=read_target,
        passed_over=forward.passed_over + (_between(own.offsets, 0, back.source[0]) if back.source else 0),
    )


@dataclass(frozen=True)
class _BothWalks:
    """What both walks found. Positions must be requested in descending order of the committed offsets."""

    copies: CopyOffsets
    there: "array[int]"
    back: CopyOffsets
    own: "array[int]"
    lost: "array[int]"
    lacking: int
    end: int
    to_come: "_StillToCome"

    def position(self, position: ExactPosition) -> ExactPosition:
        """Return the position of a group, given where it would be without the target's own records."""
        unread, twice = self._unread(position.committed)
        not_there = position.not_there + len(self.lost) - bisect_left(self.lost, position.committed)
        return self._at(replace(position, not_there=not_there), min(position.offset, unread, *twice[:1]))

    def returning(self, position: ExactPosition, left: int) -> ExactPosition:
        """Return the position of a group that has also consumed everything on the target before `left`."""
        unread, twice = self._unread(position.committed)
        first = max(bisect_left(self.copies.source, position.committed), bisect_left(self.copies.target, left))
        again = bisect_left(self.copies.target_again, left)
        sent_again = zip(self.copies.source_again[again:], self.copies.target_again[again:], strict=True)
        firsts = (
            *self.own[bisect_left(self.own, max(unread, left)) :][:1],
            *twice[bisect_left(twice, left) :][:1],
            *self.copies.target[first:][:1],
            *(at for source, at in sent_again if source >= position.committed),
        )
        return self._at(position, max(position.offset, min(firsts, default=self.end)))

    def _unread(self, committed: int) -> "tuple[int, array[int]]":
        """Return the target's first own record not copied before `committed`, and those copied before and after."""
        at = bisect_left(self.back.target, committed)
        return self.back.source[at] if at < len(self.back.source) else self.lacking, self.to_come.since(committed)

    def _at(self, position: ExactPosition, offset: int) -> ExactPosition:
        unread, twice = self._unread(position.committed)
        again = _consumed(self.copies, self.there, position.committed, offset)
        again += max(0, _between(self.own, offset, unread) - _between(twice, offset, unread))
        return replace(position, offset=offset, read_again=again)


class _StillToCome:
    """The target's own records with a second copy at or after a group's offset on the source, in order.

    A group that moved back to the source need not have consumed the first copy, because it continued at the last one.
    """

    def __init__(self, back: CopyOffsets) -> None:
        self._back, self._found, self._from = back, array("q"), len(back.target_again)

    def since(self, committed: int) -> "array[int]":
        """Return offsets on the target; must be requested in descending order of offsets on the source."""
        begin = bisect_left(self._back.target_again, committed)
        for offset in self._back.source_again[begin : self._from]:
            at = bisect_left(self._found, offset)
            if at == len(self._found) or self._found[at] != offset:
                self._found.insert(at, offset)
        self._from = begin
        return self._found


class _Noted(Iterator[Identified]):
    def __init__(self, records: Iterator[Identified]) -> None:
        self._records = records
        self.offsets = array("q")

    def __next__(self) -> Identified:
        record = next(self._records)
        self.offsets.append(record.offset)
        return record

    def rest(self) -> "array[int]":
        """Read the remaining records too, and return the offsets of all."""
        for _ in self:
            pass
        return self.offsets


def _between(offsets: "array[int]", start: int, end: int) -> int:
    return max(0, bisect_left(offsets, end) - bisect_left(offsets, start))


def _consumed(copies: CopyOffsets, there: "array[int]", committed: int, offset: int) -> int:
    """Return how many copies at or after `offset` on the target are of records before `committed` on the source."""
    first = copies.target[0] if copies.target else (there[-1] + 1 if there else offset)
    earlier = _between(there, offset, first)
    in_order = max(0, bisect_left(copies.source, committed) - bisect_left(copies.target, offset))
    begin = bisect_left(copies.target_again, offset)
    again = sum(offset < committed for offset in copies.source_again[begin:])
    return earlier + in_order + again
