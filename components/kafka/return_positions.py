"""Where consumer groups and a flow return to after a failover.

Groups return from offsets of a remote partition to offsets of its original partition. MirrorMaker never translates in
this direction. A group at offset `c` on the remote partition has consumed, at most, the records with a copy below `c`.
It returns to the offset after the last of them. Copies keep the order of their records, so each earlier record was
consumed, or never reached the remote partition; the latter are counted. This offset is too high for a group that began
after the first copies of records that were sent again. After a failover a group begins at or before the last copy of
the first record that it had not consumed. So it has certainly consumed only the records that it consumed before it
left, and those between that copy and `c`.

With the identity policy, the new origin's partition holds copies of the old origin's records, followed by records that
producers wrote there. The flow back begins at the first record of a producer, so that no copy returns to its origin.
"""

import itertools
import math
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafka_replication.components.kafka.exact_positions import REMEMBERED, NotProvenError, from_first_common
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.components.kafka.record_identity import Identified

#: How many records are read ahead, at most, to find the one that a copy equals.
AHEAD = 100_000


@dataclass(frozen=True)
class PositionBack:
    """A group at `committed` on the remote partition continues at `offset` on the original one, at the latest. `newest`
    is the offset of the record whose copy is the last one below `committed`; `unless_before` is the lowest of those
    that were sent again after it. `deleted` records that the group has not consumed are only on the remote partition,
    because retention was faster on the other side. With `lost`, the remote partition has deleted records that the group
    may not have read.
    """

    committed: int
    offset: int
    deleted: int = 0
    newest: int | None = None
    unless_before: float = math.inf
    lost: bool = False


@dataclass(frozen=True)
class PartitionBack:
    """The positions of a partition by committed offset, and the records that only the original partition has.
    `only_here` has the offsets of those after the last common record, and `gaps` of those before it. `passed_over`
    copies were read before the first common record. `began` maps the offset that a group had committed when it
    left to the last copy of the first record at or after it. `turns` are the last copies before the remote partition
    goes back to earlier records: the offsets of copy and record.
    """

    positions: Mapping[int, PositionBack]
    only_here: OffsetRange
    gaps: tuple[OffsetRange, ...] = ()
    passed_over: int = 0
    began: Mapping[int, int] = field(default_factory=dict)
    turns: tuple[tuple[int, int], ...] = ()

    def continues_at(self, committed: int, left_at: int) -> tuple[int, int]:
        """Return where a group that had committed `left_at` before it left continues, and at most how many of the
        offsets from there on it has consumed.
        """
        position = self.positions[committed]
        at = max(self._consumed_until(position, left_at), left_at)
        return at, max(0, position.offset - at)

    def _consumed_until(self, position: PositionBack, left_at: int) -> int:
        """Return a record below which the group has consumed everything from `left_at` on."""
        if position.lost:
            return 0
        began = self.began.get(left_at, math.inf)
        if position.committed < began:
            return int(min(position.offset, position.unless_before))
        newest = [record for at, record in self.turns if began <= at < position.committed]
        if position.newest is not None and began < position.committed:
            newest.append(position.newest)
        return max(newest, default=left_at - 1) + 1


def positions_back(
    committed: Iterable[int],
    remote: Iterator[Identified],
    origin: Iterator[Identified],
    origin_end: int,
    remembered: int = REMEMBERED,
    *,
    remote_start: int = 0,
    left_at: Iterable[int] = (),
) -> PartitionBack:
    """Walk both logs once, and return the position of each committed offset.

    `remote` are the copies in order, from before the lowest committed offset if there are any; those before
    `remote_start` are deleted. `origin` are the records that cross, from at or before the first of these up to
    `origin_end`. Groups had committed `left_at` there before they left. Raises NotProvenError.
    """
    #: The copies before the first common record: the origin no longer has their records, or the walk began without
    #: them.
    passed: dict[bytes, int] = {}
    _, origin, remote = from_first_common(origin, remote, remembered, passed)
    walk, left = _OriginWalk(origin, remembered), _Left(deque(sorted({*left_at, 0})))
    before: list[int] = []
    positions: list[PositionBack] = []
    waiting = deque(sorted(set(committed)))
    #: For the copies that were sent again after this many committed offsets: the lowest offset of their records.
    again: dict[int, int] = {}

    def place(below: float) -> None:
        while waiting and waiting[0] <= below:
            at = waiting.popleft()
            if walk.last is None:
                before.append(at)
            else:
                positions.append(PositionBack(at, walk.last + 1, newest=left.newest))

    for copy in remote:
        place(copy.offset)
        highest, record = walk.last, walk.match(copy)
        left.note(copy.offset, record)
        if highest is not None and record <= highest:
            placed = len(before) + len(positions)
            again[placed] = min(record, again.get(placed, record))
    place(math.inf)
    if walk.first is None or walk.last is None:
        raise NotProvenError("the remote partition no longer has any records")
    later = (passed[record.identity] for record in walk.every() if record.identity in passed) if passed else iter(())
    if (first := next(later, None)) is not None:
        told = f"after its record {first}, the remote partition holds earlier records that were sent again"
        raise NotProvenError(
            f"{told}: their first copies are deleted, so it is unknown which records groups have consumed"
        )
    # A group that has consumed no copy that still exists continues at the first record that has one.
    deleted = sorted(passed.values())
    positions += [PositionBack(at, walk.first, deleted=len(deleted) - bisect_left(deleted, at)) for at in before]
    return PartitionBack(
        {position.committed: position for position in _doubted(positions, again, remote_start)},
        OffsetRange(walk.last + 1, origin_end),
        tuple(walk.gaps),
        len(passed),
        left.began,
        tuple(left.turns),
    )


