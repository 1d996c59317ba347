"""What a file of offsets changes: which records are replicated again or skipped, and which syncs are lost. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.contract.wording import number
from kafka_replication.components.kafka.connectors import can_resume_at, is_within, next_record, stored_for
from kafka_replication.components.kafka.offset_syncs import SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.infra.operate.offsets.file import Entry

Stored = Mapping[tuple[str, TopicPartition], int | None]


@dataclass(frozen=True)
class Known:
    """What the clusters hold for a flow at one moment. `source` is the alias of the source. `logs` are those of the
    partitions that the flow replicates, and `topics` all topics of the source. `connectors` names the source connector
    of each topic. `stored` are the offsets that Connect has, by connector and partition. With `stop`, connectors
    do not pass over a gap after that.
    """

    source: str
    start_from: str
    topics: Mapping[str, int]
    logs: Mapping[TopicPartition, OffsetRange]
    connectors: Mapping[str, str]
    stored: Stored
    syncs: Mapping[TopicPartition, SyncHistory]
    stop: bool = False

    def stored_of(self, partition: TopicPartition) -> int | None:
        return self.stored.get((self.connectors[partition.topic], partition))

    def next_of(self, partition: TopicPartition) -> int:
        stored = self.stored_of(partition)
        if self.stop and stored is not None:
            return stored + 1
        return next_record(stored, self.logs[partition], self.start_from)

    def positions(self) -> dict[TopicPartition, int | str]:
        """Return where each partition continues: the offset of the next record, or `startFrom` if nothing is stored."""
        offsets = {partition: self.next_of(partition) for partition in self.logs if self._is_stored(partition)}
        return {partition: offsets.get(partition, self.start_from) for partition in sorted(self.logs)}

    def stays(self, partition: TopicPartition, then: int) -> bool:
        """Return whether the partition continues there without a change, wherever the log begins and ends by then."""
        begins = self.stored_of(partition) is None and self.start_from == "earliest" and not self.stop
        lasting = self._is_stored(partition) or begins
        return lasting and then == self.next_of(partition)

    def _is_stored(self, partition: TopicPartition) -> bool:
        stored = self.stored_of(partition)
        return stored is not None and (self.stop or is_within(stored, self.logs[partition]))


@dataclass(frozen=True)
class OffsetChange:
    """A partition of a connector that continues at `then` instead of `now`; both are offsets of the next record.
    `stored` is what Connect must store. `last_sync` is the source offset of the partition's newest offset sync.
    """

    connector: str
    partition: TopicPartition
    now: int
    then: int
    stored: int | None
    last_sync: int | None = None

    @property
    def again(self) -> int:
        return max(0, self.now - self.then)

    @property
    def text(self) -> str:
        if self.now == self.then:
            after = ", without a stored offset" if self.stored is None else "; this offset will now be stored"
            return f"{self.partition}: continues at {self.then} as before{after}"
        head = f"{self.partition}: now {self.now}, then {self.then}"
        if self.again:
            last = self.last_sync
            syncs = "" if last is None else f"; its offset syncs, the newest at {last}, no longer count"
            return f"{head}: replicates up to {number(self.again, 'record')} again{syncs}"
        return f"{head}: skips up to {number(self.then - self.now, 'record')}"


def mistakes(entries: Sequence[Entry], known: Known) -> Iterator[Problem]:
    """Report what is wrong with the entries, given the state of the clusters."""
    for entry in entries:
        if entry.source not in ("", known.source):
            what = f"the source of the flow is `{known.source}`, not `{entry.source}`"
            why = "Connect accepts offsets for another alias, but they have no effect."
            yield entry.problem("unknown-source", what, why, f"write `{known.source}`, or leave `source` out.")
        if entry.topic not in known.connectors:
            yield _unknown_topic(entry, known)
        elif entry.partition is not None:
            yield from _mistaken_place(entry, TopicPartition(entry.topic, entry.partition), known)


def _unknown_topic(entry: Entry, known: Known) -> Problem:
    similar = nearest(entry.topic, known.connectors)
    remedy = f"write `{similar}`." if similar else "remove the entry."
    if entry.topic in known.topics:
        what, why = f"the flow does not replicate topic `{entry.topic}`", "Its offsets would have no effect."
        return entry.problem("topic-not-replicated", what, why, remedy)
    what = f"there is no topic `{entry.topic}` on {known.source}"
    why = "Connect accepts offsets for a topic that does not exist, but they have no effect."
    return entry.problem("unknown-topic", what, why, remedy)


def _mistaken_place(entry: Entry, partition: TopicPartition, known: Known) -> Iterator[Problem]:
    log = known.logs.get(partition)
    if log is None:
        last = sum(of.topic == entry.topic for of in known.logs) - 1
        what = f"{entry.topic} has no partition {entry.partition}"
        why = f"On {known.source} it has the partitions 0 to {last}."
        yield entry.problem("unknown-partition", what, why, "name one of these.")
    elif isinstance(entry.offset, int) and not log.start <= entry.offset <= log.end:
        side = "before the first record" if entry.offset < log.start else "after the end"
        what = f"offset {entry.offset} is {side} of {partition}"
        why = f"On {known.source} the next record can be any from {log.start} to {log.end}."
        yield entry.problem("offset-out-of-range", what, why, "write one of these, `earliest` or `latest`.")


def moves(
    entries: Iterable[Entry], known: Known, at_time: Callable[[TopicPartition, int], int]
) -> tuple[list[OffsetChange], list[Problem]]:
    """Return what the entries change, by partition, and what Connect cannot store. Unchanged partitions are left out.

    `at_time` is the offset of the first record at or after a time (ms since 1970) or else the end.
    """
    changes: list[OffsetChange] = []
    problems: list[Problem] = []
    for entry in entries:
        for partition in _partitions(entry, known):
            if known.stored_of(partition) is None and entry.offset == known.start_from and not known.stop:
                continue
            then = _then(entry, partition, known, at_time)
            if not can_resume_at(then, known.start_from):
                what = f"{partition} cannot continue at offset 0"
                why = f"With `startFrom: {known.start_from}` a connector without a stored offset starts there."
                problems.append(entry.problem("offset-not-storable", what, why, "deploy `startFrom: earliest` first."))
            elif not known.stays(partition, then):
                changes.append(_change(partition, then, stored_for(then), known))
    return sorted(changes, key=lambda change: change.partition), problems


def resets(known: Known) -> list[OffsetChange]:
    """Return the changes that set every partition to its beginning, as if nothing were stored."""
    return [_change(partition, log.start, None, known) for partition, log in sorted(known.logs.items())]


def of_those(changes: Iterable[OffsetChange], agreed: Iterable[OffsetChange]) -> list[OffsetChange]:
    """Return the changes of the partitions that the user agreed to change.

    An entry may have changed nothing when the plan was shown. If its connector has replicated more since then, the same
    entry would now rewind the partition.
    """
    partitions = {change.partition for change in agreed}
    return [change for change in changes if change.partition in partitions]


def _change(partition: TopicPartition, then: int, stored: int | None, known: Known) -> OffsetChange:
    newest = known.syncs.get(partition, SyncHistory()).latest
    last = None if newest is None else newest.upstream
    return OffsetChange(known.connectors[partition.topic], partition, known.next_of(partition), then, stored, last)


def _partitions(entry: Entry, known: Known) -> list[TopicPartition]:
    return [
        partition
        for partition in sorted(known.logs)
        if partition.topic == entry.topic and entry.partition in (None, partition.partition)
    ]


def _then(entry: Entry, partition: TopicPartition, known: Known, at_time: Callable[[TopicPartition, int], int]) -> int:
    log = known.logs[partition]
    if entry.time_ms is not None:
        return at_time(partition, entry.time_ms)
    if isinstance(entry.offset, int):
        return entry.offset
    return log.start if entry.offset == "earliest" else log.end
