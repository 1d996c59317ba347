"""The state machine finds no bug in the code that judges a guarded pair, and finds each bug that is put into it."""

from typing import Any

import pytest

from kafka_replication.spark.checks.parity import differences
from kafka_replication.spark.checks.parity.first_pass import FirstPass
from tests.model import pair_machine
from tests.model.machine import UNTIL_FOUND, run
from tests.model.pair_machine import Marks

RUNS = 300

BUGS: dict[str, tuple[object, str, Any]] = {
    "marks are ignored": (FirstPass, "with_other_marks", property(lambda _: [])),
    "a mark on the source is no finding": (pair_machine, "mark_findings", lambda *_: []),
    "a missing record counts as expired": (differences, "_IN_GUARDED", {}),
}


#: Numbers of searches that find these bugs within a few dozen histories; others take hundreds.
FOUND_EARLY = {
    "marks are ignored": 1,
    "a mark on the source is no finding": 1,
}


def test_no_verdict_on_a_pair_is_wrong_whatever_carries_a_mark() -> None:
    run(Marks, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_judging_code_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that finds nothing in wrong code proves nothing about right code."""
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises(AssertionError):
        run(Marks, UNTIL_FOUND, number=FOUND_EARLY.get(bug, 0))
