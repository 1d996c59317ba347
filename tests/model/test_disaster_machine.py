"""With the positions published before the source was lost, no group skips a record; a bug in them is found."""

from typing import Any

import pytest

from kafka_replication.components.kafka import proven_positions
from kafka_replication.components.kafka.proven_positions import Span, TargetPlace
from kafka_replication.spark.checks.parity import proven
from tests.model import disaster_machine
from tests.model.disaster_machine import Disaster
from tests.model.machine import UNTIL_FOUND, run

RUNS = 300
_place_in, _equal = proven_positions.place_in, proven._equal


def one_too_far(span: Span, committed: int) -> TargetPlace | None:
    found = _place_in(span, committed)
    return found and TargetPlace(found.offset + 1, found.read_again)


def as_if_dense(span: Span, committed: int) -> TargetPlace | None:
    return _place_in(span._replace(dense=True), committed)


def published_counts(_: int, downstream: int, *given: Any) -> int:
    """The group's published position counts even if its checkpoint has an earlier offset."""
    _span, position, target = given
    known = position.offset if position is not None and position.offset <= target.end else downstream
    return max(downstream, known)


def endless(span: Span, committed: int) -> TargetPlace | None:
    return (
        TargetPlace(span.target_start + committed - span.source_start, 0) if span.dense else _place_in(span, committed)
    )


BUGS: dict[str, tuple[object, str, Any]] = {
    "a group continues one record too far": (proven_positions, "place_in", one_too_far),
    "markers are taken for records": (proven_positions, "place_in", as_if_dense),
    "a span has no end": (proven_positions, "place_in", endless),
    "every span is called dense": (proven, "_equal", lambda *given: _equal(*given)._replace(dense=True)),
    "a group whose offset was reset continues at its old position": (
        proven_positions,
        "place_after_loss",
        published_counts,
    ),
}


def test_no_record_is_skipped_whenever_the_source_is_lost() -> None:
    run(Disaster, RUNS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_the_published_positions_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disaster_machine
    monkeypatch.setattr(*BUGS[bug])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run(Disaster, UNTIL_FOUND)
