"""The one function that waits. A timeout must name what was last seen, or nobody knows what went wrong."""

import re

import pytest

from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, pause_seconds, wait_for


def test_the_first_value_that_the_probe_returns_ends_the_wait() -> None:
    answers = iter(["", "", "there"])

    def probe() -> str:
        answer = next(answers)
        if not answer:
            raise NotYetError("nothing")
        return answer

    assert wait_for("it", probe, deadline_seconds=5, interval_seconds=0.001) == "there"


def test_the_error_says_what_was_waited_for_how_long_and_what_was_last_seen() -> None:
    sightings = iter(range(1000))

    def probe() -> None:
        raise NotYetError(f"HTTP 503, try {next(sightings)}")

    with pytest.raises(DeadlineError, match=r"^deadline-passed: waited 0\.02 s") as raised:
        wait_for("the broker", probe, deadline_seconds=0.02, interval_seconds=0.001)
    assert re.fullmatch(r"waited 0\.02 s for the broker; last seen: HTTP 503, try \d+", raised.value.what)
    assert isinstance(raised.value.__cause__, NotYetError)


def test_any_other_exception_ends_the_wait_at_once() -> None:
    def probe() -> None:
        raise PermissionError("no")

    with pytest.raises(PermissionError, match="no"):
        wait_for("it", probe, deadline_seconds=60)


def test_with_no_time_left_the_probe_is_still_asked_once() -> None:
    assert wait_for("it", lambda: 7, deadline_seconds=0) == 7


@pytest.mark.parametrize(
    ("waited", "pause"),
    [(0.0, 0.1), (0.5, 0.1), (4.0, 0.4), (10.0, 1.0), (600.0, 1.0)],
    ids=["start", "short", "tenth", "ten", "long"],
)
def test_a_long_wait_looks_less_often(waited: float, pause: float) -> None:
    """Each look of a test or a command costs the cluster that it asks."""
    assert pause_seconds(waited) == pytest.approx(pause)
