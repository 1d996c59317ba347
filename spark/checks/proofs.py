"""Reads the records that prove or disprove checkpoints: at most two small ranges per position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from components.contract.report import SAMPLES, Scalar
from components.kafka.positions import OffsetRange, TopicPartition
from spark.checks.landings import Around, is_unknown, landing_past, proof_at
from spark.checks.next_records import Expired, proofs_by_next
from spark.checks.probes import offsets_by_time, records_near
from spark.checks.translation import (
    TARGET_REACH,
    Candidates,
    Guess,
    Landing,
    Position,
    Proof,
    Record,
    SyncHistory,
    landing,
    source_range,
)
from spark.flows import OpenFlow


@dataclass(frozen=True)
class Proofs:
    """The proof of each position that has a checkpoint, and how much was read for it."""

    by_position: Mapping[Position, Proof]
    ranges_read: int
    records_read: int

    def samples(self) -> tuple[Mapping[str, Scalar], ...]:
        """Unproven positions first, then those that read most records again."""
        order = sorted(self.by_position.items(), key=lambda each: (each[1].proven, -each[1].read_again))
        return tuple(_sample(position, proof) for position, proof in order[:SAMPLES])


@dataclass(frozen=True)
class _Expected:
    """The landing of one position, and where its record should be on the source."""

    found: Landing | None
    guess: Guess | None
    range: OffsetRange


def prove_all(flow: OpenFlow, positions: Sequence[Position], syncs: Mapping[TopicPartition, SyncHistory]) -> Proofs:
    """Read the target around every translated offset, then the source around where those records should be."""
    remote = flow.policy.remote_partition
    # A checkpoint may outlive its remote topic or partition. Without a log there is nothing to read.
    existing = set(flow.replicated_partitions())
    targets = flow.target.offsets(sorted({remote(each.partition) for each in positions if each.partition in existing}))
    target_logs = {each: targets.get(remote(each.partition), OffsetRange(0, 0)) for each in positions}
    source_logs = flow.source.offsets(sorted({each.partition for each in positions}))
    around = [(remote(each.partition), _around(each).within(target_logs[each])) for each in positions]
    on_target = records_near(flow, flow.target, around)
    expected = _expected(flow, positions, syncs, on_target, source_logs)
    ranges = [(each.partition, expected[each].range) for each in positions]
    on_source = records_near(flow, flow.source, ranges)
    aborted = _aborted(flow, positions, expected, on_source)
    if aborted:
        again = _past_aborted(positions, expected, on_target, aborted)
        expected |= _expected(flow, list(again), syncs, on_target, source_logs, again)
        more = [(each.partition, expected[each].range) for each in again]
        on_source = _joined(on_source, records_near(flow, flow.source, more))
        ranges += more
    policies = flow.source.cleanup_policies({each.partition.topic for each in positions})
    arounds = {
        each: Around(
            target_logs[each],
            source_logs[each.partition],
            on_target.get(each.partition, []),
            Candidates(expected[each].range, on_source.get(each.partition, [])),
            expected[each].found,
            expected[each].guess,
            "compact" in policies.get(each.partition.topic, ""),
            not flow.parameters.comparable or bool(flow.parameters.drops) or each.partition in aborted,
        )
        for each in positions
    }
    by_position, more_ranges, more_records = _proved(flow, arounds)
    return Proofs(
        by_position,
        sum(1 for _, offsets in (*around, *ranges) if offsets.size) + more_ranges,
        sum(len(records) for records in (*on_target.values(), *on_source.values())) + more_records,
    )


def _proved(flow: OpenFlow, arounds: Mapping[Position, Around]) -> tuple[dict[Position, Proof], int, int]:
    """The proofs, and how many ranges and records were read for those whose records the source has removed."""
    found = {each: proof_at(each, around) for each, around in arounds.items()}
    expired = [
        Expired(each, proof, at.found, at.guess, at.source_log, at.target_log)
        for each, proof in found.items()
        if proof.expired_on_source and (at := arounds[each]).found is not None and at.guess is not None
    ]
    by_next, ranges, records = proofs_by_next(flow, expired)
    return found | by_next, ranges, records


def _aborted(
    flow: OpenFlow,
    positions: Sequence[Position],
    expected: Mapping[Position, "_Expected"],
    on_source: Mapping[TopicPartition, Sequence[Record]],
) -> dict[TopicPartition, frozenset[str]]:
    """The digests of aborted source records near those landings that the source does not hold as committed records."""
    unknown = [each for each in positions if is_unknown(expected[each].found, on_source.get(each.partition, []))]
    ranges = [(each.partition, expected[each].range) for each in unknown]
    found: dict[TopicPartition, frozenset[str]] = {}
    for partition, every in records_near(flow, flow.source, ranges, "read_uncommitted").items():
        committed = {each.digest for each in on_source.get(partition, [])}
        found[partition] = frozenset(each.digest for each in every) - committed
    return {partition: digests for partition, digests in found.items() if digests}


def _past_aborted(
    positions: Sequence[Position],
    expected: Mapping[Position, "_Expected"],
    on_target: Mapping[TopicPartition, Sequence[Record]],
    aborted: Mapping[TopicPartition, frozenset[str]],
) -> dict[Position, Landing]:
    """The landings on committed records, for the positions that landed on aborted ones."""
    landings = {}
    for each in positions:
        found, gone = expected[each].found, aborted.get(each.partition, frozenset())
        if each.checkpoint is None or found is None or found.record.digest not in gone:
            continue
        past = landing_past(each.checkpoint.downstream, on_target.get(each.partition, []), gone)
        if past is not None:
            landings[each] = past
    return landings


def _joined(
    one: Mapping[TopicPartition, Sequence[Record]], other: Mapping[TopicPartition, Sequence[Record]]
) -> dict[TopicPartition, list[Record]]:
    """The records of both readings, each once."""
    return {each: sorted({*one.get(each, []), *other.get(each, [])}) for each in one.keys() | other.keys()}


def _around(position: Position) -> OffsetRange:
    assert position.checkpoint is not None
    downstream = position.checkpoint.downstream
    return OffsetRange(downstream - TARGET_REACH, downstream + TARGET_REACH)


def _expected(
    flow: OpenFlow,
    positions: Sequence[Position],
    syncs: Mapping[TopicPartition, SyncHistory],
    on_target: Mapping[TopicPartition, Sequence[Record]],
    source_logs: Mapping[TopicPartition, OffsetRange],
    landings: Mapping[Position, Landing] = MappingProxyType({}),
) -> dict[Position, _Expected]:
    """Where each position's record should be on the source. `landings` are known ones."""
    found: dict[Position, tuple[Landing | None, Guess | None]] = {}
    for each in positions:
        assert each.checkpoint is not None
        landed = landings.get(each) or landing(each.checkpoint.downstream, on_target.get(each.partition, []))
        history = syncs.get(each.partition, SyncHistory())
        guess = history.guess(landed.record.offset) if landed is not None else None
        if guess is not None and flow.parameters.guard is not None:
            # The target may hold records of other producers between those of the flow.
            guess = guess._replace(exact=False)
        found[each] = landed, guess
    unsure = {
        each: landed.record.time_ms for each, (landed, guess) in found.items() if landed and not (guess and guess.exact)
    }
    by_time = offsets_by_time(flow.source, unsure)
    return {
        each: _Expected(
            landed,
            guess,
            source_range(guess, by_time.get(each), each.committed, source_logs[each.partition])
            if landed is not None
            else OffsetRange(0, 0),
        )
        for each, (landed, guess) in found.items()
    }


def _sample(position: Position, proof: Proof) -> dict[str, Scalar]:
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
