"""Reads the records that prove or disprove checkpoints: a small range on each side for each position. It reads more
only if a translated offset points to an aborted record, or to one that the source has compacted or removed.
`position_proof` decides from these records whether a position is proven.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kafka_replication.components.contract.report import SAMPLES, Scalar
from kafka_replication.components.kafka.offset_syncs import SourceGuess, SyncHistory
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.spark.checks.offsets.nearby import next_offsets, offsets_by_time, records_near
from kafka_replication.spark.checks.offsets.next_records import Unproven, proofs_by_next, with_next_offsets
from kafka_replication.spark.checks.offsets.position_proof import (
    SOURCE_REACH,
    TARGET_REACH,
    Around,
    Candidates,
    Position,
    PositionProof,
    RecordDigest,
    TranslatedRecord,
    committed_record,
    is_counted,
    is_unknown,
    proof_at,
    source_range,
    translated_record,
    unless_dropped,
)
from kafka_replication.spark.read.flows import OpenFlow


@dataclass(frozen=True)
class Proofs:
    """The proof of each position that has a checkpoint, and how much was read for it."""

    by_position: Mapping[Position, PositionProof]
    ranges_read: int
    records_read: int

    def samples(self) -> tuple[Mapping[str, Scalar], ...]:
        """Return samples: unproven positions first, then those that read most records again."""
        order = sorted(self.by_position.items(), key=lambda item: (item[1].proven, -item[1].read_again))
        return tuple(_sample(position, proof) for position, proof in order[:SAMPLES])


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
    near = [(remote(position.partition), _near(position).within(target_logs[position])) for position in positions]
    on_target = records_near(flow, flow.target, near)
    arounds = _expected(flow, positions, syncs, on_target, target_logs, source_logs)
    ranges = [(position.partition, arounds[position].candidates.offsets) for position in positions]
    on_source = records_near(flow, flow.source, ranges)
    aborted = _aborted(flow, arounds, on_source)
    if aborted:
        again = _past_aborted(arounds, aborted)
        arounds |= _expected(flow, list(again), syncs, on_target, target_logs, source_logs, again)
        more = [(position.partition, arounds[position].candidates.offsets) for position in again]
        on_source = _joined(on_source, records_near(flow, flow.source, more))
        ranges += more
    policies = flow.source.cleanup_policies({position.partition.topic for position in positions})
    arounds = {
        position: replace(
            around,
            candidates=around.candidates._replace(records=on_source.get(position.partition, [])),
            compacted="compact" in policies.get(position.partition.topic, ""),
            inexact=flow.parameters.may_drop or position.partition in aborted,
        )
        for position, around in arounds.items()
    }
    by_position, more_ranges, more_records = _proved(flow, arounds)
    return Proofs(
        by_position,
        sum(1 for _, offsets in (*near, *ranges) if offsets.size) + more_ranges,
        sum(len(records) for records in (*on_target.values(), *on_source.values())) + more_records,
    )


def _proved(flow: OpenFlow, arounds: Mapping[Position, Around]) -> tuple[dict[Position, PositionProof], int, int]:
    """Return the proofs, and how many ranges and records were read for those that need the next record."""
    proofs = {position: proof_at(position, around) for position, around in arounds.items()}
    looked_up = _with_unread_from(
        flow, {at: around for at, around in arounds.items() if not is_counted(at, proofs[at], around)}
    )
    proofs |= {position: proof_at(position, around) for position, around in looked_up.items()}
    arounds = {**arounds, **looked_up}
    compacted, expired = [], []
    for position, proof in proofs.items():
        at = arounds[position]
        entry = Unproven(position, proof, at)
        if at.compacted and proof.may_be_compacted:
            compacted.append(entry)
        elif proof.expired_on_source and at.found is not None and at.guess is not None:
            expired.append(entry)
    by_next, ranges, records = proofs_by_next(flow, [*with_next_offsets(flow, compacted), *expired])
    proofs |= by_next
    if flow.parameters.may_drop:
        proofs |= {
            position: unless_dropped(position, proof)
            for position, proof in proofs.items()
            if not (flow.parameters.comparable and is_counted(position, proof, arounds[position]))
        }
    return proofs, ranges, records


def _with_unread_from(flow: OpenFlow, arounds: Mapping[Position, Around]) -> dict[Position, Around]:
    """Return what was read, with the first source record that each group has not read. Offsets alone do not show that a
    group skips anything: those before the first record may be of aborted ones.
    """
    logs = {position.partition: around.source_log for position, around in arounds.items()}
    first = {position: max(position.committed, logs[position.partition].start) for position in arounds}
    following = next_offsets(flow.source, {(position.partition, at) for position, at in first.items()}, logs)
    return {
        position: replace(
            around, candidates=around.candidates._replace(unread_from=following[position.partition, first[position]])
        )
        for position, around in arounds.items()
    }


def _aborted(
    flow: OpenFlow, arounds: Mapping[Position, Around], on_source: Mapping[TopicPartition, Sequence[RecordDigest]]
) -> dict[TopicPartition, frozenset[str]]:
    """Return the digests of aborted source records by partition. They are read only near positions whose target record
    is not among the committed records of the source.
    """
    ranges = [
        (position.partition, around.candidates.offsets)
        for position, around in arounds.items()
        if is_unknown(around.found, on_source.get(position.partition, []))
    ]
    aborted: dict[TopicPartition, frozenset[str]] = {}
    for partition, every in records_near(flow, flow.source, ranges, committed=False).items():
        committed = {record.digest for record in on_source.get(partition, [])}
        aborted[partition] = frozenset(record.digest for record in every) - committed
    return {partition: digests for partition, digests in aborted.items() if digests}


def _past_aborted(
    arounds: Mapping[Position, Around], aborted: Mapping[TopicPartition, frozenset[str]]
) -> dict[Position, TranslatedRecord]:
    """Return the first committed target record at or after the translated offset, else the one before it, for positions
    whose target record was aborted on the source.
    """
    committed = {}
    for position, around in arounds.items():
        digests = aborted.get(position.partition, frozenset())
        if position.checkpoint is None or around.found is None or not around.found.record.copies(digests):
            continue
        past = committed_record(position.checkpoint.downstream, around.on_target, digests)
        if past is not None:
            committed[position] = past
    return committed


def _joined(
    one: Mapping[TopicPartition, Sequence[RecordDigest]], other: Mapping[TopicPartition, Sequence[RecordDigest]]
) -> dict[TopicPartition, list[RecordDigest]]:
    return {
        partition: sorted({*one.get(partition, []), *other.get(partition, [])})
        for partition in one.keys() | other.keys()
    }


def _near(position: Position) -> OffsetRange:
    assert position.checkpoint is not None
    downstream = position.checkpoint.downstream
    return OffsetRange(downstream - TARGET_REACH, downstream + TARGET_REACH)


def _expected(
    flow: OpenFlow,
    positions: Sequence[Position],
    syncs: Mapping[TopicPartition, SyncHistory],
    on_target: Mapping[TopicPartition, Sequence[RecordDigest]],
    target_logs: Mapping[Position, OffsetRange],
    source_logs: Mapping[TopicPartition, OffsetRange],
    known: Mapping[Position, TranslatedRecord] = MappingProxyType({}),
) -> dict[Position, Around]:
    """Return where each position's record should be on the still unread source. `known` are target records."""
    guessed: dict[Position, tuple[TranslatedRecord | None, SourceGuess | None]] = {}
    for position in positions:
        assert position.checkpoint is not None
        translated = known.get(position) or translated_record(
            position.checkpoint.downstream, on_target.get(position.partition, [])
        )
        history = syncs.get(position.partition, SyncHistory())
        guess = history.guess(translated.record.offset, markers=flow.parameters.exactly_once) if translated else None
        if guess is not None and (flow.parameters.guard is not None or flow.parameters.may_drop):
            # The target may hold records of other producers between those of the flow, or lack some that were dropped.
            guess = guess._replace(exact=False, reach=None)
        guessed[position] = translated, guess
    unsure = {
        position: translated.record.time_ms
        for position, (translated, guess) in guessed.items()
        if translated and not (guess and guess.exact and guess.markers <= SOURCE_REACH)
    }
    by_time = offsets_by_time(flow.source, unsure)
    expected = {}
    for position, (landed, guess) in guessed.items():
        log, offsets = source_logs[position.partition], OffsetRange(0, 0)
        if landed is not None:
            offsets = source_range(guess, by_time.get(position), position.committed, log)
        near = on_target.get(position.partition, [])
        expected[position] = Around(target_logs[position], log, near, Candidates(offsets, []), landed, guess)
    return expected


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
