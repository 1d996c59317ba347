"""Exact positions equal their definition over many histories: no record is skipped, and repeats are announced."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_replication.components.kafka.exact_positions import (
    ExactPosition,
    NotProvenError,
    PartitionPositions,
    exact_positions,
)
from kafka_replication.components.kafka.record_identity import Identified, identity, without_mark


def known(*records: tuple[int, int]) -> list[Identified]:
    """Records by offset and content."""
    return [Identified(offset, identity(None, b"%d" % content, (), 0)) for offset, content in records]


def numbered(contents: Iterable[int], first: int = 0) -> list[Identified]:
    return known(*enumerate(contents, start=first))


def positions(
    committed: Iterable[int], source: list[Identified], target: list[Identified], remembered: int = 1_000
) -> PartitionPositions:
    end = target[-1].offset + 1 if target else 0
    return exact_positions(committed, iter(source), iter(target), end, remembered)


def test_a_group_continues_at_the_record_that_it_had_reached() -> None:
    found = positions([3, 10], numbered(range(10)), numbered(range(10), first=100))
    assert found.positions == {3: ExactPosition(3, 103), 10: ExactPosition(10, 110)}
    assert (found.waiting, found.sent_again) == (0, 0)


def test_positions_account_for_offsets_without_a_record() -> None:
    source = known((0, 0), (2, 1), (5, 2), (9, 3))
    found = positions([1, 3, 6], source, known((4, 0), (5, 1), (7, 2), (8, 3)))
    assert {each.committed: each.offset for each in found.positions.values()} == {1: 5, 3: 7, 6: 8}


def test_records_that_were_sent_again_are_not_read_again() -> None:
    """From offset 60, the first copy of record 60, the group would read records 50 to 59 again."""
    again = [*range(101), *range(50, 110)]
    found = positions([60, 40], numbered(range(110)), numbered(again))
    assert found.positions == {60: ExactPosition(60, 111), 40: ExactPosition(40, 40)}
    assert found.sent_again == 51


def test_records_that_two_tasks_sent_at_once_are_announced_as_read_again() -> None:
    mixed = [0, 1, 2, 3, 1, 4, 2, 5, 3, 6]
    found = positions([3], numbered(range(7)), numbered(mixed))
    # After the only copy of 4 come a second copy of 2, which was consumed, and a second copy of 3.
    assert found.positions == {3: ExactPosition(3, 5, read_again=1)}


def test_records_that_are_not_yet_on_the_target_are_counted_as_waiting() -> None:
    found = positions([2, 8], numbered(range(10)), numbered(range(5)))
    assert found.positions == {2: ExactPosition(2, 2), 8: ExactPosition(8, 5)}
    assert (found.waiting, found.first_waiting) == (5, numbered(range(10))[5])


def test_records_that_only_the_source_holds_are_counted_as_not_there() -> None:
    found = positions([2, 7], numbered(range(10)), numbered(range(5, 10), first=50))
    assert found.positions == {2: ExactPosition(2, 50, not_there=3), 7: ExactPosition(7, 52)}


def test_records_that_only_the_target_holds_are_passed_over() -> None:
    found = positions([7], numbered(range(10))[5:], numbered(range(10), first=50))
    assert found.positions == {7: ExactPosition(7, 57)}


@pytest.mark.parametrize("empty", ["source", "target", "both"])
def test_positions_are_proven_although_one_side_has_no_records(empty: str) -> None:
    source = [] if empty in ("source", "both") else numbered(range(3))
    target = [] if empty in ("target", "both") else numbered(range(3))
    found = positions([0], source, target)
    assert found.positions == {0: ExactPosition(0, len(target))}
    assert found.waiting == len(source)


def test_equal_records_are_matched_by_their_count() -> None:
    found = positions([1, 2], numbered([7, 7, 8]), numbered([7, 7, 8]))
    assert {each.committed: each.offset for each in found.positions.values()} == {1: 1, 2: 2}


def test_an_equal_last_record_of_a_shared_source_waits_unless_a_foreign_record_is_found() -> None:
    found = exact_positions([2], iter(numbered([7, 8, 7])), iter(numbered([7, 8])), 2, shared=True)
    assert (found.waiting, found.foreign) == (1, 0)
    # A foreign record shows that the target has two origins; then a record that a task sent twice does not return.
    found = exact_positions([2], iter(numbered([7, 8, 7])), iter(numbered([7, 8, 9])), 3, shared=True)
    assert (found.waiting, found.foreign) == (0, 1)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        pytest.param(
            [0, 1, 2],
            [0, 9, 1],
            "the target has record 1 where the source's record 1 was expected, and record 1 equals no earlier source "
            "record",
            id="foreign",
        ),
        pytest.param([0, 1], [0, 1, 9], "target has record 2 after the source's last record", id="at the end"),
        pytest.param([0, 1, 2, 3], [0, 2, 3], "target has record 1 where the source's record 1", id="lost"),
        pytest.param(
            [0, 1], [8, 9], "source's records from 0 on and the target's from 0 on have no record in common", id="other"
        ),
    ],
)
def test_a_target_record_that_the_source_does_not_explain_proves_nothing(
    source: list[int], target: list[int], message: str
) -> None:
    with pytest.raises(NotProvenError, match=message):
        positions([0], numbered(source), numbered(target))


def test_a_copy_of_a_forgotten_record_is_not_proven() -> None:
    with pytest.raises(NotProvenError, match="record 8 equals no earlier source record"):
        positions([0], numbered(range(10)), numbered([*range(8), 0]), remembered=2)


def test_an_identity_distinguishes_null_from_empty_and_the_order_of_headers() -> None:
    forms = [
        identity(None, b"", (), 0),
        identity(b"", None, (), 0),
        identity(b"", b"", (), 0),
        identity(b"", b"", (), 1),
        identity(b"", b"", [("a", None)], 0),
        identity(b"", b"", [("a", b"")], 0),
        identity(b"", b"", [("a", None), ("b", None)], 0),
        identity(b"", b"", [("b", None), ("a", None)], 0),
    ]
    assert len(set(forms)) == len(forms)


def test_only_the_guards_own_mark_is_left_out() -> None:
    assert without_mark([("m", b"1"), ("a", None), ("m", None), ("b", b"")], "m") == [
        ("m", b"1"),
        ("a", None),
        ("b", b""),
    ]
    assert without_mark([("m", None), ("m", b"1")], "m") == [("m", None), ("m", b"1")]


@dataclass
class History:
    """Both logs after a task with occasional restarts: each target record by the source offset that it came from."""

    source: list[int | None] = field(default_factory=list)
    target: list[int | None] = field(default_factory=list)
    position: int = 0
    source_start: int = 0
    target_start: int = 0

    @property
    def has_fallen_back(self) -> bool:
        """Whether the newest record on the target is not the last one."""
        origins = [origin for _, origin in self.copies()]
        return bool(origins) and origins[-1] < max(origins)

    def copies(self) -> Iterator[tuple[int, int]]:
        """Target offset and source offset of each record that the target still holds."""
        for at, origin in enumerate(self.target):
            if at >= self.target_start and origin is not None:
                yield at, origin

    def on_source(self, content: list[int]) -> list[Identified]:
        held = range(self.source_start, len(self.source))
        return known(*((at, content[at]) for at in held if self.source[at] is not None))

    def on_target(self, content: list[int]) -> list[Identified]:
        return known(*((at, content[origin]) for at, origin in self.copies()))

    def position_of(self, committed: int) -> ExactPosition:
        """By definition, if no two records are equal."""
        last: dict[int, int] = {}
        for at, origin in self.copies():
            last[origin] = at
        later = [at for origin, at in last.items() if origin >= committed]
        offset = min(later, default=len(self.target))
        again = sum(at >= offset and origin < committed for at, origin in self.copies())
        newest = max(last, default=-1)
        held = (each for each in range(committed, newest) if each >= self.source_start)
        missing = sum(self.source[each] is not None and each not in last for each in held)
        return ExactPosition(committed, offset, again, missing)


@st.composite
def histories(draw: st.DrawFn) -> History:
    history = History()
    for step, count in draw(st.lists(st.tuples(st.sampled_from("prgaTS"), st.integers(1, 6)), max_size=30)):
        if step == "p":
            history.source += range(len(history.source), len(history.source) + count)
        elif step == "a":  # aborted records, and a marker
            history.source += [None] * count
            history.target += [None] * (count // 2)
        elif step == "g":
            history.position = max(0, history.position - count)
        elif step == "r":
            for at in range(history.position, min(history.position + count, len(history.source))):
                history.target += [at] if history.source[at] is not None else []
                history.position = at + 1
        elif step == "T":
            history.target_start = min(len(history.target), history.target_start + count)
        elif step == "S":
            history.source_start = min(history.position, history.source_start + count)
    return history


@settings(max_examples=200, deadline=None)
@given(histories(), st.data())
def test_positions_equal_their_definition(history: History, data: st.DataObject) -> None:
    content = list(range(len(history.source)))
    wanted = data.draw(st.sets(st.integers(history.source_start, len(history.source))))
    source, target = history.on_source(content), history.on_target(content)
    try:
        found = exact_positions(wanted, iter(source), iter(target), len(history.target))
    except NotProvenError:
        # A record that the source has lost stands among later ones, or a task has not caught up yet.
        held = {each.identity for each in source}
        assert source
        assert history.has_fallen_back or any(each.identity not in held for each in target)
        return
    assert found.positions == {each: history.position_of(each) for each in wanted}


@settings(max_examples=200, deadline=None)
@given(histories(), st.data())
def test_no_record_is_skipped_despite_equal_records_and_a_short_memory(history: History, data: st.DataObject) -> None:
    """A consumer that continues at the position reads each content as often as it still has to."""
    content = data.draw(st.lists(st.integers(0, 3), min_size=len(history.source), max_size=len(history.source)))
    wanted = data.draw(st.sets(st.integers(history.source_start, len(history.source))))
    source, target = history.on_source(content), history.on_target(content)
    try:
        found = exact_positions(wanted, iter(source), iter(target), len(history.target), remembered=3)
    except NotProvenError:
        return
    waiting = source[len(source) - found.waiting :]
    for each in found.positions.values():
        owed = [record.identity for record in source if record.offset >= each.committed and record not in waiting]
        seen = [record.identity for record in target if record.offset >= each.offset]
        lacking = sum(max(0, owed.count(one) - seen.count(one)) for one in set(owed))
        assert lacking <= each.not_there


def test_a_task_that_has_not_caught_up_again_proves_nothing() -> None:
    """The target has lost the first copies of 0 to 3, and 5 has a copy only before those of 0 and 1."""
    with pytest.raises(NotProvenError, match="record 50 is a copy of the source's record 4, and a task is sending"):
        positions([0, 6], numbered(range(8)), known((50, 4), (51, 5), (52, 0), (53, 1)))
