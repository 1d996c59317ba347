"""A state machine over a partition in memory: a proof of a group's offset is right, whatever happens."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.spark.checks.offsets.checkpoints import Patience, position_findings
from kafka_replication.spark.checks.offsets.next_records import NextOffsets, Unproven, places_on_target, proof_by_next
from kafka_replication.spark.checks.offsets.position_proof import (
    TARGET_REACH,
    Around,
    Candidates,
    PositionProof,
    proof_at,
    source_range,
    translated_record,
)
from tests.model.partition import GROUP, ORDERS, Partition, records_in
from tests.spark.documents import a_flow

FLOW = a_flow()
FEW = st.integers(1, 40)


class Offsets(RuleBasedStateMachine):
    """What producers, MirrorMaker, retention, a group and somebody who sets checkpoints by hand may do."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = Partition(0)
        self.forged = False

    @initialize(lag_max=st.sampled_from((0, 3, 100)), compacted=st.booleans())
    def begin(self, lag_max: int, compacted: bool) -> None:
        self.partition = Partition(lag_max, compacted=compacted)

    @rule(records=FEW)
    def produce(self, records: int) -> None:
        self.partition.produce(records)

    @precondition(lambda self: any(record is not None for record in self.partition.source))
    @rule(back=st.integers(1, 4))
    def produce_again(self, back: int) -> None:
        self.partition.produce_again(back)

    @rule(offsets=st.integers(1, 4))
    def mark_or_abort(self, offsets: int) -> None:
        self.partition.leave_out(offsets)

    @rule(offsets=st.integers(1, 80))
    def replicate(self, offsets: int) -> None:
        self.partition.replicate(offsets)

    @rule(again=st.integers(0, 20))
    def restart(self, again: int) -> None:
        self.partition.restart(again)

    @precondition(lambda self: self.partition.synced_since_restart)
    @rule()
    def congest(self) -> None:
        self.partition.congest()

    @precondition(lambda self: self.partition.congested)
    @rule()
    def clear_congestion(self) -> None:
        self.partition.clear_congestion()

    @rule(data=st.data())
    def expire_on_source(self, data: Any) -> None:
        self.partition.source_start = data.draw(st.integers(self.partition.source_start, len(self.partition.source)))

    @rule(data=st.data())
    def expire_on_target(self, data: Any) -> None:
        self.partition.target_start = data.draw(st.integers(self.partition.target_start, len(self.partition.target)))

    @precondition(lambda self: self.partition.compacted and len(self.partition.target) > 1)
    @rule(records=FEW, data=st.data())
    def compact_target(self, records: int, data: Any) -> None:
        """The newest record has the key of all that the cleaner removes."""
        newest = len(self.partition.target) - 1
        first = data.draw(st.integers(0, newest - 1))
        self.partition.compact_target(first, min(first + records, newest))

    @rule(data=st.data())
    def consume(self, data: Any) -> None:
        """Forward, or back after a reset. The checkpoint is updated before the job looks."""
        self.partition.consume(data.draw(st.integers(0, len(self.partition.source))))
        self.partition.translate()
        self.forged = False

    @precondition(lambda self: self.partition.checkpoint is not None)
    @rule(by=st.sampled_from((1, 2, 0, -1, 7)))
    def forge_checkpoint(self, by: int) -> None:
        """Near the group's right position, because a proof is most easily wrong there."""
        checkpoint = self.partition.checkpoint
        assert checkpoint is not None
        downstream = max(0, self.partition.place_of_the_group() + by)
        self.partition.checkpoint = checkpoint._replace(downstream=downstream)
        self.forged = True

    @invariant()
    def the_proof_is_right(self) -> None:
        partition = self.partition
        if partition.committed is None or partition.checkpoint is None:
            return
        proof = proof_of(partition)
        if proof.proven:
            skipped = partition.would_be_skipped(unless_sent_again=True)
            assert not skipped, f"{partition.group} is called proven, but skips {sorted(skipped)}"
        if proof.proven and not partition.resent:
            assert partition.read_again() <= proof.read_again
        if proof.finding is not None and proof.finding.severity is FindingSeverity.FAIL:
            skipped = partition.would_be_skipped(unless_sent_again=False)
            assert skipped or partition.checkpoint.downstream > len(partition.target), proof.finding.message

    @invariant()
    def a_working_flow_has_no_failed_standing(self) -> None:
        partition = self.partition
        if partition.committed is None or self.forged:
            return
        partition.translate()
        syncs, first = {ORDERS: partition.history}, {(GROUP, ORDERS): partition.committed}
        found = position_findings([partition.group], first, syncs, syncs, FLOW, Patience.of(FLOW, 0))
        assert [each.finding.code for each in found if each.finding.severity is FindingSeverity.FAIL] == []


