"""What offset syncs say about a partition: how far it is replicated, from where groups are translated, where a record
of the target came from, and how many records a group would read again at most.

An offset sync is written for the first record of a task's life, when the target has advanced by `offset.lag.max`, when
an offset of the source was skipped, and when the target was truncated. Source: PartitionState.update.
"""

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from kafka_replication.components.kafka.mirror_records import Checkpoint, OffsetSync, offset_sync
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord

#: How many changes of the offset delta to keep per partition. With transactions, nearly every sync changes it.
SEGMENTS = 2_000
_UPSTREAM, _DOWNSTREAM = attrgetter("upstream"), attrgetter("downstream")


class SourceGuess(NamedTuple):
    """The source offset that a target record probably came from. `exact`: every offset between the syncs around it is
    accounted for, so if the record is not there, the target holds a different record. Otherwise the record is at most
    `reach` offsets further on (before it, if negative); None if no sync shows how far. After the newest sync, the guess
    is exact unless MirrorMaker has dropped or delayed the next one, so `reach` is None as well. The record is as many
    offsets earlier as there are transaction markers on the target since the sync: at most `markers`.
    """

    offset: int
    exact: bool
    reach: int | None = 0
    markers: int = 0


@dataclass(frozen=True)
class SyncHistory:
    """The offset syncs of one partition, in the order in which they were written."""

    syncs: tuple[OffsetSync, ...] = ()

    @property
    def latest(self) -> OffsetSync | None:
        return self.syncs[-1] if self.syncs else None

    @property
    def oldest_upstream(self) -> int:
        return min(sync.upstream for sync in self.syncs)

    @property
    def translates_from(self) -> int:
        """Return the lowest source offset that the checkpoint connector can translate. The connector forgets every
        earlier sync when upstream offsets fall, which happens when a restarted task reads again from its last commit.

        Source: OffsetSyncStore.updateSyncArray.
        """
        return self._since_last_fall(_UPSTREAM)[0].upstream

    @property
    def first_upstream(self) -> int:
        """Return the source offset of the first replicated record, computed from the oldest sync. It is right if the
        remote topic was empty at first and uses one offset per record.
        """
        return self.syncs[0].upstream - self.syncs[0].downstream

    def owed(self, committed: int) -> int | None:
        """Return the lowest downstream offset that the latest sync must give a group at `committed`; None if it gives
        none. Only the latest sync is certain to be in the checkpoint connector's memory. The connector keeps 64 older
        syncs, increasingly far apart. Source: OffsetSyncStore.translateDownstream.
        """
        if self.latest is None or committed < self.latest.upstream:
            return None
        return self.latest.downstream + (1 if committed > self.latest.upstream else 0)

    def guess(self, downstream: int, *, markers: bool = False) -> SourceGuess | None:
        """Return the probable source offset of the target record at `downstream`; None without any sync. With
        `markers`, the target also holds transaction markers.
        """
        below, above = self._around(downstream)
        if below is not None:
            offset = below.upstream + downstream - below.downstream
            before = max(0, downstream - below.downstream - 1) if markers else 0
            if below.downstream == downstream or (above is not None and _is_one_to_one(below, above)):
                return SourceGuess(offset, exact=True, markers=before)
            if above is None:
                # Markers at the target's end hide how many offsets of the source have no copy.
                return SourceGuess(offset, exact=True, reach=sys.maxsize if markers else None, markers=before)
            return SourceGuess(offset, exact=False, reach=skipped_offsets(below, above), markers=before)
        if above is not None:
            return SourceGuess(max(0, above.upstream - (above.downstream - downstream)), exact=False, reach=None)
        return None

    def lowest_source_offset(self, downstream: int) -> int | None:
        """Return an offset that the source record of a target record at or after `downstream` is not below; None if no
        sync shows one. Records that a restarted task sent again later may be below it.

        After the newest sync, and between two syncs where the target advanced further than the source, offsets of the
        target may be markers, so only the sync before them counts.
        """
        below, above = self._around(downstream)
        if below is None:
            return None
        if above is not None and _is_one_to_one(below, above):
            return below.upstream + downstream - below.downstream
        return below.upstream + (downstream > below.downstream)

    def first_copy(self, upstream: int, *, markers: bool) -> int:
        """Return an offset of the target that the first copy of a source record at or after `upstream` is not below.

        With `markers`, the target also holds transaction markers, so the sync after that record does not count.
        """
        current = self._since_last_fall(_DOWNSTREAM)
        later = next((index for index, sync in enumerate(current) if sync.upstream > upstream), len(current))
        if not later:
            return 0
        below = current[later - 1]
        least = below.downstream + (upstream > below.upstream)
        if later == len(current) or markers or skipped_offsets(below, current[later]) < 0:
            return least
        return max(least, current[later].downstream - (current[later].upstream - upstream))

    def records_copied(self, upstream: int, downstream: int, *, markers: bool) -> int:
        """Return at most how many source records at or after `upstream` have their copies before `downstream` only.

        Between two syncs, these are no more than either log advanced. Records from a later sync on came again.
        """
        first = self.first_copy(upstream, markers=markers)
        records, end, again = 0, downstream, sys.maxsize
        for sync in reversed((OffsetSync(0, 0), *self._since_last_fall(_DOWNSTREAM))):
            records += max(0, min(end - max(sync.downstream, first), again - max(sync.upstream, upstream)))
            end, again = min(end, sync.downstream), min(again, sync.upstream)
        return records

    def oldest_source(self, downstream: int) -> int:
        """Return an offset that the source record of a target record at or after `downstream` is not below, unless a
        restarted task sent it again and its sync was dropped.
        """
        lowest = self.lowest_source_offset(downstream)
        sent = [sync.upstream for sync in self._since_last_fall(_DOWNSTREAM) if sync.downstream >= downstream]
        return min([0 if lowest is None else lowest, *sent])

    def _around(self, downstream: int) -> tuple[OffsetSync | None, OffsetSync | None]:
        """Return the last sync at or before `downstream` and the first one after it.

        Downstream offsets fall when the remote topic was deleted and created again. Syncs from before that belong to
        other records.
        """
        current = self._since_last_fall(_DOWNSTREAM)
        below = max((sync for sync in current if sync.downstream <= downstream), default=None, key=_DOWNSTREAM)
        above = min((sync for sync in current if sync.downstream > downstream), default=None, key=_DOWNSTREAM)
        return below, above

    def stretch(self, target_start: int) -> Sequence[OffsetSync]:
        """Return the syncs since offsets last fell on either side whose records the target still holds."""
        current = min(self._since_last_fall(_UPSTREAM), self._since_last_fall(_DOWNSTREAM), key=len)
        return [sync for sync in current if sync.downstream >= target_start]

    def _since_last_fall(self, offset: Callable[[OffsetSync], int]) -> Sequence[OffsetSync]:
        begin = 0
        for index, (before, after) in enumerate(itertools.pairwise(self.syncs), start=1):
            if offset(after) < offset(before):
                begin = index
        return self.syncs[begin:]


