"""A state machine over a failback with the identity policy, where the topic has the same name on both clusters.

The old origin's records are replicated, producers move to the other side, a flow back begins, and groups follow. The
walks over both logs are those of `replicate failback` and `replicate failover`.
"""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kafka_replication.components.kafka.exact_positions import NotProvenError
from kafka_replication.components.kafka.positions import OffsetRange
from kafka_replication.components.kafka.return_positions import FlowBackStart
from kafka_replication.infra.operate.move.flow_back import walk_return
from kafka_replication.infra.operate.move.positions import Crossing, walk_across
from kafka_replication.infra.operate.partition_logs import PartitionLog
from tests.model.night_logs import Written, partition_log, time_of

FEW = st.integers(1, 12)
#: Short, so that the logs of a run are longer.
LEADS, LASTS = (3, 12, None), (4, None)


class Return(RuleBasedStateMachine):
    """Both logs hold the record's number at each offset; records of the new origin have negative numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.disorder = self.written = 0
        self.old: list[int] = []
        self.new: list[int] = []
        self.crossed = 0
        self.own = 0
        self.back: int | None = None

    @initialize(disorder=st.integers(0, 1), records=st.integers(0, 20), crossed=st.integers(0, 20))
    def begin(self, disorder: int, records: int, crossed: int) -> None:
        self.disorder = disorder
        self.old = list(range(1, records + 1))
        self.written = records
        self.replicate(crossed)

    def replicate(self, offsets: int) -> None:
        self.new += self.old[self.crossed : self.crossed + offsets]
        self.crossed = min(self.crossed + offsets, len(self.old))

    @precondition(lambda self: not self.own and self.back is None)
    @rule(again=st.integers(0, 8), offsets=FEW)
    def restart(self, again: int, offsets: int) -> None:
        """The first flow's task restarts and sends some records again."""
        self.crossed = max(0, self.crossed - again)
        self.replicate(offsets)

    @rule(records=FEW)
    def produce_on_the_new_origin(self, records: int) -> None:
        """After the switch: records that were not replicated before are never replicated."""
        numbers = range(self.written + 1, self.written + records + 1)
        self.new += [-each for each in numbers]
        self.written += records
        self.own += records

    @precondition(lambda self: self.back is None)
    @rule()
    def begin_back(self) -> None:
        found = walk_return(*self.logs(), lasts=LASTS)
        if isinstance(found, NotProvenError):
            return
        assert isinstance(found, FlowBackStart)
        taken = self.new[found.offset :]
        assert all(each < 0 for each in taken), f"{[each for each in taken if each > 0]} would be copied back"
        left = [each for each in self.new[: found.offset] if each < 0]
        assert not left, f"{left} would not be taken back"
        assert found.records == len(taken)
        self.back = found.offset

    @precondition(lambda self: self.back is not None)
    @rule(again=st.integers(0, 6), offsets=FEW)
    def replicate_back(self, again: int, offsets: int) -> None:
        assert self.back is not None
        own = [at for at, each in enumerate(self.new) if each < 0]
        first = max(own[0] if own else self.back, self.back - again)
        self.old += self.new[first : first + offsets]
        self.back = max(first, min(first + offsets, len(self.new)))

    @precondition(lambda self: self.back is not None)
    @rule(part=st.floats(0, 1))
    def move_back(self, part: float) -> None:
        """Move back a group that has consumed this part of the new origin's log."""
        committed = int(part * len(self.new))
        new, old = self.logs()
        found = walk_across(Crossing(None, new, old, shared=True), [committed], LEADS)
        if isinstance(found, NotProvenError):
            return
        position = found.positions[committed]
        if position.not_there or position.expired:
            return
        assert self.back is not None
        unread = {each for at, each in enumerate(self.new) if at >= committed and (each > 0 or at < self.back)}
        consumed = set(self.new[:committed])
        passed, ahead = set(self.old[: position.offset]), self.old[position.offset :]
        # If the old origin has a record once and the new one twice, the group may have consumed one copy.
        skipped = (unread - consumed) & passed - set(ahead)
        assert not skipped, f"{sorted(skipped)} are skipped"

    def logs(self) -> tuple[PartitionLog, PartitionLog]:
        """The logs of the new and of the old origin."""
        new, old = (
            [Written(at, each, time_of(abs(each), self.disorder)) for at, each in enumerate(log)]
            for log in (self.new, self.old)
        )
        return partition_log(new, OffsetRange(0, len(new))), partition_log(old, OffsetRange(0, len(old)))
