"""Where consumer groups go back to: from offsets of a remote partition to offsets of the partition it came from. Pure.

MirrorMaker never translates in this direction. A group that stands at `c` on the remote partition has consumed the
records of which some copy is below `c`. It goes back to one after the last of them: copies keep the order of their
records, so every record below was consumed, or never reached the remote partition and is counted.
"""

import itertools
import math
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from components.kafka.exact_positions import REMEMBERED, NotProvenError, from_first_common
from components.kafka.positions import OffsetRange
from components.kafka.record_identity import Identified

#: How many records are read ahead, at most, to find one that a copy equals.
AHEAD = 100_000


@dataclass(frozen=True)
class PositionBack:
    """A group at `committed` on the remote partition goes on at `offset` on the one it came from.

    `never_crossed` records below `offset` have no copy, so that the group did not get them on the remote partition.
    `deleted` records that the group has not consumed are on the remote partition only, because retention was faster on
    the other side.
    """

    committed: int
    offset: int
    never_crossed: int = 0
    deleted: int = 0


@dataclass(frozen=True)
class PartitionBack:
    """The positions of a partition by committed offset, and which records only the partition that they came from has.

    `only_here` are the offsets of those after the last common record, and `gaps` of those before it.
    """

    positions: Mapping[int, PositionBack]
    only_here: OffsetRange
    gaps: tuple[OffsetRange, ...] = ()


def positions_back(
    committed: Iterable[int],
    remote: Iterator[Identified],
    origin: Iterator[Identified],
    origin_end: int,
    remembered: int = REMEMBERED,
) -> PartitionBack:
    """Walk both logs once, and return the position of each committed offset.

    `remote` are the copies in order, from before the lowest committed offset if there are any. `origin` are the records
    that cross, from at or before the first of these up to `origin_end`. Raises NotProvenError.
    """
    passed: list[int] = []
    _, origin, remote = from_first_common(origin, _noted(remote, passed), remembered)
    walk = _Walk(origin, remembered)
    before: list[int] = []
    found: list[PositionBack] = []
    waiting = deque(sorted(set(committed)))

    def place(below: float) -> None:
        while waiting and waiting[0] <= below:
            at = waiting.popleft()
            if walk.last is None:
                before.append(at)
            else:
                found.append(PositionBack(at, walk.last + 1, walk.missing))

    for copy in remote:
        if walk.last is None:
            passed = [each for each in passed if each < copy.offset]
        place(copy.offset)
        walk.match(copy)
    place(math.inf)
    if walk.first is None or walk.last is None:
        raise NotProvenError("the remote partition has no record any more")
    # A group that has consumed no copy which still exists goes on at the first record that has one.
    found += [PositionBack(at, walk.first, deleted=sum(each >= at for each in passed)) for at in before]
    return PartitionBack(
        {each.committed: each for each in found}, OffsetRange(walk.last + 1, origin_end), tuple(walk.gaps)
    )


def _noted(records: Iterator[Identified], offsets: list[int]) -> Iterator[Identified]:
    """The records, which leave their offsets."""
    for record in records:
        if len(offsets) < REMEMBERED:
            offsets.append(record.offset)
        yield record


@dataclass
class _Walk:
    """How far the copies were found among the origin's records.

    `first` and `last` are offsets of the origin. `missing` records between them have no copy.
    """

    origin: Iterator[Identified]
    remembered: int
    first: int | None = None
    last: int | None = None
    missing: int = 0
    gaps: list[OffsetRange] = field(default_factory=list)
    _ahead: "deque[Identified]" = field(default_factory=deque)
    _known: "OrderedDict[bytes, None]" = field(default_factory=OrderedDict)

    def match(self, copy: Identified) -> None:
        """Go on to the record that the copy equals. Raises NotProvenError if there is none."""
        at = self._next(copy.identity)
        if at is not None:
            skipped = [self._ahead.popleft() for _ in range(at)]
            record = self._ahead.popleft()
            if skipped:
                self.missing += len(skipped)
                self.gaps.append(OffsetRange(skipped[0].offset, skipped[-1].offset + 1))
            self.last = record.offset
            self.first = record.offset if self.first is None else self.first
            self._remember(record)
        elif copy.identity not in self._known:
            told = f"the remote partition's record {copy.offset} equals none of the records after {self.last}"
            raise NotProvenError(told)

    def _next(self, identity: bytes) -> int | None:
        """How many records are before the next one with this identity; None if there is none, or it was sent again."""
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

    def _remember(self, record: Identified) -> None:
        self._known[record.identity] = None
        if len(self._known) > self.remembered:
            self._known.popitem(last=False)
