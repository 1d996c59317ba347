"""Proofs of translated offsets whose own record the source has removed, by the record that the group reads next. A
group skips nothing if the target holds that record at or after the translated offset: the records that follow it on the
source follow it on the target, which `parity` judges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.probes import offsets_by_time, records_near
from spark.checks.translation import (
    SOURCE_REACH,
    TARGET_REACH,
    Candidates,
    Guess,
    Landing,
    Position,
    Proof,
    Record,
)
from spark.flows import OpenFlow


@dataclass(frozen=True)
class Expired:
    """A position whose proof has expired on the source, and both logs. `guess` is where the landing's record was."""

    position: Position
    proof: Proof
    landed: Landing
    guess: Guess
    source_log: OffsetRange
    target_log: OffsetRange

    @property
    def downstream(self) -> int:
        assert self.position.checkpoint is not None
        return self.position.checkpoint.downstream

    @property
    def unread(self) -> OffsetRange:
        """The first source offsets that the group has not read."""
        waiting = max(self.position.committed, self.source_log.start)
        return OffsetRange(waiting, waiting + SOURCE_REACH + 1).within(self.source_log)


def proof_by_next(expired: Expired, unread: Sequence[Record], on_target: Sequence[Record]) -> Proof:
    """The proof by the first of the `unread` source records, which are in `expired.unread`, or the given one.
    `on_target` has records of the target near the place where that record should be.
    """
    if not unread:
        nothing_left = expired.guess.exact and expired.unread.end == expired.source_log.end
        return _proven(expired, expired.target_log.end) if nothing_left else expired.proof
    first = min(unread)
    # If records are equal, the target may hold another one of them there.
    if sum(each.digest == first.digest for each in unread) > 1:
        return expired.proof
    places = [each.offset for each in on_target if each.digest == first.digest and each.offset >= expired.downstream]
    return _proven(expired, min(places)) if places else expired.proof


def _proven(expired: Expired, place: int) -> Proof:
    """The group reads again what the target holds from the translated offset up to `place`."""
    standing = expired.guess.offset + expired.landed.after
    return replace(expired.proof, finding=None, source_offset=standing, read_again=place - expired.downstream)


def places_on_target(expired: Expired, first: Record, by_time: int) -> list[OffsetRange]:
    """Where the target should hold the `first` unread record: by its distance from the landing, and by its time.
    `by_time` is -1 if the target holds no record from that time on."""
    by_distance = expired.landed.record.offset + first.offset - expired.guess.offset
    places = [each for each in (by_distance, by_time) if each >= 0]
    around = [OffsetRange(each - TARGET_REACH, each + SOURCE_REACH).within(expired.target_log) for each in places]
    return [each for each in around if each.size]


def proofs_by_next(flow: OpenFlow, expired: Sequence[Expired]) -> tuple[dict[Position, Proof], int, int]:
    """The proofs of the positions, and how many ranges and records were read for them."""
    if not expired:
        return {}, 0, 0
    ranges = [(each.position.partition, each.unread) for each in expired]
    on_source = records_near(flow, flow.source, ranges)
    unread = {
        each.position: Candidates(each.unread, on_source.get(each.position.partition, [])).within() for each in expired
    }
    remote = flow.policy.remote_partition
    times = {position: min(found).time_ms for position, found in unread.items() if found}
    by_time = offsets_by_time(flow.target, times, remote)
    places = [
        (remote(each.position.partition), place)
        for each in expired
        if unread[each.position]
        for place in places_on_target(each, min(unread[each.position]), by_time[each.position])
    ]
    on_target: Mapping[TopicPartition, Sequence[Record]] = records_near(flow, flow.target, places)
    proofs = {
        each.position: proof_by_next(each, unread[each.position], on_target.get(each.position.partition, []))
        for each in expired
    }
    records = sum(len(found) for found in (*on_source.values(), *on_target.values()))
    return proofs, sum(1 for _, offsets in (*ranges, *places) if offsets.size), records
