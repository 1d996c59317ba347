"""Reads the records that prove or disprove checkpoints: at most two small ranges per position.

If the source has removed the record at a translated offset, the record that the group reads next can prove it. A group
skips nothing if the target holds that record at or after the translated offset: the records that follow it on the
source follow it on the target, which `parity` judges.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from components.contract.report import SAMPLES, Scalar
from components.kafka.offset_syncs import SourceGuess, SyncHistory
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.record_identity import identity
from spark.checks.offsets.translation import (
    SOURCE_REACH,
    TARGET_REACH,
    Around,
    Candidates,
    Position,
    PositionProof,
    RecordDigest,
    TranslatedRecord,
    committed_record,
    is_unknown,
    proof_at,
    source_range,
    translated_record,
)
from spark.read.digests import COMPARED, SOURCE, TARGET, compared_headers, role_of
from spark.read.flows import FlowCluster, OpenFlow

#: Ranges by source partition; one partition may have several.
Ranges: TypeAlias = Sequence[tuple[TopicPartition, OffsetRange]]


def offsets_by_time(
    cluster: FlowCluster,
    times: Mapping[Position, int],
    named: Callable[[TopicPartition], TopicPartition] = lambda at: at,
) -> dict[Position, int]:
    """Return the first offset at or after each position's time (ms); -1 if there is none. One request serves each
    partition once. `named` gives the cluster's name of a source partition.
    """
    offsets: dict[Position, int] = {}
    left = dict(times)
    while left:
        once = {position.partition: position for position in left}
        answer = cluster.offsets_at(
            {named(partition): left[position] for partition, position in once.items()}, committed=True
        )
        offsets |= {position: answer[named(partition)] for partition, position in once.items()}
        for position in once.values():
            del left[position]
    return offsets


def records_near(
    flow: OpenFlow, cluster: FlowCluster, ranges: Ranges, isolation: str = "read_committed", *, compared: bool = False
) -> dict[TopicPartition, list[RecordDigest]]:
    """Return the records of the ranges without their content, by source partition; with `compared`, only those that the
    guard lets cross.
    """
    side = SOURCE if cluster is flow.source else TARGET
    guard, changed = flow.parameters.guard, flow.parameters.changed_headers
    digests: dict[TopicPartition, list[RecordDigest]] = {}
    for record in cluster.read("single records", ranges, committed=isolation == "read_committed"):
        if compared and role_of(side, guard, record.headers) != COMPARED:
            continue
        topic = record.partition.topic if side == SOURCE else flow.policy.original(record.partition.topic)
        headers = compared_headers(side, guard, changed, record.headers)
        digest = identity(record.key, record.value, headers, record.time_ms).hex()
        partition = TopicPartition(topic, record.partition.partition)
        digests.setdefault(partition, []).append(RecordDigest(record.offset, record.time_ms, digest))
    return digests


@dataclass(frozen=True)
class Expired:
    """A position whose proof has expired on the source, and both logs. `guess` is where the landing's record was."""

    position: Position
    proof: PositionProof
    landed: TranslatedRecord
    guess: SourceGuess
    source_log: OffsetRange
    target_log: OffsetRange

    @property
    def downstream(self) -> int:
        assert self.position.checkpoint is not None
        return self.position.checkpoint.downstream

    @property
    def unread(self) -> OffsetRange:
        """Return the first source offsets that the group has not read."""
        waiting = max(self.position.committed, self.source_log.start)
        return OffsetRange(waiting, waiting + SOURCE_REACH + 1).within(self.source_log)


def proof_by_next(expired: Expired, unread: Sequence[RecordDigest], on_target: Sequence[RecordDigest]) -> PositionProof:
    """Return the proof by the first of the `unread` source records, which are in `expired.unread`, or the given one.
    `on_target` has records of the target near the place where that record should be.
    """
    if not unread:
        nothing_left = expired.guess.exact and expired.unread.end == expired.source_log.end
        return _proven(expired, expired.target_log.end) if nothing_left else expired.proof
    first = min(unread)
    # If records are equal, the target may hold another one of them there.
    if sum(record.digest == first.digest for record in unread) > 1:
        return expired.proof
    places = [
        record.offset for record in on_target if record.digest == first.digest and record.offset >= expired.downstream
    ]
    return _proven(expired, min(places)) if places else expired.proof


def _proven(expired: Expired, place: int) -> PositionProof:
    """The group reads again what the target holds from the translated offset up to `place`."""
    source_offset = expired.guess.offset + expired.landed.after
    return replace(expired.proof, finding=None, source_offset=source_offset, read_again=place - expired.downstream)