def skipped_offsets(before: OffsetSync, after: OffsetSync) -> int:
    """Return by how many offsets the source advanced further than the target."""
    return (after.upstream - before.upstream) - (after.downstream - before.downstream)


def sync_histories(
    records: Iterable[KafkaRecord], before: Mapping[TopicPartition, SyncHistory] | None = None
) -> dict[TopicPartition, SyncHistory]:
    """Return the offset syncs of each source partition at which upstream minus downstream changes. `before` has the
    histories of earlier records.

    The result has the first and the last sync of each stretch in which every record was replicated one to one, so it
    says as much as all syncs. Apart from the first sync, only the newest SEGMENTS are kept.
    """
    reduced = {partition: list(history.syncs) for partition, history in (before or {}).items()}
    for record in records:
        decoded = offset_sync(record)
        if decoded is None:
            continue
        partition, sync = decoded
        syncs = reduced.setdefault(partition, [])
        if len(syncs) > 1 and _is_one_to_one(syncs[-2], syncs[-1]) and _is_one_to_one(syncs[-1], sync):
            syncs.pop()
        syncs.append(sync)
        if len(syncs) > SEGMENTS + 1:
            del syncs[1]
    return {partition: SyncHistory(tuple(syncs)) for partition, syncs in reduced.items()}


def _is_one_to_one(before: OffsetSync, after: OffsetSync) -> bool:
    """Return whether every record between two consecutive syncs was replicated one to one: MirrorMaker would have
    written another sync if it had skipped an offset of the source.
    """
    same = before.upstream - before.downstream == after.upstream - after.downstream
    return same and before.downstream <= after.downstream


def replicated_up_to(
    logs: Mapping[TopicPartition, OffsetRange],
    stored: Mapping[TopicPartition, int],
    syncs: Mapping[TopicPartition, SyncHistory],
) -> dict[TopicPartition, int]:
    """Return the source offset below which everything is certainly on the target, by source partition.

    A connector's offset is stored once a minute, and an offset sync is written at most every `offset.lag.max` records:
    both are valid, and the higher one counts. Without either, it is the beginning of the source's log.
    """
    known = known_positions(stored, syncs)
    return {partition: min(max(log.start, known.get(partition, log.start)), log.end) for partition, log in logs.items()}


def known_positions(
    stored: Mapping[TopicPartition, int], syncs: Mapping[TopicPartition, SyncHistory]
) -> dict[TopicPartition, int]:
    """Return what `replicated_up_to` does, for partitions with an offset or a sync, whatever the source's logs hold."""
    synced = {partition: history.latest.upstream for partition, history in syncs.items() if history.latest is not None}
    return {
        partition: max(stored.get(partition, -1), synced.get(partition, -1)) + 1 for partition in {*stored, *synced}
    }


def is_left_untranslated(checkpoint: Checkpoint | None, source_log: OffsetRange) -> bool:
    """Return whether a group needs no position on the target: the source partition holds nothing that it could skip,
    and MirrorMaker has translated nothing there.
    """
    return checkpoint is None and not source_log.size


def most_read_again(committed: int, start: int | None, target_end: int | None, history: SyncHistory) -> int | None:
    """Return at most how many records a group at `committed` on the source would read again from `start` on the target.

    None if the group has no valid position there: none at all, or one past the end of the remote partition, which
    belongs to an earlier topic of this name. Copies that a restarted task sent again are not counted.
    """
    if start is None or target_end is None or start > target_end:
        return None
    lowest = history.lowest_source_offset(start)
    bounds = [target_end - start] if lowest is None else [target_end - start, committed - lowest]
    return max(0, min(bounds))
