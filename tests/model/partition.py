"""One replicated partition in memory: both logs, offset syncs and one consumer group, as MirrorMaker handles them.

It knows which records a moved group would skip, so that tests can compare the judging code with it.
"""

from dataclasses import dataclass, field

from kafka_replication.components.kafka.mirror_records import Checkpoint, OffsetSync
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.offsets.position_proof import Position, RecordDigest
from tests.model.offset_sync_store import TOO_OLD, OffsetSyncStore

ORDERS = TopicPartition("orders", 0)
GROUP = "checkout-a"


@dataclass
class Partition:
    """`source` and `target` hold a record's source offset at each offset; None stands at an offset without a record.
    `equals` has the first record that a record equals. `resent` is how many offsets restarts went back. If the topic is
    `compacted`, the target's cleaner has removed the records at the offsets `removed`.

    Source: MirrorSourceTask, PartitionState.update for when a sync is written; MirrorCheckpointTask for checkpoints.
    """

    lag_max: int
    source: list[int | None] = field(default_factory=list)
    equals: dict[int, int] = field(default_factory=dict)
    target: list[int | None] = field(default_factory=list)
    source_start: int = 0
    target_start: int = 0
    position: int = 0
    syncs: list[OffsetSync] = field(default_factory=list)
    committed: int | None = None
    checkpoint: Checkpoint | None = None
    resent: int = 0
    compacted: bool = False
    removed: set[int] = field(default_factory=set)
    congested: bool = False
    _waiting: OffsetSync | None = None
    _last_sync: OffsetSync | None = None
    _before: OffsetSync | None = None
    _store: OffsetSyncStore = field(default_factory=lambda: OffsetSyncStore(read_to_end=True))

    def produce(self, records: int) -> None:
        self.source += range(len(self.source), len(self.source) + records)

    def produce_again(self, back: int) -> None:
        """One more record that equals one of the last, in its timestamp, too."""
        records = [record for record in self.source if record is not None]
        earlier = records[-min(back, len(records))]
        self.equals[len(self.source)] = self.equals.get(earlier, earlier)
        self.produce(1)

    def leave_out(self, offsets: int) -> None:
        """Offsets without a record: a transaction marker, aborted records, or what compaction removed."""
        self.source += [None] * offsets

    def replicate(self, offsets: int) -> None:
        """The task reads more records; if retention has overtaken it, it continues at the oldest record."""
        self.position = max(self.position, self.source_start)
        for upstream in range(self.position, min(self.position + offsets, len(self.source))):
            if self.source[upstream] is not None:
                self._write(upstream)
            self.position = upstream + 1

    def _write(self, upstream: int) -> None:
        sync = OffsetSync(upstream, len(self.target))
        last, before = self._last_sync, self._before
        if (
            last is None
            or before is None
            or sync.downstream - (last.downstream + 1) >= self.lag_max
            or sync.upstream - before.upstream != 1
            or sync.downstream < before.downstream + 1
        ):
            self._queue(sync)
            self._last_sync = sync
        self._before = sync
        self.target.append(upstream)

    def _queue(self, sync: OffsetSync) -> None:
        """A sync that waits for others to be acknowledged is replaced by the partition's next one.

        Source: OffsetSyncWriter.maybeQueueOffsetSyncs.
        """
        if self.congested:
            self._waiting = sync
        else:
            self._send(sync)

    def _send(self, sync: OffsetSync) -> None:
        self.syncs.append(sync)
        self._store.add(sync)

    @property
    def synced_since_restart(self) -> bool:
        return self._last_sync is not None

    def congest(self) -> None:
        """Too many offset syncs of other partitions wait to be acknowledged."""
        self.congested = True

    def clear_congestion(self) -> None:
        self.congested = False
        if self._waiting is not None:
            self._send(self._waiting)
        self._waiting = None

    def restart(self, again: int) -> None:
        """A task that died sends the last records again, from the offset that it had committed."""
        self.clear_congestion()
        self._last_sync = self._before = None
        self.resent += min(again, self.position)
        self.position = max(0, self.position - again)

    def compact_target(self, first: int, end: int) -> None:
        """The cleaner removes these records of the target, and with each all older ones that equal it."""
        gone = {self._first_equal(record) for record in self.target[first:end]}
        self.removed.update(at for at in range(end) if self._first_equal(self.target[at]) in gone)

    def _first_equal(self, record: int | None) -> int | None:
        return None if record is None else self.equals.get(record, record)

    def consume(self, offset: int) -> None:
        self.committed = offset

    def translate(self) -> None:
        """What the checkpoint connector writes for the group now."""
        downstream = None if self.committed is None else self._store.translate(self.committed)
        if self.committed is not None and downstream is not None and downstream != TOO_OLD:
            self.checkpoint = Checkpoint(self.committed, downstream)

    def would_be_skipped(self, *, unless_sent_again: bool) -> set[int]:
        """The records that the group has not consumed and would never see on the target, by source offset.

        Records that the target does not hold yet will still arrive. Records that have expired on the source are lost to
        the group there as well. For one that the target's cleaner has removed, a newer record of its key is there.
        """
        assert self.committed is not None
        assert self.checkpoint is not None
        downstream = self.checkpoint.downstream
        if downstream > len(self.target):
            return set(range(self.committed, len(self.source)))
        # A copy that was sent again may come after newer records, so it does not excuse a skip.
        ahead = set(self.target[downstream:]) if unless_sent_again else set()
        behind = set(self.left_on_target[:downstream])
        # A restarted task sends the records from its position on again.
        end = self.position if unless_sent_again else len(self.source)
        wanted = range(max(self.committed, self.source_start), end)
        return {each for each in wanted if self.source[each] is not None and each in behind - ahead}

    def place_of_the_group(self) -> int:
        """The target's offset of the first record that the group has not consumed; the end if there is none."""
        assert self.committed is not None
        committed = self.committed
        later = (at for at, record in enumerate(self.target) if record is not None and record >= committed)
        return next(later, len(self.target))

    def read_again(self) -> int:
        """How many records the group would read a second time. One that equals an unread record cannot be told from
        it.
        """
        assert self.committed is not None
        assert self.checkpoint is not None
        committed = self.committed
        unread = {self.equals.get(each, each) for each in self.source[committed:] if each is not None}
        held = self.left_on_target[self.checkpoint.downstream :]
        return sum(each is not None and each < committed and self.equals.get(each, each) not in unread for each in held)

    @property
    def left_on_target(self) -> list[int | None]:
        """The target without what its cleaner has removed."""
        return [None if at in self.removed else record for at, record in enumerate(self.target)]

    @property
    def group(self) -> Position:
        assert self.committed is not None
        on_target = self.checkpoint.downstream if self.checkpoint else None
        return Position(GROUP, ORDERS, self.committed, self.checkpoint, on_target)

    @property
    def history(self) -> SyncHistory:
        return SyncHistory(tuple(self.syncs))

    @property
    def source_log(self) -> OffsetRange:
        return OffsetRange(self.source_start, len(self.source))

    @property
    def target_log(self) -> OffsetRange:
        return OffsetRange(self.target_start, len(self.target))


def records_in(partition: Partition, log: list[int | None], offsets: OffsetRange) -> list[RecordDigest]:
    """What a consumer reads there; time and digest are those of the first equal record, by its source offset."""
    held = ((at, record) for at in range(*offsets) if (record := log[at]) is not None)
    return [RecordDigest(at, (first := partition.equals.get(record, record)), str(first)) for at, record in held]