def proof_of(partition: Partition) -> PositionProof:
    """The proof of the group's translated offset, from what the job would read of both logs."""
    position, history = partition.group, partition.history
    assert position.checkpoint is not None
    downstream = position.checkpoint.downstream
    near = OffsetRange(downstream - TARGET_REACH, downstream + TARGET_REACH).within(partition.target_log)
    on_target = records_in(partition, partition.left_on_target, near)
    found = translated_record(downstream, on_target)
    guess = history.guess(found.record.offset) if found else None
    log = partition.source_log
    by_time = None
    if found is not None and not (guess and guess.exact):
        later = records_in(partition, partition.source, OffsetRange(max(log.start, found.record.time_ms), log.end))
        by_time = later[0].offset if later else -1
    wanted = source_range(guess, by_time, position.committed, log) if found else OffsetRange(0, 0)
    read = Candidates(wanted, records_in(partition, partition.source, wanted))
    around = Around(partition.target_log, log, on_target, read, found, guess, compacted=partition.compacted)
    proof = proof_at(position, around)
    unproven = Unproven(position, proof, around)
    if partition.compacted and proof.may_be_compacted:
        following = NextOffsets(
            next_offset(partition.source, unproven.waiting, log),
            next_offset(partition.left_on_target, downstream, partition.target_log),
        )
        return by_next(partition, replace(unproven, next=following))
    if not proof.expired_on_source or found is None or guess is None:
        return proof
    return by_next(partition, unproven)


def next_offset(log: list[int | None], offset: int, held: OffsetRange) -> int:
    """The offset of the first record from there on; the log's end if there is none."""
    return next((at for at in range(offset, held.end) if log[at] is not None), max(offset, held.end))


def by_next(partition: Partition, unproven: Unproven) -> PositionProof:
    """The proof by the record that the group reads next, from what the job would read."""
    unread = records_in(partition, partition.source, unproven.unread)
    if not unread:
        return proof_by_next(unproven, [], [])
    held = records_in(partition, partition.left_on_target, partition.target_log)
    by_time = next((each.offset for each in held if each.time_ms >= unread[0].time_ms), -1)
    places = places_on_target(unproven, unread[0], by_time)
    near = [each for place in places for each in records_in(partition, partition.left_on_target, place)]
    return proof_by_next(unproven, unread, near)


#: The most runs until a bug in the judging code must be found.
UNTIL_FOUND = 10_000


def run(machine: type[RuleBasedStateMachine], runs: int, *, number: int = 0, shrink: bool = False) -> None:
    """Run a machine with the same choices each time; another `number` gives other choices.

    `shrink`: look for the shortest counterexample.
    """
    phases = [Phase.generate, *([Phase.shrink] if shrink else [])]
    chosen = settings(
        max_examples=runs,
        stateful_step_count=20,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    # Hypothesis also chooses constants of all modules that are imported by then: any change of the code, and the order
    # of the tests, would change the choices.
    with patch.object(HypothesisProvider, "_maybe_draw_constant", lambda *_, **__: None):
        run_state_machine_as_test(seed(number)(machine), settings=chosen)
