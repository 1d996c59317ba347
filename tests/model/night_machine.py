"""A state machine over a night: a group moves to the target and back, again and again, and skips no record.

The flow has the default policy. The walks over both logs are those of `replicate failover` and `replicate failback`.
"""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kafka_replication.components.kafka.exact_positions import NotProvenError, PartitionPositions
from kafka_replication.components.kafka.return_positions import PartitionBack
from kafka_replication.infra.operate.move.failback import walk_back
from kafka_replication.infra.operate.move.positions import Crossing, walk_across
from kafka_replication.infra.operate.partition_logs import PartitionLog
from tests.model.night_logs import Written, partition_log, time_of
from tests.model.partition import Partition

FEW = st.integers(1, 12)
#: Short, so that the logs of a run are longer.
LEADS = (3, 12, None)


class Night(RuleBasedStateMachine):
    """What producers, MirrorMaker, retention, the group and somebody who moves it may do."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = Partition(100)
        self.disorder = 0
        self.on_source = True
        self.here = self.there = 0
        self.consumed: set[int] = set()

    @initialize(disorder=st.integers(0, 1), crossed=st.integers(1, 20))
    def begin(self, disorder: int, crossed: int) -> None:
        self.disorder = disorder
        self.partition.produce(20)
        self.partition.replicate(crossed)

    @rule(records=FEW)
    def produce(self, records: int) -> None:
        self.partition.produce(records)

    @rule(offsets=st.integers(1, 3))
    def mark_or_abort(self, offsets: int) -> None:
        self.partition.leave_out(offsets)

    @rule(offsets=st.integers(1, 30))
    def replicate(self, offsets: int) -> None:
        self.partition.replicate(offsets)

    @rule(again=st.integers(0, 8), offsets=st.integers(0, 12))
    def restart(self, again: int, offsets: int) -> None:
        """A task restarts and sends some records again."""
        self.partition.restart(again)
        self.partition.replicate(offsets)

    @rule(data=st.data())
    def expire_on_source(self, data: Any) -> None:
        """Only records that were replicated and consumed expire: any others would be lost to the group in any case."""
        end = min(self.partition.position, self.here)
        low = self.partition.source_start
        self.partition.source_start = data.draw(st.integers(low, max(low, end)))

    @rule(offsets=st.integers(1, 8))
    def expire_on_target(self, offsets: int) -> None:
        partition = self.partition
        partition.target_start = min(partition.target_start + offsets, len(partition.target))

    @rule(offsets=FEW)
    def consume(self, offsets: int) -> None:
        partition = self.partition
        log, begin = (partition.source, self.here) if self.on_source else (partition.target, self.there)
        begin = max(begin, partition.source_start if self.on_source else partition.target_start)
        read = log[begin : begin + offsets]
        # Records that the target deletes before the group reads them count as consumed.
        lost = () if self.on_source else log[self.there : begin]
        self.consumed |= {each for each in (*lost, *read) if each is not None}
        if self.on_source:
            self.here = begin + len(read)
        else:
            self.there = begin + len(read)

    @precondition(lambda self: self.on_source)
    @rule(drained=st.booleans())
    def fail_over(self, drained: bool) -> None:
        """A planned failover if the flow is drained, a continuous one if not."""
        if drained:
            self.partition.replicate(len(self.partition.source))
        found = self.across()
        if isinstance(found, NotProvenError):
            return
        position = found.positions[self.here]
        if position.not_there or position.expired:
            return
        partition = self.partition
        ahead = [each for each in partition.target[position.offset :] if each is not None]
        unread = {each for each in partition.source[self.here :] if each is not None}
        passed = {each for each in partition.target[: position.offset] if each is not None}
        skipped = {each for each in unread & passed - set(ahead) if each < partition.position}
        assert not skipped, f"{sorted(skipped)} are skipped"
        held = [each for at, each in enumerate(partition.target) if at >= max(position.offset, partition.target_start)]
        again = sum(each is not None and each < self.here for each in held)
        assert again == position.read_again, f"{again} records are read again, and {position.read_again} announced"
        first = min(unread & set(ahead), default=None)
        assert (
            first is None
            or position.offset == partition.target_start
            or first in partition.target[: position.offset + 1]
        )
        if drained:
            assert not found.waiting, f"{found.waiting} records are said to wait"
        self.on_source, self.there = False, position.offset

    @precondition(lambda self: not self.on_source and self.partition.target_log.size)
    @rule()
    def fail_back(self) -> None:
        found = self.back()
        if isinstance(found, NotProvenError):
            return
        position = found.positions[self.there]
        if position.deleted:
            return
        offset, at_most = found.continues_at(self.there, self.here)
        partition = self.partition
        copied = {each for each in partition.target if each is not None}
        below = {each for each in partition.source[partition.source_start : offset] if each is not None}
        skipped = {each for each in below - self.consumed if each in copied}
        assert not skipped, f"{sorted(skipped)} are skipped"
        again = {each for each in partition.source[offset:] if each is not None} & self.consumed
        if partition.resent and partition.target_start:
            # The first copies, which the group has consumed, may have been deleted.
            at_most = len(again)
        assert len(again) <= at_most, f"{sorted(again)} are read again, and at most {at_most} announced"
        self.on_source, self.here = True, offset
        self.consumed -= again

    def logs(self) -> tuple[PartitionLog, PartitionLog]:
        partition = self.partition
        source, target = (
            [Written(at, each, time_of(each, self.disorder)) for at, each in enumerate(log) if each is not None]
            for log in (partition.source, partition.target)
        )
        return partition_log(source, partition.source_log), partition_log(target, partition.target_log)

    def across(self) -> PartitionPositions | NotProvenError:
        return walk_across(Crossing(None, *self.logs()), [self.here], LEADS)

    def back(self) -> PartitionBack | NotProvenError:
        return walk_back(*self.logs(), [self.there], [self.here], LEADS)
