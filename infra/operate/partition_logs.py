"""Both sides of a flow's partitions, read one partition after the other. Only reads."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.streams import RecordStream
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP, Headers, Identified, identity

T = TypeVar("T")
Say: TypeAlias = Callable[[str], object]
#: The headers to compare if a record counts; None if it does not.
Compared: TypeAlias = Callable[[Headers], Headers | None]


def every(headers: Headers) -> Headers:
    """Count every record, with all its headers."""
    return headers


@dataclass(frozen=True)
class PartitionLog:
    """One side of a partition, up to an end that was read earlier.

    `untimed` gets the partition when a record without a timestamp is read. Connect gives such a record the time of its
    arrival, so both sides are then compared without timestamps: `timed` is false.
    """

    reader: KafkaReader
    stream: RecordStream
    partition: TopicPartition
    log: OffsetRange
    timed: bool = True
    untimed: set[TopicPartition] = field(default_factory=set)

    def records(self, start: int, compared: Compared = every) -> Iterator[Identified]:
        for record in self.stream.records(self.partition, OffsetRange(start, self.log.end)):
            headers = compared(record.headers)
            if headers is not None:
                if record.time_ms == NO_TIMESTAMP:
                    self.untimed.add(self.partition)
                time_ms = record.time_ms if self.timed else NO_TIMESTAMP
                content = identity(record.key, record.value, headers, time_ms)
                yield Identified(record.offset, content, record.time_ms)

    def not_before(self, first: Identified) -> int:
        """Return an offset before which no record has the timestamp of `first`."""
        if not self.timed:
            return self.log.start
        offset = self.reader.offset_at(self.partition, first.time_ms)
        return self.log.end if offset is None else max(offset, self.log.start)


def walk_partitions(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    committed: Mapping[TopicPartition, Iterable[int]],
    say: Say,
    walk: Callable[[PartitionLog, PartitionLog, list[int]], T],
) -> dict[TopicPartition, T]:
    """Return the results of `walk`, for these offsets in each source partition and its remote partition, in order.

    Each partition is read once, however many offsets there are, or again if it has records without a timestamp. Raises
    NoAnswerError.
    """
    remote = {partition: flow.replication_policy.remote_partition(partition) for partition in committed}
    isolation = flow.exactly_once
    # Read the target's ends first: every record before them then comes from before the source's ends.
    targets = target.logs(remote.values(), committed=isolation)
    sources = source.logs(committed, committed=isolation)
    results = {}
    with source.stream(committed=isolation) as on_source, target.stream(committed=isolation) as on_target:
        for number, (partition, offsets) in enumerate(committed.items(), start=1):
            say(f"computing positions: partition {number} of {len(committed)}, {partition}")
            ours = PartitionLog(source, on_source, partition, sources[partition])
            theirs = PartitionLog(target, on_target, remote[partition], targets[remote[partition]])
            results[partition] = walk(ours, theirs, sorted(offsets))
            if ours.untimed or theirs.untimed:
                ours, theirs = replace(ours, timed=False), replace(theirs, timed=False)
                results[partition] = walk(ours, theirs, sorted(offsets))
    return results
