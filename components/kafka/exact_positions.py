"""Exactly where consumer groups go on in a remote partition, computed from the records of both sides. Pure.

The position of a group that stands at `c` on the source is the highest offset of the target from which on every record
at `c` or later is still to come. It needs no trust in where the walk begins: each of those records is found on the
target at or after the position. Where MirrorMaker's tasks sent nothing twice, it is the offset of the first of these
records. Where a restarted task sent records again, it is their last copy, so that fewer are read a second time.
"""

import itertools
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from components.kafka.record_identity import IDENTITY_BYTES, Identified

#: How many source records are remembered, to recognise those that were sent again; 32 bytes each, up to twice as many.
REMEMBERED = 1_000_000
_NOWHERE = -1


@dataclass(frozen=True)
class ExactPosition:
    """Where a group at `committed` on the source goes on: at `offset` on the target.

    From there on it reads `read_again` records that it has consumed on the source, because they were sent again.
    `not_there` records from `committed` on are missing on the target, although later ones are there. `expired` records
    before `offset` were deleted on the source, and a group that stands before its first record may not have read them.
    """

    committed: int
    offset: int
    read_again: int = 0
    not_there: int = 0
    expired: int = 0


@dataclass(frozen=True)
class PartitionPositions:
    """The positions of a partition by committed offset, and what the walk saw.

    `waiting` records of the source are not on the target yet, the first of them at `first_waiting`. `sent_again` counts
    the second copies on the target, `on_target` the source's records that are there, `passed_over` the target's older
    than these. `source_records` and `target_records` were read. `foreign` records of the target among these are not the
    source's.
    """

    positions: Mapping[int, ExactPosition]
    waiting: int = 0
    first_waiting: Identified | None = None
    sent_again: int = 0
    source_records: int = 0
    target_records: int = 0
    on_target: int = 0
    passed_over: int = 0
    foreign: int = 0


@dataclass(frozen=True)
class Copies:
    """Where each record was found: offsets on source and target, in order, and those of records that were sent again.

    8 bytes for each number: for those who need more than positions.
    """

    source: "array[int]" = field(default_factory=lambda: array("q"))
    target: "array[int]" = field(default_factory=lambda: array("q"))
    source_again: "array[int]" = field(default_factory=lambda: array("q"))
    target_again: "array[int]" = field(default_factory=lambda: array("q"))


class NotProvenError(Exception):
    """The records of the target are not those of the source; the message says where."""


def exact_positions(
    committed: Iterable[int],
    source: Iterator[Identified],
    target: Iterator[Identified],
    target_end: int,
    remembered: int = REMEMBERED,
    copies: Copies | None = None,
    *,
    shared: bool = False,
) -> PartitionPositions:
    """Walk both logs once, and return the position of each committed offset.

    With `shared`, others wrote to the target, too, and their records are counted; without it, one proves nothing.
    `source` are the records that cross, in order, from at or before the lowest committed offset on. `target` are those
    of the target up to `target_end`, which was asked for before the source's end. They may begin at any record: what
    comes before the first common record is passed over. `copies` is filled if it is given. Raises NotProvenError.
    """
    read_source, read_target = _Counted(source), _Counted(target)
    passed: dict[bytes, int] = {}
    before, source, target = from_first_common(read_source, read_target, remembered, passed)
    walked = _Walked(sorted(set(committed)), remembered, copies)
    for record in before:
        walked.remember(record, _NOWHERE)
    expected, foreign = next(source, None), 0
    for record in target:
        if walked.goes_on(record):
            continue
        # What a task had sent twice to a shared source does not return, so that no copy of it is to be expected.
        while shared and expected is not None and expected.identity != record.identity and walked.knows(expected):
            expected = next(source, None)
        if expected is not None and expected.identity == record.identity:
            walked.remember(expected, record.offset)
            expected = next(source, None)
        elif not walked.begins_again(record):
            if not shared:
                raise _unknown(record, expected)
            foreign += 1
    # Without a foreign record, an equal one at the end may as well be one that has yet to cross.
    while foreign and expected is not None and walked.knows(expected):
        expected = next(source, None)
    rest = itertools.chain([expected] if expected is not None else [], source)
    waiting = _waiting(rest, passed)
    return PartitionPositions(
        walked.positions(target_end),
        waiting,
        expected,
        walked.sent_again,
        read_source.count,
        read_target.count,
        walked.found,
        read_target.count - walked.found - walked.sent_again - foreign,
        foreign,
    )


