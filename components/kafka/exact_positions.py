"""Exactly where consumer groups continue in a remote partition, computed from the records of both sides. For a group at
offset `c` on the source, the position is the highest target offset that still has every record at or after `c` ahead of
it. It does not depend on where the walk begins. If MirrorMaker's tasks sent nothing twice, it is the offset of the
first of these records. If a restarted task sent records again, it is their last copy, so that fewer are read
twice.
"""

import itertools
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_replication.components.kafka.record_identity import IDENTITY_BYTES, Identified

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
class CopyOffsets:
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
class SourceWalk:
    """The newest source records that were walked, each with the offset of its last copy on the target.

    `wanted` are the committed offsets, sorted. For forgotten records, only what the positions need is kept.
    """

    wanted: Sequence[int]
    remembered: int
    copies: CopyOffsets | None = None
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

    def continues_resend(self, record: Identified) -> bool:
        """Return whether the record is the next one of those that are being sent again."""
        if self._again is None or self._passed.get(record.identity):
            return False
        begin = self._again * IDENTITY_BYTES
        if self._identities[begin : begin + IDENTITY_BYTES] != record.identity:
            return False
        self._sent_again(self._again, record.offset)
        return True

    def starts_resend(self, record: Identified) -> bool:
        """Return whether the record is a remembered one, at which records start being sent again."""
        index = self._index(record)
        if index is not None:
            self._sent_again(index, record.offset)
        return index is not None

    def skip_repeated(self, record: Identified) -> bool:
        """Skip a source record that equals an earlier one, and return whether it does. It may be a second copy, which
        does not cross back. If it is a record of its own, its copy comes later, as the next record that equals it.
        """
        if self._first_equal(record) is None:
            return False
        self.remember(record, _PASSED)
        self._passed.setdefault(record.identity, []).append(record.offset)
        return True

    def _index(self, record: Identified) -> int | None:
        """Return the index of the source record that this one may copy. If several equal records were skipped, it may
        copy any of them. Taken as a copy of the last one, it is after the position of every group that has not consumed
        all of them.
        """
        if passed := self._passed.get(record.identity):
            return bisect_left(self._offsets, passed.pop())
        return self._first_equal(record)

    def _first_equal(self, record: Identified) -> int | None:
        return next(self._equal(record.identity), None)

    def _equal(self, identity: bytes) -> Iterator[int]:
        index = self._identities.find(identity)
        while index >= 0:
            if index % IDENTITY_BYTES == 0:
                yield index // IDENTITY_BYTES
            index = self._identities.find(identity, index + 1)

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
        """Note where the copies of the oldest skipped records may be, before the records are forgotten."""
        end = self._offsets[count - 1] if count else NOWHERE
        doubtful: dict[bytes, list[int]] = {}
        for identity, passed in self._passed.items():
            if passed and passed[0] <= end:
                doubtful[identity] = []
                self._passed[identity] = [offset for offset in passed if offset > end]
        for index in range(len(self._offsets) if doubtful else 0):
            if (equal := doubtful.get(self._identity(index))) is not None:
                equal.append(index)
        for identity, equal in doubtful.items():
            copies = (self._copies[index] for index in equal if self._copies[index] >= 0)
            there = sorted([*self._earlier.get(identity, []), *copies])
            self._bound(equal, there)
            # A later record of the target may be the first copy, and would be taken for one of another origin.
            if self._forgotten or (not there and count < len(self._offsets)):
                self.doubtful_until = max(self.doubtful_until, self._offsets[equal[-1]])

    def _bound(self, equal: Sequence[int], there: Sequence[int]) -> None:
        """Let a group that has not consumed some of these equal records read as many of their copies, the last ones.

        The copies of those that it has consumed need not be among these: they may be before the start of the walk.
        """
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
        """Return the position of each committed offset; without later records on the target it is the target's end."""
        self._forget(len(self._offsets))
        positions = {}
        offset = bound = target_end
        missing = 0
        for index in range(len(self.wanted) - 1, -1, -1):
            committed = self.wanted[index]
            offset = min(offset, self._lowest.get(committed, offset))
            missing += self._missing.get(committed, 0)
            bound = min(bound, self._bounds.get(committed, bound))
            at = min(offset, bound)
            again = sum(count for copy, at_or_below, count in self._segments if at_or_below <= index and copy >= at)
            positions[committed] = ExactPosition(committed, at, again, missing, at_least=at < offset)
        return positions


#: How many source records are remembered, to recognise those that were sent again; 32 bytes each, up to twice this
#: many.
REMEMBERED = 1_000_000


