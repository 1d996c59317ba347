"""Where a group continues on the target, derived from nothing but the ends of both logs. Pure.

Let a remote partition end at `target`, and afterwards its source partition at `source`. Whatever is written to the
source from then on has its first copy at `target` or after it: nobody can copy a record before it exists. So a group
that has committed `source` or a later offset skips nothing if it continues at `target`. This needs no record and no
offset sync, and it holds for every policy, transform, transaction and restart. It ends when the target deletes the end
of its log: then `target` belongs to other records.

On the source of a prefixless pair, the group also gets the target's own records as copies. An offset sync of the pair's
other half says that the record at `upstream` on the target was copied to `downstream` on the source. So were all of the
target's own records before it, because a task copies a partition in order. A group past that copy has consumed them,
and skips none of them if it continues at the next one.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_replication.components.kafka.mirror_records import OffsetSync

#: How many pairs of ends a partition keeps. When there are more, every second one of the older half is dropped.
ENDS = 1_024
#: How many of the target's own records that have not been copied back are kept in mind; then scanning pauses.
OWN = 10_000


class Ends(NamedTuple):
    """The end of a source partition, and an end that its remote partition had before."""

    source: int
    target: int


#: Before there was any record, both logs ended here.
BEGINNING = Ends(0, 0)


@dataclass
class EndHistory:
    """The ends of one partition at different times, in order. Safe for positions as long as the target's log grows."""

    ends: list[Ends] = field(default_factory=list)

    @classmethod
    def continuing(cls, earlier: Iterable[Ends]) -> "EndHistory":
        """Return a history that begins with the ends from which positions were derived earlier, in any order."""
        furthest: dict[int, int] = {}
        target = 0
        for ends in sorted(earlier):
            furthest[ends.source] = target = max(target, ends.target)
        return cls([Ends(*item) for item in furthest.items()])

    def add(self, ends: Ends) -> bool:
        """Add the newest ends; `target` was asked for first. Return False if the target lost the end of its log: then
        every position that was derived before is void.
        """
        lost = bool(self.ends) and ends.target < self.ends[-1].target
        if lost:
            self.ends.clear()
        # Of equal ends of the source, those with the higher end of the target say more; a source that lost records
        # writes the same offsets again, for which the newer ends hold, too.
        while self.ends and self.ends[-1].source >= ends.source:
            self.ends.pop()
        self.ends.append(ends)
        if len(self.ends) > ENDS:
            del self.ends[1 : ENDS // 2 : 2]
        return not lost

    def cap(self, target: int) -> None:
        """Let no ends say more than this end of the target."""
        at = bisect_right(self.ends, target, key=lambda ends: ends.target)
        self.ends[at:] = [ends._replace(target=target) for ends in self.ends[at : at + 1]]

    def before(self, committed: int) -> Ends:
        """Return the newest ends for a group at this offset of the source; if all are later, the beginning of both."""
        at = bisect_right(self.ends, (committed, math.inf))
        return self.ends[at - 1] if at else BEGINNING


@dataclass
class CopiedBack:
    """A partition whose own records on the target are known from `base` to `scanned`: `own`."""

    _positions: EndHistory
    base: int
    scanned: int
    own: list[int] = field(default_factory=list)

    @classmethod
    def beginning(cls, earlier: Iterable[Ends], target_start: int) -> "CopiedBack":
        """Begin with positions that were derived earlier, in any order: a group at or after `source` may continue at
        `target`. Without any, begin with the whole log.
        """
        positions = EndHistory.continuing(earlier)
        if not positions.ends:
            positions.add(Ends(0, target_start))
        return cls(positions, positions.ends[-1].target, positions.ends[-1].target)

    @property
    def pauses(self) -> bool:
        """Whether nothing more needs to be scanned until the other half has copied more."""
        return len(self.own) >= OWN

    def add(self, sync: OffsetSync) -> None:
        """Add the next sync of the other half."""
        newest, copied = self._positions.ends[-1], sync.upstream + 1
        if copied <= newest.target and sync.downstream < newest.source:
            return
        # A restarted task sends records again, and a group that came back may wait for their second copies.
        self._positions.cap(sync.upstream)
        if copied < self.base:
            self.own, self.scanned = [], copied
        self.base, self.scanned = copied, max(self.scanned, copied)
        del self.own[: bisect_right(self.own, sync.upstream)]
        self._positions.add(Ends(sync.downstream + 1, self._next))

    def scan(self, own: Iterable[int], end: int) -> None:
        """Add the target's own records from `scanned` to this offset."""
        self.own += own
        self.scanned = end
        newest = self._positions.ends[-1]
        self._positions.ends[-1] = newest._replace(target=max(newest.target, self._next))

    @property
    def _next(self) -> int:
        """Return the first of the target's own records after the newest sync, or where the scan ended."""
        return self.own[0] if self.own else self.scanned

    def before(self, committed: int) -> int:
        """Return how far a group at this offset of the source may continue; 0 if no sync says."""
        return self._positions.before(committed).target
