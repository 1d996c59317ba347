"""How far a group of a prefixless pair may continue on the target as regards the records that were written there. Pure.

On the source, the group gets the target's own records as copies. An offset sync of the pair's other half says that the
record at `upstream` on the target was copied to `downstream` on the source. So were all of the target's own records
before it, because a task copies a partition in order. A group past that copy has consumed them, and skips none of them
if it continues at the next one.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from kafka_replication.components.kafka.log_ends import EndHistory, Ends
from kafka_replication.components.kafka.mirror_records import OffsetSync

#: How many of the target's own records that have not been copied back are kept in mind; then scanning pauses.
OWN = 10_000


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