def _doubted(positions: Iterable[PositionBack], again: Mapping[int, int], remote_start: int) -> Iterator[PositionBack]:
    """Yield the positions, with the records sent again after them, and whether records at them were deleted."""
    lowest = math.inf
    in_order = sorted(positions, key=lambda position: position.committed)
    for placed in range(len(in_order), 0, -1):
        lowest = min(lowest, again.get(placed, math.inf))
        position = in_order[placed - 1]
        yield replace(position, unless_before=lowest, lost=position.committed < remote_start)


@dataclass
class _Left:
    """Follows the copies for the groups that left at these sorted offsets; see PartitionBack for `turns`."""

    waiting: "deque[int]"
    turns: list[tuple[int, int]] = field(default_factory=list)
    newest: int | None = None
    _newest_at: int = 0
    #: By the offset at which groups left: the first record from there on that has a copy, with its last copy.
    _firsts: dict[int, int] = field(default_factory=dict)
    _copies: dict[int, int] = field(default_factory=dict)

    def note(self, at: int, record: int) -> None:
        """The next copy, and the offset of its record."""
        if self.newest is not None and record <= self.newest:
            self.turns.append((self._newest_at, self.newest))
        while self.waiting and self.waiting[0] <= record:
            self._firsts[self.waiting.popleft()] = record
            self._copies[record] = at
        if record in self._copies:
            self._copies[record] = at
        self._newest_at, self.newest = at, record

    @property
    def began(self) -> dict[int, int]:
        return {left: self._copies[record] for left, record in self._firsts.items()}


@dataclass
class _OriginWalk:
    """How far the copies were found among the origin's records; `first` and `last` are offsets there."""

    origin: Iterator[Identified]
    remembered: int
    first: int | None = None
    last: int | None = None
    gaps: list[OffsetRange] = field(default_factory=list)
    _ahead: "deque[Identified]" = field(default_factory=deque)
    #: Offsets of the newest records that were found, by identity.
    _known: "OrderedDict[bytes, int]" = field(default_factory=OrderedDict)

    def match(self, copy: Identified) -> int:
        """Return the offset of the record that the copy equals: the next one, or one that was found before.

        Raises NotProvenError if there is none.
        """
        at = self._next(copy.identity)
        if at is not None:
            skipped = [self._ahead.popleft() for _ in range(at)]
            record = self._ahead.popleft()
            if skipped:
                self.gaps.append(OffsetRange(skipped[0].offset, skipped[-1].offset + 1))
            self.last = record.offset
            self.first = record.offset if self.first is None else self.first
            self._known[record.identity] = record.offset
            if len(self._known) > self.remembered:
                self._known.popitem(last=False)
            return record.offset
        if copy.identity in self._known:
            return self._known[copy.identity]
        told = (
            f"the remote partition's record {copy.offset} equals no record after {self.last} in the original partition"
        )
        raise NotProvenError(told)

    def every(self) -> Iterator[Identified]:
        """Yield the newest records that were found, then the origin's records after them."""
        yield from (Identified(offset, identity) for identity, offset in self._known.items())
        yield from self._ahead
        yield from self.origin

    def _next(self, identity: bytes) -> int | None:
        """Return how many records precede the next one with this identity; None without one, or if sent again."""
        for index in itertools.count():
            if index == len(self._ahead):
                record = next(self.origin, None) if index < AHEAD else None
                if record is None:
                    return None
                self._ahead.append(record)
            if self._ahead[index].identity == identity:
                return index
            if index == 0 and identity in self._known:
                return None
        return None


@dataclass(frozen=True)
class FlowBackStart:
    """The flow back begins at `offset` of the new origin, and has `records` records to copy so far.

    `last_common` is the offset of the old origin's last record that the new origin has; None if it has none.
    `oldest_ms` is the lowest timestamp of the records to take back, None if there are none.
    """

    offset: int
    records: int
    last_common: int | None
    oldest_ms: int | None


def flow_back_start(
    old: Iterable[Identified], new: Iterator[Identified], new_start: int, *, whole: bool
) -> FlowBackStart | None:
    """Compare both logs up to their ends; None if a larger part of them must be compared.

    `old` are the old origin's last records, or all with `whole`. `new` are the new origin's from `new_start` on, which
    is before any copy of the first of them. Raises NotProvenError if both origins' records are mixed.
    """
    at: dict[bytes, int] = {}
    first = None
    for record in old:
        first = first or record
        at[record.identity] = record.offset
    begin, last_common, own, oldest_ms, mixed = new_start, None, 0, None, None
    begun = whole
    for record in new:
        begun = begun or (first is not None and record.identity == first.identity)
        original = at.get(record.identity)
        if original is None:
            own += begun
            oldest_ms = record.time_ms if oldest_ms is None else min(oldest_ms, record.time_ms)
            continue
        if own and mixed is None and last_common is not None:
            mixed = (record.offset - own, record.offset, original)
        begin, own, oldest_ms = record.offset + 1, 0, None
        last_common = original if last_common is None else max(last_common, original)
    if not begun or (mixed is not None and not whole):
        return None
    if mixed is not None:
        copy = f"record {mixed[1]} of the new origin is a copy of the old origin's record {mixed[2]}"
        raise NotProvenError(f"records of both origins are mixed: {copy}, but follows records that are not copies")
    return FlowBackStart(begin, own, last_common, oldest_ms)
