"""Reads both sides of a flow's partitions, and computes exact positions from their records. Only reads.

Where the target is read from is found by time: a copy has the timestamp of its record, so no copy of the first record
that a group waits for is before the first target record with that timestamp or a later one.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, cast

from confluent_kafka import Message

from components.contract.parameters import FlowParameters, GuardParameters
from components.kafka.exact_positions import NotProvenError, PartitionPositions, exact_positions
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.record_identity import Headers, Identified, identity, without_mark
from infra.operations.kafka_reader import KafkaReader
from infra.operations.record_stream import RecordStream

Say: TypeAlias = Callable[[str], object]
#: How many source offsets before the lowest position the walk begins: what was sent again may begin there. The next
#: number is tried if a record is not found among them; None is the beginning of the log.
_LEADS = (1_000, 100_000, None)


def read_positions(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    committed: Mapping[TopicPartition, Iterable[int]],
    say: Say,
) -> dict[TopicPartition, PartitionPositions | NotProvenError]:
    """The positions on the target of committed offsets on the source, by source partition.

    Each partition is read once, however many offsets there are. Raises UnaskedError.
    """
    remote = {each: flow.replication_policy.remote_partition(each) for each in committed}
    # The target's ends first: every record below them is below the source's ends.
    targets = target.logs(remote.values(), committed=flow.exactly_once)
    sources = source.logs(committed, committed=flow.exactly_once)
    found: dict[TopicPartition, PartitionPositions | NotProvenError] = {}
    isolation = flow.exactly_once
    with source.stream(committed=isolation) as on_source, target.stream(committed=isolation) as on_target:
        for number, (partition, offsets) in enumerate(committed.items(), start=1):
            say(f"computing positions: partition {number} of {len(committed)}, {partition}")
            side = _Side(flow.guard, on_source, partition, sources[partition])
            other = _Target(flow.guard, on_target, remote[partition], targets[remote[partition]], target)
            found[partition] = _walk(side, other, sorted(offsets))
    return found


class _Side:
    """A source partition: the records that cross."""

    def __init__(
        self, guard: GuardParameters | None, stream: RecordStream, partition: TopicPartition, log: OffsetRange
    ) -> None:
        self.guard, self.stream, self.partition, self.log = guard, stream, partition, log

    def records(self, start: int) -> Iterator[Identified]:
        for message in self.stream.messages(self.partition, OffsetRange(start, self.log.end)):
            headers = _headers(message)
            if self.guard is None or all(name != self.guard.filter for name, _ in headers):
                yield _identified(message, headers)


class _Target(_Side):
    """A remote partition: the records that came from the source."""

    def __init__(
        self,
        guard: GuardParameters | None,
        stream: RecordStream,
        partition: TopicPartition,
        log: OffsetRange,
        reader: KafkaReader,
    ) -> None:
        super().__init__(guard, stream, partition, log)
        self.reader = reader

    def records(self, start: int) -> Iterator[Identified]:
        for message in self.stream.messages(self.partition, OffsetRange(start, self.log.end)):
            headers = _headers(message)
            if self.guard is None:
                yield _identified(message, headers)
            elif any(name == self.guard.mark for name, _ in headers):
                yield _identified(message, without_mark(headers, self.guard.mark))

    def not_before(self, first: Identified) -> int:
        """An offset before which no copy of the record is."""
        found = self.reader.offset_at(self.partition, first.time_ms)
        return self.log.end if found is None else max(found, self.log.start)


def _walk(source: _Side, target: _Target, committed: list[int]) -> PartitionPositions | NotProvenError:
    """Walk from a little before the lowest position; where a record is not found, from further before."""
    why = None
    for lead in _LEADS:
        start = source.log.start if lead is None else max(source.log.start, committed[0] - lead)
        records = source.records(min(start, source.log.end))
        first = next(records, None)
        begin = target.log.end if first is None else target.not_before(first)
        ours = records if first is None else itertools.chain([first], records)
        try:
            found = exact_positions(committed, ours, target.records(begin), target.log.end)
        except NotProvenError as error:
            why = error
        else:
            if first is None or not any(each.not_there for each in found.positions.values()):
                return found
            # Timestamps may be out of order: only the whole log shows that a record is not there.
            return _of_whole_target(source, target, committed, start)
        if start == source.log.start:
            break
    assert why is not None
    return why


def _of_whole_target(
    source: _Side, target: _Target, committed: list[int], start: int
) -> PartitionPositions | NotProvenError:
    try:
        return exact_positions(committed, source.records(start), target.records(target.log.start), target.log.end)
    except NotProvenError as error:
        return error


def _headers(message: Message) -> Headers:
    return cast(Headers, message.headers() or ())


def _identified(message: Message, headers: Headers) -> Identified:
    time_ms = message.timestamp()[1]
    content = identity(message.key(), message.value(), headers, time_ms)
    return Identified(message.offset() or 0, content, time_ms)
