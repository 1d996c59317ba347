"""Proves positions by the first record that a group has not read, if the record at its translated offset cannot.

The source may have removed that record, or the cleaner all records around it on the target. A group skips nothing if
the target holds its first unread record at or after the translated offset: the records that follow it on the source
follow it on the target, which `parity` judges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import NO_TIMESTAMP
from kafka_replication.spark.checks.offsets.nearby import next_offsets, offsets_by_time, records_near
from kafka_replication.spark.checks.offsets.position_proof import (
    SOURCE_REACH,
    TARGET_REACH,
    Around,
    Candidates,
    Position,
    PositionProof,
    RecordDigest,
)
from kafka_replication.spark.read.flows import OpenFlow


class NextOffsets(NamedTuple):
    """The first existing records at or after the committed offset on the source and the translated one on the target;
    the ends of the logs if there are none.
    """

    on_source: int
    on_target: int


@dataclass(frozen=True)
class Unproven:
    """A position that the record at its translated offset does not prove. `next` is known if the topic is compacted."""

    position: Position
    proof: PositionProof
    around: Around
    next: NextOffsets | None = None

    @property
    def downstream(self) -> int:
        assert self.position.checkpoint is not None
        return self.position.checkpoint.downstream

    @property
    def waiting(self) -> int:
        """Return the first source offset that the group has not read."""
        return max(self.position.committed, self.around.source_log.start)

    @property
    def unread(self) -> OffsetRange:
        """Return the offsets of the source among which to look for the first unread record."""
        begin = self.waiting if self.next is None else self.next.on_source
        return OffsetRange(begin, begin + SOURCE_REACH + 1).within(self.around.source_log)


def proof_by_next(
    unproven: Unproven, unread: Sequence[RecordDigest], on_target: Sequence[RecordDigest]
) -> PositionProof:
    """Return the proof by the first of the `unread` source records, which are in `unproven.unread`, or the given one.
    `on_target` has records of the target near the place where that record should be.
    """
    if not unread:
        # Without a lookup, a guess must show that the target's records are those of this source.
        around = unproven.around
        sure = unproven.next is not None or (around.guess is not None and around.guess.exact)
        nothing_left = sure and unproven.unread.end == around.source_log.end
        return _proven(unproven, around.target_log.end) if nothing_left else unproven.proof
    first = min(unread)
    # If records are equal, the target may hold another one of them there.
    if sum(record.digest == first.digest for record in unread) > 1:
        return unproven.proof
    places = [
        record.offset for record in on_target if record.copies((first.digest,)) and record.offset >= unproven.downstream
    ]
    untimed = first.time_ms == NO_TIMESTAMP
    return replace(_proven(unproven, min(places)), untimed=untimed) if places else unproven.proof


def _proven(unproven: Unproven, place: int) -> PositionProof:
    """The group reads again what the target holds from the translated offset up to `place`, where an equal record that
    it has read may be, and at most what it has read on the source since the translated offset.
    """
    begin, source_offset, around = unproven.downstream, unproven.position.committed, unproven.around
    if unproven.next is not None:
        begin = min(unproven.next.on_target, place)
    elif around.guess is not None and around.found is not None:
        source_offset = around.guess.offset + around.found.after
    since = min(unproven.position.committed, around.source_log.end) - source_offset
    return replace(unproven.proof, finding=None, source_offset=source_offset, read_again=max(place - begin, since))


def places_on_target(unproven: Unproven, first: RecordDigest, by_time: int) -> list[OffsetRange]:
    """Return where the target should hold the `first` unread record: by its distance from the translated record, by its
    time, and at the next existing record. `by_time` is -1 if the target holds no record from that time on.
    """
    places, around = [by_time], unproven.around
    if around.found is not None and around.guess is not None:
        places.insert(0, around.found.record.offset + first.offset - around.guess.offset)
    if unproven.next is not None:
        places.append(unproven.next.on_target)
    ranges = (OffsetRange(place - TARGET_REACH, place + SOURCE_REACH) for place in places if place >= 0)
    return [offsets for near in ranges if (offsets := near.within(around.target_log)).size]


def with_next_offsets(flow: OpenFlow, unproven: Sequence[Unproven]) -> list[Unproven]:
    """Return the positions of compacted topics with the offsets at which existing records follow."""
    if not unproven:
        return []
    remote = flow.policy.remote_partition
    sources = {(entry.position.partition, entry.waiting) for entry in unproven}
    targets = {(remote(entry.position.partition), entry.downstream) for entry in unproven}
    source_logs = {entry.position.partition: entry.around.source_log for entry in unproven}
    target_logs = {remote(entry.position.partition): entry.around.target_log for entry in unproven}
    on_source = next_offsets(flow.source, sources, source_logs)
    on_target = next_offsets(flow.target, targets, target_logs)
    return [
        replace(
            entry,
            next=NextOffsets(
                on_source[entry.position.partition, entry.waiting],
                on_target[remote(entry.position.partition), entry.downstream],
            ),
        )
        for entry in unproven
    ]


def proofs_by_next(flow: OpenFlow, unproven: Sequence[Unproven]) -> tuple[dict[Position, PositionProof], int, int]:
    """Return the proofs of the positions, and how many ranges and records were read for them."""
    if not unproven:
        return {}, 0, 0
    ranges = [(entry.position.partition, entry.unread) for entry in unproven]
    on_source = records_near(flow, flow.source, ranges)
    unread = {
        entry.position: Candidates(entry.unread, on_source.get(entry.position.partition, [])).within()
        for entry in unproven
    }
    remote = flow.policy.remote_partition
    times = {position: min(candidates).time_ms for position, candidates in unread.items() if candidates}
    by_time = offsets_by_time(flow.target, times, remote)
    places = [
        (remote(entry.position.partition), place)
        for entry in unproven
        if unread[entry.position]
        for place in places_on_target(entry, min(unread[entry.position]), by_time[entry.position])
    ]
    on_target: Mapping[TopicPartition, Sequence[RecordDigest]] = records_near(flow, flow.target, places)
    proofs = {
        entry.position: proof_by_next(entry, unread[entry.position], on_target.get(entry.position.partition, []))
        for entry in unproven
    }
    records = sum(len(candidates) for candidates in (*on_source.values(), *on_target.values()))
    return proofs, sum(1 for _, offsets in (*ranges, *places) if offsets.size), records
