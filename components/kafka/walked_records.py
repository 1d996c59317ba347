"""The source records of a partition that were compared with the target's, with the last copy of each. Pure."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from components.kafka.record_identity import IDENTITY_BYTES, Identified

#: Instead of the offset of a copy: the record is not on the target, or is passed over unless a copy follows.
NOWHERE, _PASSED = -1, -2


@dataclass(frozen=True)
class ExactPosition:
    """Where a group at `committed` on the source continues: at `offset` on the target. From there it reads `read_again`
    records that it has already consumed on the source, because they were sent again. `not_there` records from
    `committed` on are missing on the target, although later ones are there. `expired` records before `offset` were
    deleted on the source, and a group before its first record may not have read them. With `at_least`, it may read more
    again: some records are equal, and the target does not distinguish them.
    """

    committed: int
    offset: int
    read_again: int = 0
    not_there: int = 0
    expired: int = 0
    at_least: bool = False


@dataclass(frozen=True)
class Copies:
    """Where each record was found: offsets on source and target, in order, and those of records that were sent again.

    `target_passed` are the offsets, in order, of the target's records before the first common one that the walk has not
    found on the source. It takes 8 bytes per number, for callers that need more than positions.
    """

    source: "array[int]" = field(default_factory=lambda: array("q"))
    target: "array[int]" = field(default_factory=lambda: array("q"))
    source_again: "array[int]" = field(default_factory=lambda: array("q"))
    target_again: "array[int]" = field(default_factory=lambda: array("q"))
    target_passed: "array[int]" = field(default_factory=lambda: array("q"))


@dataclass
class Walked:
    """The newest source records that were walked, each with the offset of its last copy on the target.

    `wanted` are the committed offsets, sorted. For forgotten records, only what the positions need is kept.
    """

    wanted: Sequence[int]
    remembered: int
    copies: Copies | None = None
    shared: bool = False
    sent_again: int = 0
    found: int = 0
    #: The last source record that was passed over and equals others, some of which may have been forgotten.
    doubtful_until: int = NOWHERE
    _identities: bytearray = field(default_factory=bytearray)
    _offsets: "array[int]" = field(default_factory=lambda: array("q"))
    _copies: "array[int]" = field(default_factory=lambda: array("q"))
    #: Offsets of the records that were passed over, in order, by identity.
    _passed: dict[bytes, list[int]] = field(default_factory=dict)
    #: The index where the copies that are being sent again continue; None if there are none.
    _again: int | None = None
    #: Consecutive second copies of records between the same two committed offsets: target offset, number of committed
    #: offsets at or below them, count.
    _segments: list[list[int]] = field(default_factory=list)
    _segment_is_open: bool = False
    #: By committed offset, for the records from it to the next one: the lowest last copy, and how many have none.
    _lowest: dict[int, int] = field(default_factory=dict)
    _missing: dict[int, int] = field(default_factory=dict)
    #: Earlier copies of the records that were sent again, in order, by identity; only if there is another origin.
    _earlier: dict[bytes, list[int]] = field(default_factory=dict)
    _forgotten: bool = False
    #: By committed offset: a position from which a group there reads every record that may be in doubt.
    _bounds: dict[int, int] = field(default_factory=dict)

    def remember(self, record: Identified, copy: int) -> None:
        """The next source record, and the offset of its copy on the target."""
        self._identities += record.identity
        self._offsets.append(record.offset)
        self._copies.append(copy)
        if self.copies is not None and copy >= 0:
            self.copies.source.append(record.offset)
            self.copies.target.append(copy)
        self.found += copy >= 0
        self._segment_is_open = False
        if len(self._offsets) >= 2 * self.remembered:
            self._forget(self.remembered)

    def goes_on(self, record: Identified) -> bool:
        """Whether the record is the next one of those that are being sent again."""
        if self._again is None or self._passed.get(record.identity):
            return False
        begin = self._again * IDENTITY_BYTES
        if self._identities[begin : begin + IDENTITY_BYTES] != record.identity:
            return False
        self._sent_again(self._again, record.offset)
        return True

    def begins_again(self, record: Identified) -> bool:
        """Whether the record is a remembered one, at which records start being sent again."""
        index = self._index(record)
        if index is not None:
            self._sent_again(index, record.offset)
        return index is not None

    def passes_over(self, record: Identified) -> bool:
        """Whether the source record equals an earlier one, so that it may be a second copy, which does not return. It
        may also be a record of its own. Its copy then comes later, and is the next record that equals it.
        """
        if self._first_equal(record) is None:
            return False
        self.remember(record, _PASSED)
        self._passed.setdefault(record.identity, []).append(record.offset)
        return True

    def _index(self, record: Identified) -> int | None:
        """The record of which this may be a copy. If several were passed over, it may be any of them. As a copy of the
        last of them, it is after the position of every group that has not consumed all of them.
        """
        if passed := self._passed.get(record.identity):
            return bisect_left(self._offsets, passed.pop())
        return self._first_equal(record)

    def _first_equal(self, record: Identified) -> int | None:
        return next(self._equal(record.identity), None)

    def _equal(self, identity: bytes) -> Iterator[int]:
        found = self._identities.find(identity)
        while found >= 0:
            if found % IDENTITY_BYTES == 0:
                yield found // IDENTITY_BYTES
            found = self._identities.find(identity, found + 1)

    def _identity(self, index: int) -> bytes:
        return bytes(self._identities[index * IDENTITY_BYTES : (index + 1) * IDENTITY_BYTES])

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
        before = self._copies[index]
        first = before < 0
        if self.shared and not first:
            self._earlier.setdefault(self._identity(index), []).append(before)
        self.found += first
        self.sent_again += not first
        self._copies[index] = copy
        self._again = index + 1 if index + 1 < len(self._offsets) else None

    def _forget(self, count: int) -> None:
        """Keep what the positions need of the oldest records, and forget the records."""
        self._doubt(count)
        self._settle(count)
        self._forgotten = True
        del self._identities[: count * IDENTITY_BYTES], self._offsets[:count], self._copies[:count]
        if self._again is not None:
            self._again = self._again - count if self._again >= count else None

    def _doubt(self, count: int) -> None:
        """For the oldest records that were passed over, keep where their copies may be."""
        end = self._offsets[count - 1] if count else NOWHERE
        doubtful: dict[bytes, list[int]] = {}
        for identity, passed in self._passed.items():
            if passed and passed[0] <= end:
                doubtful[identity] = []
                self._passed[identity] = [each for each in passed if each > end]
        for index in range(len(self._offsets) if doubtful else 0):
            if (equal := doubtful.get(self._identity(index))) is not None:
                equal.append(index)
        for identity, equal in doubtful.items():
            self._bound(equal, self._earlier.get(identity, []))
            if self._forgotten:
                self.doubtful_until = max(self.doubtful_until, self._offsets[equal[-1]])

    def _bound(self, equal: Sequence[int], earlier: Sequence[int]) -> None:
        """Let a group that has not consumed some of these equal records read as many copies, the last ones.

        Those that it has consumed need not be among the copies, since theirs may be before where the walk begins.
        """
        there = sorted([*earlier, *(self._copies[each] for each in equal if self._copies[each] >= 0)])
        for unread, index in enumerate(reversed(equal), start=1):
            at_or_below = bisect_right(self.wanted, self._offsets[index])
            if there and at_or_below:
                committed, bound = self.wanted[at_or_below - 1], there[-min(unread, len(there))]
                self._bounds[committed] = min(bound, self._bounds.get(committed, bound))

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
        missing = copies.count(NOWHERE)
        there = copies if copies and min(copies) >= 0 else [copy for copy in copies if copy >= 0]
        if there:
            lowest = min(there)
            self._lowest[committed] = min(lowest, self._lowest.get(committed, lowest))
        self._missing[committed] = self._missing.get(committed, 0) + missing

    def positions(self, target_end: int) -> dict[int, ExactPosition]:
        """The position of each committed offset; without later records on the target it is the target's end."""
        self._forget(len(self._offsets))
        found = {}
        offset = bound = target_end
        missing = 0
        for index in range(len(self.wanted) - 1, -1, -1):
            committed = self.wanted[index]
            offset = min(offset, self._lowest.get(committed, offset))
            missing += self._missing.get(committed, 0)
            bound = min(bound, self._bounds.get(committed, bound))
            at = min(offset, bound)
            again = sum(count for copy, at_or_below, count in self._segments if at_or_below <= index and copy >= at)
            found[committed] = ExactPosition(committed, at, again, missing, at_least=at < offset)
        return found