class _Counted(Iterator[Identified]):
    """Counts the records that pass."""

    def __init__(self, records: Iterator[Identified]) -> None:
        self._records, self.count = records, 0

    def __next__(self) -> Identified:
        record = next(self._records)
        self.count += 1
        return record


def from_first_common(
    source: Iterator[Identified],
    target: Iterator[Identified],
    limit: int,
    passed: dict[bytes, int] | None = None,
) -> tuple[list[Identified], Iterator[Identified], Iterator[Identified]]:
    """The source's records before the first common one, and both sides from there on.

    `passed` gets the offsets of the target's records before it, by identity.

    Retention may have removed more on either side, and replication may have begun with a later record. Where one side
    has no record, there is nothing to compare, and the target's are passed over.
    """
    of_source: list[Identified] = []
    of_target: list[Identified] = []
    at_source: dict[bytes, int] = {}
    at_target: dict[bytes, int] = {}
    for ours, theirs in itertools.islice(itertools.zip_longest(source, target), limit):
        if ours is not None:
            at_source.setdefault(ours.identity, len(of_source))
            of_source.append(ours)
        if theirs is not None:
            at_target.setdefault(theirs.identity, len(of_target))
            of_target.append(theirs)
        for found in (each for each in (theirs, ours) if each is not None):
            here, there = at_source.get(found.identity), at_target.get(found.identity)
            if here is not None and there is not None:
                rest = itertools.chain(of_source[here:], source)
                if passed is not None:
                    passed |= {each.identity: each.offset for each in of_target[:there]}
                return of_source[:here], rest, itertools.chain(of_target[there:], target)
    if of_source and of_target:
        sides = f"source from {of_source[0].offset} on and of the target from {of_target[0].offset} on"
        raise NotProvenError(f"the records of the {sides} have none in common")
    return [], itertools.chain(of_source, source), iter(())


def _waiting(rest: Iterator[Identified], passed: Mapping[bytes, int]) -> int:
    """How many of the source's last records are not on the target yet.

    If the target has a copy of one before the first common record, a task has begun again and not caught up yet.
    """
    count = 0
    for count, record in enumerate(rest, start=1):  # noqa: B007
        if record.identity in passed:
            copy = f"the target's record {passed[record.identity]} is the source's record {record.offset}"
            raise NotProvenError(f"{copy}, and a task is sending the records before it again: wait until it has")
    return count


def _unknown(record: Identified, expected: Identified | None) -> NotProvenError:
    place = f"where the source's record {expected.offset} belongs" if expected else "after the source's last record"
    return NotProvenError(f"the target's record {record.offset} stands {place}, and equals no earlier one")