@dataclass(frozen=True)
class PartitionPositions:
    """The positions of a partition by committed offset, and what the walk saw. `returning` has those of a pair's groups
    that have consumed on the target before, by committed offset and the offset at which they left the target. `waiting`
    records of the source are not on the target yet, the first of them at `first_waiting`. `sent_again` counts the
    second copies on the target, `on_target` the source's records that are there, `passed_over` the target's records
    older than these. `source_records` and `target_records` were read. `foreign` records of the target among these are
    not the source's.
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
    returning: Mapping[tuple[int, int], ExactPosition] = field(default_factory=dict)


class NotProvenError(Exception):
    """The records of the target are not those of the source; the message says where."""


def exact_positions(
    committed: Iterable[int],
    source: Iterator[Identified],
    target: Iterator[Identified],
    target_end: int,
    remembered: int = REMEMBERED,
    copies: CopyOffsets | None = None,
    *,
    shared: bool = False,
) -> PartitionPositions:
    """Walk both logs once, and return the position of each committed offset.

    With `shared`, others also wrote to the target, and their records are counted; without it, one such record makes a
    proof impossible. `source` are the records that cross, in order, from at or before the lowest committed offset on.
    `target` are those of the target up to `target_end`, which was asked for before the source's end. They may begin at
    any record: records before the first common one are passed over. `copies` is filled if given. Raises NotProvenError.
    """
    read_source, read_target = _Counted(source), _Counted(target)
    passed: dict[bytes, int] = {}
    before, source, target = from_first_common(read_source, read_target, remembered, passed)
    wanted = sorted(set(committed))
    walked = SourceWalk(wanted, remembered, copies, shared)
    for record in before:
        walked.remember(record, NOWHERE)
    expected, foreign = next(source, None), 0
    came_again: set[bytes] = set()
    for record in target:
        if copies is not None and record.identity in passed:
            came_again.add(record.identity)
        if walked.continues_resend(record):
            continue
        # A record that a task sent to a shared source twice does not return, so no copy of it is expected.
        while (
            shared and expected is not None and expected.identity != record.identity and walked.skip_repeated(expected)
        ):
            expected = next(source, None)
        if expected is not None and expected.identity == record.identity:
            walked.remember(expected, record.offset)
            expected = next(source, None)
        elif not walked.starts_resend(record):
            if not shared:
                raise _unknown(record, expected)
            foreign += 1
    # Without a foreign record, an equal record at the end may simply not have crossed yet.
    while foreign and expected is not None and walked.skip_repeated(expected):
        expected = next(source, None)
    rest = itertools.chain([expected] if expected is not None else [], source)
    waiting = _waiting(rest, passed)
    positions = walked.positions(target_end)
    _refuse_doubt(wanted, walked)
    if copies is not None:
        copies.target_passed.extend(sorted(passed[identity] for identity in passed.keys() - came_again))
    return PartitionPositions(
        positions,
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
    def __init__(self, records: Iterator[Identified]) -> None:
        self._records, self.count = records, 0

    def __next__(self) -> Identified:
        record = next(self._records)
        self.count += 1
        return record


def from_first_common(
    source: Iterator[Identified], target: Iterator[Identified], limit: int, passed: dict[bytes, int]
) -> tuple[list[Identified], Iterator[Identified], Iterator[Identified]]:
    """Return the source's records before the first common one, and both sides from there on.

    `passed` gets the offsets of the target's records before it, by identity.

    Retention may have removed more on either side, and replication may have begun with a later record. If one side has
    no records, there is nothing to compare, and the target's are passed over.
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
        for record in (record for record in (theirs, ours) if record is not None):
            here, there = at_source.get(record.identity), at_target.get(record.identity)
            if here is not None and there is not None:
                rest = itertools.chain(of_source[here:], source)
                passed |= {record.identity: record.offset for record in of_target[:there]}
                return of_source[:here], rest, itertools.chain(of_target[there:], target)
    if of_source and of_target:
        sides = f"the source's records from {of_source[0].offset} on and the target's from {of_target[0].offset} on"
        raise NotProvenError(f"{sides} have no record in common")
    return [], itertools.chain(of_source, source), iter(())


def _waiting(rest: Iterator[Identified], passed: Mapping[bytes, int]) -> int:
    """Return how many of the source's last records are not on the target yet.

    If the target has a copy of one before the first common record, a task has restarted and not caught up yet.
    """
    count = 0
    for count, record in enumerate(rest, start=1):  # noqa: B007
        if record.identity in passed:
            copy = f"the target's record {passed[record.identity]} is a copy of the source's record {record.offset}"
            raise NotProvenError(f"{copy}, and a task is sending earlier records again: wait until it has caught up")
    return count


def _refuse_doubt(wanted: list[int], walked: SourceWalk) -> None:
    if wanted and wanted[0] <= walked.doubtful_until:
        last = walked.doubtful_until
        told = f"some source records up to {last} equal earlier records that are too far back to compare"
        raise NotProvenError(f"{told}: let every group consume past {last} on the source first")


def _unknown(record: Identified, expected: Identified | None) -> NotProvenError:
    place = (
        f"where the source's record {expected.offset} was expected" if expected else "after the source's last record"
    )
    told = f"the target has record {record.offset} {place}"
    return NotProvenError(f"{told}, and record {record.offset} equals no earlier source record")
