"""A group that moves to the target and back skips no record, and a bug in the code that moves it is found."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_replication.components.kafka.exact_positions import SourceWalk
from kafka_replication.components.kafka.return_positions import FlowBackStart, PartitionBack, flow_back_start
from kafka_replication.infra.operate.move import flow_back, positions
from tests.model.machine import UNTIL_FOUND, run
from tests.model.night_machine import Night
from tests.model.return_machine import Return

RUNS = 200

_positions = SourceWalk.positions
Replaced = tuple[object, str, Callable[..., Any]]


def begins_too_late(*given: Any, **named: Any) -> FlowBackStart | None:
    found = flow_back_start(*given, **named)
    return found and replace(found, offset=found.offset + 1, records=found.records - 1)


def first_copies(walked: SourceWalk, *_: int) -> None:
    walked.sent_again += 1


def one_too_far(walked: SourceWalk, end: int) -> Any:
    return {at: replace(each, offset=min(each.offset + 1, end)) for at, each in _positions(walked, end).items()}


BUGS: dict[str, tuple[type[Any], Replaced]] = {
    "a group is one record past its first unread record": (Night, (SourceWalk, "positions", one_too_far)),
    "the first copy of a record counts instead of the last": (Night, (SourceWalk, "_sent_again", first_copies)),
    "a group counts as having consumed every record before its position": (
        Night,
        (PartitionBack, "continues_at", lambda back, there, here: (max(back.positions[there].offset, here), 0)),
    ),
    "the records that a group consumed before it left are forgotten": (
        Night,
        (PartitionBack, "continues_at", lambda back, there, _: (back._consumed_until(back.positions[there], 0), 0)),
    ),
    "the first record of the new origin is left out": (Return, (flow_back, "flow_back_start", begins_too_late)),
    "a second copy on the source is expected to return": (Return, (SourceWalk, "skip_repeated", lambda *_: False)),
}


#: Numbers of searches that find these bugs within a few dozen histories; others take hundreds.
FOUND_EARLY = {
    "the first copy of a record counts instead of the last": 1,
    "the records that a group consumed before it left are forgotten": 2,
}


@pytest.mark.parametrize("machine", [Night, Return])
def test_a_moved_group_skips_no_record_whatever_happens(machine: type[Any]) -> None:
    run(machine, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_code_that_moves_groups_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, replaced = BUGS[bug]
    monkeypatch.setattr(*replaced)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(machine, UNTIL_FOUND, number=FOUND_EARLY.get(bug, 0))


def test_a_walk_that_begins_too_late_is_repeated_from_an_earlier_offset() -> None:
    """The walk begins after the records that a task sent again, so records of the source look foreign."""
    machine = Return()
    machine.begin(0, 4, 2)
    machine.restart(2, 4)
    machine.begin_back()
    assert (machine.new, machine.old) == ([1, 2, 1, 2, 3, 4], [1, 2, 3, 4])
    new, old = machine.logs()
    crossing = positions.Crossing(None, new, old, shared=True)
    found = positions.walk_across(crossing, [4], (3, None))
    assert not isinstance(found, Exception)
    assert (found.positions[4].offset, found.waiting) == (2, 0)


def test_an_empty_target_log_does_not_show_which_records_have_crossed() -> None:
    """All copies have expired on the target, while the source still holds the records."""
    machine = Night()
    machine.begin(0, 20)
    machine.expire_on_target(20)
    assert "nothing shows which records were replicated" in str(machine.across())