def places_on_target(expired: Expired, first: RecordDigest, by_time: int) -> list[OffsetRange]:
    """Return where the target should hold the `first` unread record: by its distance from the landing, and by its time.
    `by_time` is -1 if the target holds no record from that time on."""
    by_distance = expired.landed.record.offset + first.offset - expired.guess.offset
    places = [offset for offset in (by_distance, by_time) if offset >= 0]
    around = [OffsetRange(place - TARGET_REACH, place + SOURCE_REACH).within(expired.target_log) for place in places]
    return [offsets for offsets in around if offsets.size]


def proofs_by_next(flow: OpenFlow, expired: Sequence[Expired]) -> tuple[dict[Position, PositionProof], int, int]:
    """Return the proofs of the positions, and how many ranges and records were read for them."""
    if not expired:
        return {}, 0, 0
    ranges = [(expiry.position.partition, expiry.unread) for expiry in expired]
    on_source = records_near(flow, flow.source, ranges)
    unread = {
        expiry.position: Candidates(expiry.unread, on_source.get(expiry.position.partition, [])).within()
        for expiry in expired
    }
    remote = flow.policy.remote_partition
    times = {position: min(candidates).time_ms for position, candidates in unread.items() if candidates}
    by_time = offsets_by_time(flow.target, times, remote)
    places = [
        (remote(expiry.position.partition), place)
        for expiry in expired
        if unread[expiry.position]
        for place in places_on_target(expiry, min(unread[expiry.position]), by_time[expiry.position])
    ]
    on_target: Mapping[TopicPartition, Sequence[RecordDigest]] = records_near(flow, flow.target, places)
    proofs = {
        expiry.position: proof_by_next(expiry, unread[expiry.position], on_target.get(expiry.position.partition, []))
        for expiry in expired
    }
    records = sum(len(candidates) for candidates in (*on_source.values(), *on_target.values()))
    return proofs, sum(1 for _, offsets in (*ranges, *places) if offsets.size), records


@dataclass(frozen=True)
class Proofs:
    """The proof of each position that has a checkpoint, and how much was read for it."""

    by_position: Mapping[Position, PositionProof]
    ranges_read: int
    records_read: int

    def samples(self) -> tuple[Mapping[str, Scalar], ...]:
        """Unproven positions first, then those that read most records again."""
        order = sorted(self.by_position.items(), key=lambda item: (item[1].proven, -item[1].read_again))
        return tuple(_sample(position, proof) for position, proof in order[:SAMPLES])


@dataclass(frozen=True)
class _Expected:
    """The landing of one position, and where its record should be on the source."""

    found: TranslatedRecord | None
    guess: SourceGuess | None
    range: OffsetRange


def prove_all(flow: OpenFlow, positions: Sequence[Position], syncs: Mapping[TopicPartition, SyncHistory]) -> Proofs:
    """Read the target around every translated offset, then the source around where those records should be."""
    remote = flow.policy.remote_partition
    # A checkpoint may outlive its remote topic or partition. Without a log there is nothing to read.
    existing = set(flow.replicated_partitions())
    targets = flow.target.logs(
        sorted({remote(position.partition) for position in positions if position.partition in existing}), committed=True
    )
    target_logs = {position: targets.get(remote(position.partition), OffsetRange(0, 0)) for position in positions}
    source_logs = flow.source.logs(sorted({position.partition for position in positions}), committed=True)
    around = [(remote(position.partition), _around(position).within(target_logs[position])) for position in positions]
    on_target = records_near(flow, flow.target, around)
    expected = _expected(flow, positions, syncs, on_target, source_logs)
    ranges = [(position.partition, expected[position].range) for position in positions]
    on_source = records_near(flow, flow.source, ranges)
    aborted = _aborted(flow, positions, expected, on_source)
    if aborted:
        again = _past_aborted(positions, expected, on_target, aborted)
        expected |= _expected(flow, list(again), syncs, on_target, source_logs, again)
        more = [(position.partition, expected[position].range) for position in again]
        on_source = _joined(on_source, records_near(flow, flow.source, more))
        ranges += more
    policies = flow.source.cleanup_policies({position.partition.topic for position in positions})
    arounds = {
        position: Around(
            target_logs[position],
            source_logs[position.partition],
            on_target.get(position.partition, []),
            Candidates(expected[position].range, on_source.get(position.partition, [])),
            expected[position].found,
            expected[position].guess,
            "compact" in policies.get(position.partition.topic, ""),
            not flow.parameters.comparable or bool(flow.parameters.drops) or position.partition in aborted,
        )
        for position in positions
    }
    by_position, more_ranges, more_records = _proved(flow, arounds)
    return Proofs(
        by_position,
        sum(1 for _, offsets in (*around, *ranges) if offsets.size) + more_ranges,
        sum(len(records) for records in (*on_target.values(), *on_source.values())) + more_records,
    )


