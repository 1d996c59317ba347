"""Reads both sides of a flow's partitions, and computes exact positions from their records. Only reads.

Where the target is read from is found by time: a copy has the timestamp of its record, so no copy of the first record
that a group waits for is before the first target record with that timestamp or a later one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters, GuardParameters
from kafka_replication.components.kafka.exact_positions import NotProvenError, PartitionPositions, exact_positions
from kafka_replication.components.kafka.pair_positions import PairSides, pair_positions
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.kafka.record_identity import without_mark
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.infra.operate.partition_logs import Compared, PartitionLog, Say, every, walk_partitions

#: How many offsets before the lowest position a walk begins, because records that were sent again may start there. If a
#: record is not found, the next number is tried; None is the beginning of the log.
LEADS = (1_000, 100_000, None)


def read_positions(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    committed: Mapping[TopicPartition, Iterable[int]],
    say: Say,
    left: Mapping[TopicPartition, Collection[tuple[int, int]]] | None = None,
) -> dict[TopicPartition, PartitionPositions | NotProvenError]:
    """Return the positions on the target of committed offsets on the source, by source partition.

    In a pair, `left` has the offsets of groups that have consumed on the target before, each with the offset at which
    it left the target. Each partition is read once, however many offsets there are. Raises NoAnswerError.
    """

    # After a failover producers write to the same topic, and the records stay there when the groups have returned.
    shared = flow.policy is Policy.IDENTITY

    def walk(ours: PartitionLog, theirs: PartitionLog, offsets: list[int]) -> PartitionPositions | NotProvenError:
        returning = (left or {}).get(ours.partition, ()) if flow.guard else ()
        return walk_across(Crossing(flow.guard, ours, theirs, shared, returning), offsets)

    return walk_partitions(flow, source, target, committed, say, walk)


@dataclass(frozen=True)
class Crossing:
    """A source partition and its remote partition. A pair's guard distinguishes what was produced here from what was
    copied here.
    """

    guard: GuardParameters | None
    source: PartitionLog
    target: PartitionLog
    shared: bool = False
    left: Collection[tuple[int, int]] = ()

    @property
    def sides(self) -> PairSides:
        """Return the records to compare. Without a guard, only the first two kinds should be read."""
        drops, adds = (self.guard.filter, self.guard.mark) if self.guard else ("", "")
        return PairSides(
            source=lambda start: self.source.records(start, _without(drops)),
            copies_on_target=lambda start: self.target.records(start, _with(adds) if adds else every),
            target=lambda start: self.target.records(start, _without(adds)),
            copies_on_source=lambda start: self.source.records(start, _with(drops)),
            target_end=self.target.log.end,
            target_first=self.target.log.start,
        )

    def begin(self, start: int, lowest: int) -> int | None:
        """Return where to begin on the target if the walk begins here on the source; None if the source holds no record
        from here on or, in a pair, no copy: then nothing shows what has been replicated. If the source has lost the
        records after the `lowest` offset, the target may still hold them, so begin at its first record.
        """
        kinds = [self.sides.source, *([self.sides.copies_on_source] if self.guard else [])]
        firsts = [first for kind in kinds if (first := next(kind(start), None)) is not None]
        if len(firsts) < len(kinds):
            return None if start > self.source.log.start else self.target.log.start
        if start > lowest:
            return self.target.log.start
        return min(self.target.not_before(first) for first in firsts)

    def positions(self, committed: list[int], start: int, begin: int) -> PartitionPositions:
        sides = self.sides
        if self.guard:
            return pair_positions(committed, sides, start, begin, self.left)
        source, target = sides.source(start), sides.copies_on_target(begin)
        return exact_positions(committed, source, target, sides.target_end, shared=self.shared)


def walk_across(
    crossing: Crossing, committed: list[int], leads: Sequence[int | None] = LEADS
) -> PartitionPositions | NotProvenError:
    """Walk from a little before the lowest position; if a record is not found, from further back."""
    log, why = crossing.source.log, NotProvenError("nothing was read")
    for lead in leads:
        start = log.start if lead is None else max(log.start, committed[0] - lead)
        start = min(start, log.end)
        begin = crossing.begin(start, committed[0])
        if begin is None:
            continue
        try:
            result = crossing.positions(committed, start, begin)
            nothing_on_target = result.waiting and not result.on_target
            if (
                nothing_on_target or any(position.not_there for position in result.positions.values())
            ) and begin > crossing.target.log.start:
                # Timestamps may be out of order: only the whole log shows that a record is not there.
                result = crossing.positions(committed, start, crossing.target.log.start)
        except NotProvenError as error:
            why = error
        else:
            if result.waiting and result.foreign and start > log.start:
                # The first waiting record may have been sent to the source twice, and may equal a record before
                # `start`.
                continue
            if result.waiting and not result.on_target and crossing.target.log.start:
                return NotProvenError(
                    f"the target has deleted its records before {crossing.target.log.start} and holds no others, so "
                    "nothing shows which records were replicated: wait until another record is replicated"
                )
            return _with_expired(result, log.start)
        if start == log.start:
            break
    return why


def _with_expired(result: PartitionPositions, source_start: int) -> PartitionPositions:
    """Add the target's older records for groups whose offset is before the source's first record."""
    positions = {
        committed: replace(position, expired=result.passed_over) if committed < source_start else position
        for committed, position in result.positions.items()
    }
    returning = {
        (committed, left): replace(position, expired=positions[committed].expired)
        for (committed, left), position in result.returning.items()
    }
    return replace(result, positions=positions, returning=returning)


def _without(name: str) -> Compared:
    """Compare records without a header of this name."""
    return lambda headers: None if name and any(key == name for key, _ in headers) else headers


def _with(mark: str) -> Compared:
    """Compare records with a guard's mark, as they were before it was appended."""
    return lambda headers: without_mark(headers, mark) if any(key == mark for key, _ in headers) else None
