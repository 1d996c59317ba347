"""A group that moves within a prefixless pair skips nothing, and a bug in what moves it is found."""

from dataclasses import replace
from typing import Any

import pytest

from components.kafka import pair_positions
from components.kafka.exact_positions import PartitionPositions, exact_positions
from components.kafka.pair_positions import PairSides
from infra.operations import exact_reading
from tests.model.machine import UNTIL_FOUND, run
from tests.model.pair_night_machine import PairNight

RUNS = 300

_begin = exact_reading.Crossing.begin
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


def begins_too_late(crossing: exact_reading.Crossing, start: int, lowest: int) -> int | None:
    return _begin(replace(crossing, guard=None), start, lowest)


BUGS: dict[str, tuple[object, str, Any]] = {
    "what the target's producers wrote is not looked at": (exact_reading, "pair_positions", one_way),
    "what the target has deleted is not missed": (pair_positions, "exact_positions", without_losses),
    "the walk begins where the source's own records begin": (exact_reading.Crossing, "begin", begins_too_late),
    "a guard's mark makes it another record": (exact_reading, "without_mark", lambda headers, _: headers),
    "a group that returns goes on where it left, and no further": (
        pair_positions._Walk,
        "returning",
        lambda _, found, left: replace(found, offset=max(found.offset, left)),
    ),
    "more is announced than is read again": (pair_positions, "_consumed", lambda *given: _consumed(*given) + 1),
}


def test_nothing_is_skipped_whatever_happens() -> None:
    run(PairNight, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_what_moves_groups_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that finds nothing in wrong code proves nothing about right code."""
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(PairNight, UNTIL_FOUND)


def test_a_group_that_came_back_has_not_consumed_a_first_copy_that_it_was_moved_past() -> None:
    """West sent its second record twice. The group goes on at the second copy in the east, and leaves again at once."""
    night = PairNight()
    night.begin(0, 0, 2)
    night.consume(1)
    night.fail_over(drained=True, deleted=False, other=0)
    night.restart("west", 1, 1)
    night.fail_over(drained=True, deleted=False, other=0)
    assert (night.side, night.committed) == ("east", {"east": 2, "west": 1})
    night.fail_over(drained=True, deleted=False, other=0)
    assert (night.side, night.committed["west"], night.consumed) == ("west", 1, {0})