def _proved(flow: OpenFlow, arounds: Mapping[Position, Around]) -> tuple[dict[Position, PositionProof], int, int]:
    """Return the proofs, and how many ranges and records were read for those whose records the source has removed."""
    proofs = {position: proof_at(position, around) for position, around in arounds.items()}
    expired = [
        Expired(position, proof, at.found, at.guess, at.source_log, at.target_log)
        for position, proof in proofs.items()
        if proof.expired_on_source and (at := arounds[position]).found is not None and at.guess is not None
    ]
    by_next, ranges, records = proofs_by_next(flow, expired)
    return proofs | by_next, ranges, records


def _aborted(
    flow: OpenFlow,
    positions: Sequence[Position],
    expected: Mapping[Position, "_Expected"],
    on_source: Mapping[TopicPartition, Sequence[RecordDigest]],
) -> dict[TopicPartition, frozenset[str]]:
    """Return the digests of aborted source records near those landings that the source does not hold as committed
    records.
    """
    unknown = [
        position
        for position in positions
        if is_unknown(expected[position].found, on_source.get(position.partition, []))
    ]
    ranges = [(position.partition, expected[position].range) for position in unknown]
    aborted: dict[TopicPartition, frozenset[str]] = {}
    for partition, every in records_near(flow, flow.source, ranges, "read_uncommitted").items():
        committed = {record.digest for record in on_source.get(partition, [])}
        aborted[partition] = frozenset(record.digest for record in every) - committed
    return {partition: digests for partition, digests in aborted.items() if digests}


def _past_aborted(
    positions: Sequence[Position],
    expected: Mapping[Position, "_Expected"],
    on_target: Mapping[TopicPartition, Sequence[RecordDigest]],
    aborted: Mapping[TopicPartition, frozenset[str]],
) -> dict[Position, TranslatedRecord]:
    """Return the landings on committed records, for the positions that landed on aborted ones."""
    landings = {}
    for position in positions:
        translated, gone = expected[position].found, aborted.get(position.partition, frozenset())
        if position.checkpoint is None or translated is None or translated.record.digest not in gone:
            continue
        past = committed_record(position.checkpoint.downstream, on_target.get(position.partition, []), gone)
        if past is not None:
            landings[position] = past
    return landings


def _joined(
    one: Mapping[TopicPartition, Sequence[RecordDigest]], other: Mapping[TopicPartition, Sequence[RecordDigest]]
) -> dict[TopicPartition, list[RecordDigest]]:
    """Return the records of both readings, each once."""
    return {
        partition: sorted({*one.get(partition, []), *other.get(partition, [])})
        for partition in one.keys() | other.keys()
    }


def _around(position: Position) -> OffsetRange:
    assert position.checkpoint is not None
    downstream = position.checkpoint.downstream
    return OffsetRange(downstream - TARGET_REACH, downstream + TARGET_REACH)


def _expected(
    flow: OpenFlow,
    positions: Sequence[Position],
    syncs: Mapping[TopicPartition, SyncHistory],
    on_target: Mapping[TopicPartition, Sequence[RecordDigest]],
    source_logs: Mapping[TopicPartition, OffsetRange],
    landings: Mapping[Position, TranslatedRecord] = MappingProxyType({}),
) -> dict[Position, _Expected]:
    """Return where each position's record should be on the source. `landings` are known ones."""
    guessed: dict[Position, tuple[TranslatedRecord | None, SourceGuess | None]] = {}
    for position in positions:
        assert position.checkpoint is not None
        landed = landings.get(position) or translated_record(
            position.checkpoint.downstream, on_target.get(position.partition, [])
        )
        history = syncs.get(position.partition, SyncHistory())
        guess = history.guess(landed.record.offset) if landed is not None else None
        if guess is not None and flow.parameters.guard is not None:
            # The target may hold records of other producers between those of the flow.
            guess = guess._replace(exact=False)
        guessed[position] = landed, guess
    unsure = {
        position: landed.record.time_ms
        for position, (landed, guess) in guessed.items()
        if landed and not (guess and guess.exact)
    }
    by_time = offsets_by_time(flow.source, unsure)
    return {
        position: _Expected(
            landed,
            guess,
            source_range(guess, by_time.get(position), position.committed, source_logs[position.partition])
            if landed is not None
            else OffsetRange(0, 0),
        )
        for position, (landed, guess) in guessed.items()
    }


def _sample(position: Position, proof: PositionProof) -> dict[str, Scalar]:
    assert position.checkpoint is not None
    return {
        "group": position.group,
        "topic": position.partition.topic,
        "partition": position.partition.partition,
        "committed": position.committed,
        "upstreamOffset": position.checkpoint.upstream,
        "downstreamOffset": position.checkpoint.downstream,
        "sourceOffset": proof.source_offset,
        "readAgain": proof.read_again if proof.proven else None,
        "onTarget": position.on_target,
    }
