"""A state machine over a night of a prefixless pair: a group moves to the other region and back and skips no record.

Both halves replicate, and producers write in both regions. The walk over both logs is that of `replicate failover`.
"""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kafka_replication.components.kafka.exact_positions import ExactPosition, NotProvenError, PartitionPositions
from kafka_replication.infra.operate.move.positions import Crossing, walk_across
from kafka_replication.infra.operate.partition_logs import PartitionLog
from tests.model.night_logs import Written, partition_log, time_of
from tests.model.pair_machine import MARKS, NO_RECORD, OTHER, REGIONS, Pair, Record, guard_of

FEW = st.integers(1, 8)
REGION = st.sampled_from(REGIONS)
#: Short, so that the logs of a run are longer.
LEADS = (3, 12, None)


class PairNight(RuleBasedStateMachine):
    """What producers, both connectors, retention, the group and somebody who moves it may do."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.disorder = 0
        self.side = REGIONS[0]
        self.committed: dict[str, int] = {self.side: 0}
        self.consumed: set[int] = set()
        self.disguised: set[int] = set()
        self.plain = True

    @initialize(disorder=st.integers(0, 1), here=st.integers(0, 12), there=st.integers(0, 12))
    def begin(self, disorder: int, here: int, there: int) -> None:
        self.disorder = disorder
        for region, records in zip(REGIONS, (here, there), strict=True):
            self.produce(region, records)
        for region in REGIONS:
            self.pair.replicate(region)

    @rule(region=REGION, records=FEW)
    def produce(self, region: str, records: int) -> None:
        for _ in range(records):
            self.pair.produce(region)

    @rule(region=REGION, mark=st.sampled_from(list(MARKS.values())))
    def produce_marked(self, region: str, mark: str) -> None:
        """A user produces a record that already carries a mark, so it looks like a copy."""
        self.plain = False
        self.disguised.add(self.pair.numbers)
        self.pair.produce(region, (mark,))

    @rule(region=REGION, offsets=st.integers(1, 3))
    def mark_or_abort(self, region: str, offsets: int) -> None:
        self.pair.leave_out(region, offsets)

    @rule(region=REGION, offsets=st.integers(1, 20))
    def replicate(self, region: str, offsets: int) -> None:
        self.pair.replicate(region, offsets)

    @rule(region=REGION, again=st.integers(0, 8), offsets=st.integers(0, 12))
    def restart(self, region: str, again: int, offsets: int) -> None:
        """A task restarts and sends some records again."""
        self.plain = self.plain and again == 0
        self.pair.positions[region] = max(0, self.pair.positions[region] - again)
        self.pair.replicate(region, offsets)

    @rule(region=REGION, data=st.data())
    def expire(self, region: str, data: Any) -> None:
        """Only replicated records expire. The group loses unread ones unless the other region has them."""
        self.plain = False
        low = self.pair.starts[region]
        self.pair.starts[region] = data.draw(st.integers(low, max(low, self.pair.positions[region])))

    @rule(offsets=FEW)
    def consume(self, offsets: int) -> None:
        log, start = self.pair.logs[self.side], self.pair.starts[self.side]
        at = self.committed[self.side]
        end = min(max(at, start) + offsets, len(log))
        # Records that a region deletes before the group reads them count as consumed.
        self.consumed |= numbers(log[at:end])
        self.committed[self.side] = end

    @rule(drained=st.booleans(), deleted=st.booleans(), other=st.floats(0, 1))
    def fail_over(self, drained: bool, deleted: bool, other: float) -> None:
        """Move the group with the flow that leaves its region. `deleted`: its offset in the other region is deleted.

        A second group has consumed a part of this log, and nothing elsewhere.
        """
        source, target = self.side, OTHER[self.side]
        if drained:
            self.pair.replicate(source)
        here, end = self.committed[source], len(self.pair.logs[source])
        second = int(other * end)
        if deleted:
            self.committed.pop(target, None)
            self.consumed &= numbers(self.pair.logs[source][:here])
        left = self.committed.get(target)
        found = self.across(source, [here, second, end], [] if left is None else [(here, left)])
        if isinstance(found, NotProvenError):
            assert not self.plain, str(found)
            return
        self.is_right(source, found.positions[second], numbers(self.pair.logs[source][:second]))
        position = found.positions[here] if left is None else found.returning[here, left]
        self.is_right(source, position, self.consumed)
        if found.waiting or position.not_there or position.expired:
            return
        self.side, self.committed[target] = target, position.offset

    def is_right(self, source: str, position: ExactPosition, consumed: set[int]) -> None:
        """Check the position at which a group that has consumed these records continues in the other region."""
        if position.not_there or position.expired:
            return
        pair, target = self.pair, OTHER[source]
        held = pair.held(target)
        ahead = [each.number for at, each in held if at >= position.offset]
        mine = pair.held(source)
        to_come = {each.number for at, each in mine if not each.copied and at >= pair.positions[source]}
        unread = {each.number for at, each in mine if at >= position.committed} | {each.number for _, each in held}
        skipped = unread - consumed - set(ahead) - to_come - self.disguised
        assert not skipped, f"{sorted(skipped)} are skipped"
        again = sum(each in consumed | self.disguised for each in ahead)
        assert position.read_again <= again, f"at least {position.read_again} are announced, {again} are read again"
        if self.plain:
            first = next((at for at, each in held if each.number not in consumed), len(pair.logs[target]))
            assert (position.offset, position.read_again) == (first, again)

    def across(
        self, source: str, committed: list[int], left: list[tuple[int, int]]
    ) -> PartitionPositions | NotProvenError:
        logs = self.log(source), self.log(OTHER[source])
        return walk_across(Crossing(guard_of(source), *logs, left=left), sorted(committed), LEADS)

    def log(self, region: str) -> PartitionLog:
        written = [
            Written(at, each.number, time_of(each.number, self.disorder), each.marks)
            for at, each in self.pair.held(region)
        ]
        return partition_log(written, self.pair.log(region))


def numbers(records: list[Record]) -> set[int]:
    return {each.number for each in records if each is not NO_RECORD}
