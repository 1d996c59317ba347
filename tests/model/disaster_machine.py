"""A state machine over a disaster: the source is lost, and the positions published before make no group skip a record.

Validations publish spans and positions; groups consume, and their offsets are reset; tasks restart; the remote topic
may be deleted and created again.
"""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_replication.components.kafka import proven_positions
from kafka_replication.components.kafka.proven_positions import ProvenPosition, Span
from kafka_replication.spark.checks.parity.comparison import RecordComparison
from kafka_replication.spark.checks.parity.evidence import TopicIdentity
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from kafka_replication.spark.checks.parity.proven import proven_topics
from kafka_replication.spark.checks.parity.sums import Sums
from tests.model.partition import ORDERS, Partition
from tests.spark.documents import a_flow

FLOW = a_flow()
FEW = st.integers(1, 12)
IDS = {"orders": TopicIdentity("S", "T", compacted=False)}


@dataclass(frozen=True)
class Published:
    span: Span
    position: ProvenPosition | None
    target_number: int


class Disaster(RuleBasedStateMachine):
    """The source may be lost at any moment. The group then uses its checkpoint and the published positions."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = Partition(100)
        self.published: Published | None = None
        self.here = 0
        #: How often the target's topic was created.
        self.target_number = 0

    @initialize(lag_max=st.sampled_from((0, 5, 100)), records=st.integers(1, 20))
    def begin(self, lag_max: int, records: int) -> None:
        self.partition = Partition(lag_max)
        self.partition.produce(records)
        self.partition.replicate(records)

    @rule(records=FEW)
    def produce(self, records: int) -> None:
        self.partition.produce(records)

    @rule(offsets=st.integers(1, 3))
    def mark_or_abort(self, offsets: int) -> None:
        self.partition.leave_out(offsets)

    @rule(offsets=st.integers(1, 30))
    def replicate(self, offsets: int) -> None:
        self.partition.replicate(offsets)

    @rule(left_out=st.integers(0, 3), records=FEW, behind=st.integers(0, 12))
    def go_on(self, left_out: int, records: int, behind: int) -> None:
        """The time between two validations: a transaction ends, records arrive, and the group follows them."""
        partition = self.partition
        partition.leave_out(left_out)
        partition.produce(records)
        partition.replicate(len(partition.source))
        self.here = max(self.here, len(partition.source) - behind)
        partition.consume(self.here)
        partition.translate()

    @rule()
    def catch_up_and_publish(self) -> None:
        """A validation that finds both sides equal. Random steps reach this only once in hundreds of histories."""
        self.partition.replicate(len(self.partition.source))
        self.publish()

    @rule(again=st.integers(0, 8), offsets=st.integers(0, 12))
    def restart(self, again: int, offsets: int) -> None:
        self.partition.restart(again)
        self.partition.replicate(offsets)

    @rule(offsets=st.integers(1, 8))
    def expire_on_target(self, offsets: int) -> None:
        partition = self.partition
        partition.target_start = min(partition.target_start + offsets, len(partition.target))

    @rule(data=st.data())
    def consume(self, data: Any) -> None:
        """Forward, or back after a reset. A checkpoint may follow; after a reset, one always does."""
        before, self.here = self.here, data.draw(st.integers(0, len(self.partition.source)))
        self.partition.consume(self.here)
        if self.here < before or data.draw(st.booleans()):
            self.partition.checkpoint = None if self.here < before else self.partition.checkpoint
            self.partition.translate()

    @rule()
    def publish(self) -> None:
        """A validation publishes only if it found the records of both sides equal."""
        partition = self.partition
        source = [each for each in partition.source[partition.source_start :] if each is not None]
        target = [each for each in partition.target[partition.target_start :] if each is not None]
        if source != target:
            return
        _, found = proven_topics(FLOW, self.first_pass(source, target), RecordComparison([], {}), IDS, 0)
        span = found["orders"].spans[0]
        place = proven_positions.place_in(span, self.here)
        position = ProvenPosition(self.here, *place) if place is not None else None
        self.published = Published(span, position, self.target_number)

    def first_pass(self, source: list[int], target: list[int]) -> FirstPass:
        logs = {ORDERS: self.partition.source_log}, {ORDERS: self.partition.target_log}
        return FirstPass(*logs, {ORDERS: Sums(len(source))}, {ORDERS: Sums(len(target))}, 1.0)

    @precondition(lambda self: self.partition.position == len(self.partition.source))
    @rule()
    def make_the_target_anew(self) -> None:
        """Somebody deletes the remote topic; the connector continues where it was."""
        self.target_number += 1
        self.partition.target, self.partition.target_start = [], 0
        self.partition.checkpoint = None

    @invariant()
    def nothing_is_skipped_if_the_source_is_lost_now(self) -> None:
        partition, published = self.partition, self.published
        if partition.checkpoint is None:
            return
        known = published is not None and published.target_number == self.target_number
        span, position = (published.span, published.position) if known and published else (None, None)
        upstream, downstream = partition.checkpoint.upstream, partition.checkpoint.downstream
        if downstream > len(partition.target):
            return
        offset = proven_positions.place_after_loss(upstream, downstream, span, position, partition.target_log)
        assert offset >= downstream
        # After the target was created again, MirrorMaker's own translation may be wrong. No position can read what the
        # target has deleted.
        begin = max(downstream, partition.target_start)
        assert offset >= begin
        skipped = self.skipped_from(offset) - self.skipped_from(begin)
        assert not skipped, f"{sorted(skipped)} are skipped"

    def skipped_from(self, offset: int) -> set[int]:
        """The records that the group has not consumed and that the target holds only before this offset."""
        target = self.partition.target
        return {each for each in set(target[:offset]) - set(target[offset:]) if each is not None and each >= self.here}
