"""Where a group continues on the target, derived from nothing but the ends of both logs. Pure.

Let a remote partition end at `target`, and afterwards its source partition at `source`. Whatever is written to the
source from then on has its first copy at `target` or after it: nobody can copy a record before it exists. So a group
that has committed `source` or a later offset skips nothing if it continues at `target`. This needs no record and no
offset sync, and it holds for every policy, transform, transaction and restart. It ends when the target deletes the end
of its log: then `target` belongs to other records.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

#: How many pairs of ends a partition keeps. When there are more, every second one of the older half is dropped.
ENDS = 1_024


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
