"""A group that moves within a prefixless pair skips no record, and a bug in the code that moves it is found."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.kafka import pair_positions
from kafka_replication.components.kafka.exact_positions import PartitionPositions, exact_positions
from kafka_replication.components.kafka.pair_positions import PairSides
from kafka_replication.infra.operate.move import positions
from tests.model.machine import UNTIL_FOUND, run
from tests.model.pair_night_machine import PairNight

RUNS = 300

_begin = positions.Crossing.begin
_consumed = pair_positions._consumed


def one_way(
    committed: list[int], sides: PairSides, start: int, begin: int, left: list[tuple[int, int]]
) -> PartitionPositions:
    found = exact_positions(committed, sides.source(start), sides.copies_on_target(begin), sides.target_end)
    return replace(found, returning={each: found.positions[each[0]] for each in left})


def without_losses(*given: Any, **named: Any) -> PartitionPositions:
    found = exact_positions(*given, **named)
    del named["copies"].target_passed[:]
    return found


def begins_too_late(crossing: positions.Crossing, start: int, lowest: int) -> int | None:
    return _begin(replace(crossing, guard=None), start, lowest)


BUGS: dict[str, tuple[object, str, Any]] = {
    "records of the target's producers are ignored": (positions, "pair_positions", one_way),
    "records that the target has deleted are not missed": (pair_positions, "exact_positions", without_losses),
    "the walk begins where the source's own records begin": (positions.Crossing, "begin", begins_too_late),
    "a record with a guard's mark counts as a different record": (
        positions,
        "without_mark",
        lambda headers, _: headers,
    ),
    "a returning group never continues before the position where it left": (
        pair_positions._BothWalks,
        "returning",
        lambda _, found, left: replace(found, offset=max(found.offset, left)),
    ),
    "more records are announced than are read again": (
        pair_positions,
        "_consumed",
        lambda *given: _consumed(*given) + 1,
    ),
}


#: Numbers of searches that find these bugs within a few dozen histories; others take hundreds.
FOUND_EARLY = {
    "records that the target has deleted are not missed": 1,
    "the walk begins where the source's own records begin": 24,
    "a returning group never continues before the position where it left": 24,
}


def test_a_moved_group_skips_no_record_whatever_happens() -> None:
    run(PairNight, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_code_that_moves_groups_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that finds nothing in wrong code proves nothing about right code."""
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(PairNight, UNTIL_FOUND, number=FOUND_EARLY.get(bug, 0))


def test_a_first_copy_that_a_returning_group_was_moved_past_is_not_consumed() -> None:
    """West sends its second record twice. In the east, the group continues at the second copy and leaves at once."""
    night = PairNight()
    night.begin(0, 0, 2)
    night.consume(1)
    night.fail_over(drained=True, deleted=False, other=0)
    night.restart("west", 1, 1)
    night.fail_over(drained=True, deleted=False, other=0)
    assert (night.side, night.committed) == ("east", {"east": 2, "west": 1})
    night.fail_over(drained=True, deleted=False, other=0)
    assert (night.side, night.committed["west"], night.consumed) == ("west", 1, {0})
