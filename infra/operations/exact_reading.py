"""Reads both sides of a flow's partitions, and computes exact positions from their records. Only reads.

Where the target is read from is found by time: a copy has the timestamp of its record, so no copy of the first record
that a group waits for is before the first target record with that timestamp or a later one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from confluent_kafka import Message

from components.contract.parameters import FlowParameters, GuardParameters
from components.kafka.exact_positions import NotProvenError, PartitionPositions, exact_positions
from components.kafka.pair_positions import PairSides, pair_positions
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
            ours = _Log(source, on_source, partition, sources[partition])
            theirs = _Log(target, on_target, remote[partition], targets[remote[partition]])
            found[partition] = _walk(_Crossing(flow.guard, ours, theirs), sorted(offsets))
    return found


#: The headers to compare of a record that counts; None for one that does not.
Compared: TypeAlias = Callable[[Headers], Headers | None]


@dataclass(frozen=True)
class _Log:
    """One side of a partition."""

    reader: KafkaReader
    stream: RecordStream
    partition: TopicPartition
    log: OffsetRange

    def records(self, start: int, compared: Compared) -> Iterator[Identified]:
        for message in self.stream.messages(self.partition, OffsetRange(start, self.log.end)):
            headers = compared(cast(Headers, message.headers() or ()))
            if headers is not None:
                yield _identified(message, headers)

    def not_before(self, first: Identified) -> int:
        """An offset before which no copy of the record is."""
        found = self.reader.offset_at(self.partition, first.time_ms)
        return self.log.end if found is None else max(found, self.log.start)


@dataclass(frozen=True)
class _Crossing:
    """A source partition and its remote partition. A pair's guard tells what was produced here from what came here."""

    guard: GuardParameters | None
    source: _Log
    target: _Log

    @property
    def sides(self) -> PairSides:
        """Without a guard, only the first two are meant to be read."""
        drops, adds = (self.guard.filter, self.guard.mark) if self.guard else ("", "")
        return PairSides(
            source=lambda start: self.source.records(start, _without(drops)),
            copies_on_target=lambda start: self.target.records(start, _with(adds) if adds else _every),
            target=lambda start: self.target.records(start, _without(adds)),
            copies_on_source=lambda start: self.source.records(start, _with(drops)),
            target_end=self.target.log.end,
            target_first=self.target.log.start,
        )

    def begin(self, start: int, lowest: int) -> int | None:
        """Where to begin on the target if the walk begins here on the source.

        None if the source holds no record from here on, or a pair's no copy: it could not be told what has crossed.
        If the source has lost what is behind the `lowest` offset, the target may still hold it: from its first record.
        """
        kinds = [self.sides.source, *([self.sides.copies_on_source] if self.guard else [])]
        firsts = [first for kind in kinds if (first := next(kind(start), None)) is not None]
        if len(firsts) < len(kinds):
            return None if start > self.source.log.start else self.target.log.start
        if start > lowest:
            return self.target.log.start
        return min(self.target.not_before(each) for each in firsts)

    def positions(self, committed: list[int], start: int, begin: int) -> PartitionPositions:
        sides = self.sides
        if self.guard:
            return pair_positions(committed, sides, start, begin)
        return exact_positions(committed, sides.source(start), sides.copies_on_target(begin), sides.target_end)


def _walk(crossing: _Crossing, committed: list[int]) -> PartitionPositions | NotProvenError:
    """Walk from a little before the lowest position; where a record is not found, from further before."""
    log, why = crossing.source.log, NotProvenError("nothing was read")
    for lead in _LEADS:
        start = log.start if lead is None else max(log.start, committed[0] - lead)
        start = min(start, log.end)
        begin = crossing.begin(start, committed[0])
        if begin is None:
            continue
        try:
            found = crossing.positions(committed, start, begin)
            nothing_found = found.waiting and not found.on_target
            if (
                nothing_found or any(each.not_there for each in found.positions.values())
            ) and begin > crossing.target.log.start:
                # Timestamps may be out of order: only the whole log shows that a record is not there.
                found = crossing.positions(committed, start, crossing.target.log.start)
        except NotProvenError as error:
            why = error
        else:
            return _with_expired(found, log.start)
        if start == log.start:
            break
    return why


def _with_expired(found: PartitionPositions, source_start: int) -> PartitionPositions:
    """With the target's older records, for the groups that stand before the source's first record."""
    positions = {
        committed: replace(each, expired=found.passed_over) if committed < source_start else each
        for committed, each in found.positions.items()
    }
    return replace(found, positions=positions)


def _every(headers: Headers) -> Headers:
    return headers


def _without(name: str) -> Compared:
    """Records without a header of this name."""
    return lambda headers: None if name and any(each == name for each, _ in headers) else headers


def _with(mark: str) -> Compared:
    """Records with a guard's mark, as they were before it was appended."""
    return lambda headers: without_mark(headers, mark) if any(each == mark for each, _ in headers) else None


def _identified(message: Message, headers: Headers) -> Identified:
    time_ms = message.timestamp()[1]
    return Identified(message.offset() or 0, identity(message.key(), message.value(), headers, time_ms), time_ms)
