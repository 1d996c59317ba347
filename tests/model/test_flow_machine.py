"""The state machine finds no bug in the code that judges a whole flow, and finds each bug that is put into it."""

from typing import Any

import pytest

from kafka_replication.spark.checks import connectors, topics
from tests.model.flow_machine import Flow
from tests.model.machine import UNTIL_FOUND, run

RUNS = 60

BUGS: dict[str, tuple[object, str, Any]] = {
    "a connector that does not run is no finding": (connectors, "_not_running", lambda *_: []),
    "a failed task is no finding": (connectors, "failures", lambda _: []),
    "a new partition must already be on the target": (topics, "young_topics", lambda *_: set()),
    "partitions that the target lacks are no finding": (topics, "absent_partitions", lambda *_: []),
}


def test_no_verdict_on_a_flow_is_wrong_whatever_happens_to_it() -> None:
    run(Flow, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_judging_code_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that finds nothing in wrong code proves nothing about right code."""
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises(AssertionError):
        run(Flow, UNTIL_FOUND)
