"""Positions in a prefixless pair equal their definition: no record is skipped, and repeats are exactly as announced."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_replication.components.kafka.exact_positions import ExactPosition, NotProvenError
from kafka_replication.components.kafka.pair_positions import PairSides, RecordsFrom, pair_positions
from kafka_replication.components.kafka.record_identity import Identified, identity


@dataclass
class Pair:
    """Both logs of a partition, each record by its number; the records in `here` were produced on the source."""

    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    here: set[int] = field(default_factory=set)
    produced: int = 0
    there_at: int = 0
    back_at: int = 0

    def produce(self, count: int, *, on_source: bool) -> None:
        for _ in range(count):
            (self.source if on_source else self.target).append(self.produced)
            if on_source:
                self.here.add(self.produced)
            self.produced += 1

    def cross(self, count: int, *, back: bool) -> None:
        """A task of one half continues: it copies the records that were produced on its side."""
        begin = self.back_at if back else self.there_at
        of, to = (self.target, self.source) if back else (self.source, self.target)
        end = min(begin + count, len(of))
        to += [each for each in of[begin:end] if (each in self.here) != back]
        if back:
            self.back_at = end
        else:
            self.there_at = end

    def records(self, *, on_source: bool, produced_here: bool) -> RecordsFrom:
        log = self.source if on_source else self.target

        def read(start: int) -> Iterator[Identified]:
            for at in range(start, len(log)):
                if (log[at] in self.here) == produced_here:
                    yield Identified(at, identity(None, b"%d" % log[at], (), 0))

        return read

    def sides(self) -> PairSides:
        return PairSides(
            source=self.records(on_source=True, produced_here=True),
            copies_on_target=self.records(on_source=False, produced_here=True),
            target=self.records(on_source=False, produced_here=False),
            copies_on_source=self.records(on_source=True, produced_here=False),
            target_end=len(self.target),
        )

    def starts(self, lowest: int) -> tuple[int, int]:
        """Where the reader begins on each side: the target holds no copy of the first records before its offset."""
        later = self.source[lowest:]
        if not any(each not in self.here for each in later):
            return 0, 0
        firsts = [next((each for each in later if (each in self.here) == here), None) for here in (True, False)]
        on_target = [self.target.index(each) for each in firsts if each in self.target]
        return lowest, min(on_target, default=len(self.target))

    def position_of(self, committed: int) -> ExactPosition:
        """By definition. A record at or after the group's offset counts as unread, even if the group passed a copy."""
        consumed = set(self.source[:committed]) - set(self.source[committed:])
        last = {each: at for at, each in enumerate(self.target)}
        offset = min((at for each, at in last.items() if each not in consumed), default=len(self.target))
        return ExactPosition(committed, offset, sum(each in consumed for each in self.target[offset:]))


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    pair = Pair()
    for step, count in draw(st.lists(st.tuples(st.sampled_from("pqxyXY"), st.integers(1, 6)), max_size=40)):
        if step in "pq":
            pair.produce(count, on_source=step == "p")
        elif step in "xy":
            pair.cross(count, back=step == "y")
        elif step == "X":
            pair.there_at = max(0, pair.there_at - count)
        else:
            pair.back_at = max(0, pair.back_at - count)
    return pair


@settings(max_examples=300, deadline=None)
@given(pairs(), st.data())
def test_positions_of_a_pair_equal_their_definition(pair: Pair, data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.integers(0, len(pair.source)), min_size=1))
    found = pair_positions(wanted, pair.sides(), 0, 0)
    assert found.positions == {each: pair.position_of(each) for each in wanted}


@settings(max_examples=300, deadline=None)
@given(pairs(), st.data())
def test_a_walk_from_the_middle_skips_nothing(pair: Pair, data: st.DataObject) -> None:
    """If older records were sent again after the beginning of the walk, more is read again, or nothing is proven."""
    wanted = data.draw(st.sets(st.integers(0, len(pair.source)), min_size=1))
    start, on_target = pair.starts(min(wanted))
    try:
        found = pair_positions(wanted, pair.sides(), start, on_target)
    except NotProvenError:
        return
    for each in wanted:
        assert found.positions[each].offset <= pair.position_of(each).offset


def test_a_record_that_the_target_has_lost_hides_none_of_its_other_records() -> None:
    """The target has lost the original of the source's first copy, and the search by time starts after the next one."""
    pair = Pair()
    pair.produce(3, on_source=False)
    pair.cross(9, back=True)
    sides = replace(pair.sides(), target=lambda start: pair.sides().target(max(start, 1)), target_first=1)
    found = pair_positions([0, 1], sides, 0, 2).positions
    assert found == {0: ExactPosition(0, 1, not_there=1), 1: ExactPosition(1, 1)}


def test_a_group_that_reached_the_end_reads_nothing_again() -> None:
    pair = Pair()
    pair.produce(3, on_source=True)
    pair.produce(2, on_source=False)
    pair.cross(9, back=False)
    pair.cross(9, back=True)
    # The target holds 3 4 0 1 2, the source 0 1 2 3 4: a group at 2 has not read 2, 3 or 4.
    found = pair_positions([2, 4, 5], pair.sides(), 0, 0).positions
    assert found == {2: ExactPosition(2, 0, 2), 4: ExactPosition(4, 1, 3), 5: ExactPosition(5, 5)}
