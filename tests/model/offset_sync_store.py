"""A port of MirrorMaker's store of offset syncs, with which the checkpoint connector translates offsets.

tests/contract/test_offset_sync_store.py compares it with the Java class of each Kafka version.
Source: org.apache.kafka.connect.mirror.OffsetSyncStore, Kafka 3.9 to 4.3.
"""

from dataclasses import dataclass, field

from kafka_replication.components.kafka.mirror_records import OffsetSync

SYNCS_PER_PARTITION = 64
#: What `translate` returns for an offset that is older than every sync.
TOO_OLD = -1


@dataclass
class OffsetSyncStore:
    """The syncs of one partition. While the store loads a topic that it must read to the end, it keeps only one."""

    must_read_to_end: bool = True
    read_to_end: bool = False
    syncs: list[OffsetSync] = field(default_factory=list)

    def add(self, sync: OffsetSync) -> None:
        """Add a sync that was read from the topic; each sync must be a separate object."""
        if not self.syncs or sync.upstream < self.syncs[0].upstream or (not self.read_to_end and self.must_read_to_end):
            self.syncs = [sync] * SYNCS_PER_PARTITION
            return
        self._update(sync)

    def translate(self, upstream: int) -> int | None:
        """The downstream offset; None if nothing is known yet."""
        if not self.read_to_end or not self.syncs:
            return None
        found = next((each for each in self.syncs if each.upstream <= upstream), None)
        if found is None:
            return TOO_OLD
        return found.downstream + (0 if found.upstream == upstream else 1)

    def _update(self, sync: OffsetSync) -> None:
        original, syncs = list(self.syncs), list(self.syncs)
        syncs[0] = replacement = sync
        index = 0
        for current in range(1, SYNCS_PER_PARTITION):
            before = syncs[current - 1]
            while True:
                old = original[index]
                separated = _far_enough(before, old, current - 1)
                last = current + 1 >= SYNCS_PER_PARTITION
                kept = (
                    _near_enough(before, old, current - 1, current)
                    and separated
                    and (last or _far_enough(old, syncs[current + 1], current))
                )
                if kept:
                    replacement = old
                repeated = index + 1 < SYNCS_PER_PARTITION and old is original[index + 1]
                skipped = repeated or not separated
                if kept or skipped:
                    index += 1
                if index >= current or not skipped:
                    break
            if _near_enough(before, syncs[current], current - 1, current):
                break
            syncs[current] = replacement
        self.syncs = syncs


def _near_enough(before: OffsetSync, after: OffsetSync, i: int, j: int) -> bool:
    """Invariant B: the sync at j is at most 2^j - 2^i offsets older than that at i."""
    bound = _long(after.upstream + _long(1 << j) - _long(1 << i))
    return before is after or bound < 0 or before.upstream <= bound


def _far_enough(before: OffsetSync, after: OffsetSync, i: int) -> bool:
    """Invariant C: the sync after that at i is at least 2^(i-2) offsets older."""
    bound = _long(after.upstream + _long(1 << max(i - 2, 0)))
    return before is after or (bound >= 0 and before.upstream >= bound)


def _long(value: int) -> int:
    """The value after the overflow of a Java long."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