@dataclass
class _Walked:
    """The newest source records that were walked, each with the offset of its last copy on the target.

    `wanted` are the committed offsets, sorted. Of records that are forgotten, only what the positions need is kept.
    """

    wanted: Sequence[int]
    remembered: int
    copies: Copies | None = None
    sent_again: int = 0
    found: int = 0
    _identities: bytearray = field(default_factory=bytearray)
    _offsets: "array[int]" = field(default_factory=lambda: array("q"))
    _copies: "array[int]" = field(default_factory=lambda: array("q"))
    #: Where the copies that are being sent again go on, as an index; None if none are.
    _again: int | None = None
    #: Consecutive second copies of records between the same two committed offsets: target offset, number of committed
    #: offsets at or below them, count.
    _segments: list[list[int]] = field(default_factory=list)
    _segment_is_open: bool = False
    #: By committed offset, of the records from it to the next one: the lowest last copy, and how many have none.
    _lowest: dict[int, int] = field(default_factory=dict)
    _missing: dict[int, int] = field(default_factory=dict)

    def remember(self, record: Identified, copy: int) -> None:
        """The next source record, and the offset of its copy on the target."""
        self._identities += record.identity
        self._offsets.append(record.offset)
        self._copies.append(copy)
        if self.copies is not None and copy != _NOWHERE:
            self.copies.source.append(record.offset)
            self.copies.target.append(copy)
        self.found += copy != _NOWHERE
        self._segment_is_open = False
        if len(self._offsets) >= 2 * self.remembered:
            self._forget(self.remembered)

    def goes_on(self, record: Identified) -> bool:
        """Whether the record is the next one of those that are being sent again."""
        if self._again is None:
            return False
        begin = self._again * IDENTITY_BYTES
        if self._identities[begin : begin + IDENTITY_BYTES] != record.identity:
            return False
        self._sent_again(self._again, record.offset)
        return True

    def begins_again(self, record: Identified) -> bool:
        """Whether the record is a remembered one, from which on records are sent again."""
        index = self._index(record)
        if index is not None:
            self._sent_again(index, record.offset)
        return index is not None

    def knows(self, record: Identified) -> bool:
        """Whether a remembered record equals it."""
        return self._index(record) is not None

    def _index(self, record: Identified) -> int | None:
        found = self._identities.find(record.identity)
        while found % IDENTITY_BYTES and found >= 0:
            found = self._identities.find(record.identity, found + 1)
        return None if found < 0 else found // IDENTITY_BYTES

    def _sent_again(self, index: int, copy: int) -> None:
        at_or_below = bisect_right(self.wanted, self._offsets[index])
        if self._segment_is_open and self._segments[-1][1] == at_or_below:
            self._segments[-1][2] += 1
        else:
            self._segments.append([copy, at_or_below, 1])
        self._segment_is_open = True
        if self.copies is not None:
            self.copies.source_again.append(self._offsets[index])
            self.copies.target_again.append(copy)
        first = self._copies[index] == _NOWHERE
        self.found += first
        self.sent_again += not first
        self._copies[index] = copy
        self._again = index + 1 if index + 1 < len(self._offsets) else None

    def _forget(self, count: int) -> None:
        """Keep what the positions need of the oldest records, and forget these."""
        self._settle(count)
        del self._identities[: count * IDENTITY_BYTES], self._offsets[:count], self._copies[:count]
        if self._again is not None:
            self._again = self._again - count if self._again >= count else None

    def _settle(self, count: int) -> None:
        begin = 0
        while begin < count:
            at_or_below = bisect_right(self.wanted, self._offsets[begin])
            last = at_or_below == len(self.wanted)
            end = count if last else bisect_left(self._offsets, self.wanted[at_or_below], begin, count)
            if at_or_below:
                self._add(self.wanted[at_or_below - 1], self._copies[begin:end])
            begin = end

    def _add(self, committed: int, copies: "array[int]") -> None:
        missing = copies.count(_NOWHERE)
        there = [copy for copy in copies if copy != _NOWHERE] if missing else copies
        if there:
            lowest = min(there)
            self._lowest[committed] = min(lowest, self._lowest.get(committed, lowest))
        self._missing[committed] = self._missing.get(committed, 0) + missing

    def positions(self, target_end: int) -> dict[int, ExactPosition]:
        """The position of each committed offset; without later records on the target it is the target's end."""
        self._forget(len(self._offsets))
        found = {}
        offset, missing = target_end, 0
        for index in range(len(self.wanted) - 1, -1, -1):
            committed = self.wanted[index]
            offset = min(offset, self._lowest.get(committed, offset))
            missing += self._missing.get(committed, 0)
            again = sum(count for copy, at_or_below, count in self._segments if at_or_below <= index and copy >= offset)
            found[committed] = ExactPosition(committed, offset, again, missing)
        return found
