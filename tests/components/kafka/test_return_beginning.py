"""Where a flow that leads back begins."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.kafka.exact_positions import NotProvenError, exact_positions
from components.kafka.record_identity import Identified
from components.kafka.return_beginning import Beginning, beginning


def log(*names: int) -> list[Identified]:
    return [Identified(offset, b"%016d" % name, name) for offset, name in enumerate(names)]


def test_the_flow_back_begins_after_the_last_copy() -> None:
    found = beginning(log(0, 1, 2, 3), iter(log(0, 1, 2, 10, 11)), 0, whole=True)
    assert found == Beginning(3, 2, 2, 10)


def test_what_was_sent_again_does_not_return() -> None:
    assert beginning(log(0, 1, 2), iter(log(0, 1, 2, 1, 10)), 0, whole=True) == Beginning(4, 1, 2, 10)


def test_without_a_common_record_everything_goes_back() -> None:
    assert beginning(log(0, 1), iter(log(10, 11)), 0, whole=True) == Beginning(0, 2, None, 10)
    assert beginning([], iter([]), 7, whole=True) == Beginning(7, 0, None, None)


def test_mixed_origins_prove_nothing() -> None:
    with pytest.raises(NotProvenError, match="its record 3 is the old origin's record 2, and stands after others"):
        beginning(log(0, 1, 2), iter(log(0, 1, 10, 2)), 0, whole=True)


def test_a_part_of_the_log_decides_only_if_its_first_record_crossed() -> None:
    old = log(0, 1, 2, 3)
    assert beginning(old[2:], iter(log(0, 1, 2, 3, 10)), 0, whole=False) == Beginning(4, 1, 3, 10)
    assert beginning(old[2:], iter(log(0, 1, 10)), 0, whole=False) is None
    assert beginning(old[2:], iter(log(0, 1, 2, 3, 1, 3)), 0, whole=False) is None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_nothing_returns_and_nothing_is_left_behind(data: st.DataObject) -> None:
    """Both logs lost a beginning, a task sent records again, and the old origin's last records never crossed."""
    crossed = data.draw(st.integers(0, 8))
    copies = list(range(crossed))
    if crossed:
        copies += range(data.draw(st.integers(0, crossed - 1)), data.draw(st.integers(0, crossed)))
    own = list(range(100, 100 + data.draw(st.integers(0, 4))))
    old = log(*range(crossed + data.draw(st.integers(0, 3))))
    old = old[data.draw(st.integers(0, len(old))) :]
    new = log(*copies, *own)
    new = new[data.draw(st.integers(0, len(copies))) :]
    start = new[0].offset if new else len(copies)
    kept = {each.identity for each in old}
    try:
        found = beginning(old, iter(new), start, whole=True)
    except NotProvenError:
        # A copy of a record that the old origin has deleted looks like a record of the new origin.
        assert any(each.time_ms < 100 and each.identity not in kept for each in new)
        return
    assert found is not None
    returned = [each for each in new if each.offset >= found.offset]
    assert [each.time_ms for each in returned if each.time_ms >= 100] == own
    assert not [each for each in returned if each.identity in kept]


def test_groups_return_past_what_only_the_target_has_and_what_was_sent_twice() -> None:
    """The flow took 10 and 11 back; the target had 3 and 4 of its own, and once sent 1 and 2 twice to the source."""
    source, target = log(0, 1, 2, 1, 2, 10, 11), log(0, 1, 2, 3, 4, 10, 11)
    found = exact_positions([1, 4, 6, 7], iter(source), iter(target), 7, shared=True)
    assert {each.committed: each.offset for each in found.positions.values()} == {1: 1, 4: 5, 6: 6, 7: 7}
    assert (found.waiting, found.foreign, found.on_target) == (0, 2, 5)
    with pytest.raises(NotProvenError):
        exact_positions([1], iter(source), iter(target), 7)


def test_what_has_not_returned_yet_is_waited_for() -> None:
    found = exact_positions([3], iter(log(0, 1, 2, 1, 10, 11)), iter(log(0, 1, 2, 3, 10)), 5, shared=True)
    assert (found.waiting, found.foreign) == (1, 1)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_group_that_returns_skips_nothing(data: st.DataObject) -> None:
    crossed, lost = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 3))
    copies = list(range(crossed))
    if crossed:
        copies += range(data.draw(st.integers(0, crossed - 1)), data.draw(st.integers(0, crossed)))
    own = list(range(100, 100 + data.draw(st.integers(1, 5))))
    here, there = log(*copies, *own), log(*range(crossed + lost), *own[: data.draw(st.integers(1, len(own)))])
    begin = data.draw(st.integers(0, len(copies)))
    committed = data.draw(st.integers(begin, len(here)))
    try:
        found = exact_positions([committed], iter(here[begin:]), iter(there), len(there), shared=True)
    except NotProvenError:
        return
    position = found.positions[committed]
    if position.not_there or found.waiting:
        return
    consumed = {each.time_ms for each in here[:committed]}
    unread = {each.time_ms for each in here[committed:]} - consumed
    assert unread <= {each.time_ms for each in there[position.offset :]}
