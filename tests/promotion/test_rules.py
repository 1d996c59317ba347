"""The rule of promotion, as a table: what is known of the stack before, and what is against following it."""

from datetime import timedelta

import pytest

from infra.promotion.rules import StackState, reasons_against
from tests.promotion.states import MODEL, NOON, a_flow_state, a_proof, a_state, at

SECOND = "sha256:22"


@pytest.mark.parametrize(
    ("state", "soak_minutes", "expected"),
    [
        pytest.param(a_state(), 0, [], id="proven"),
        pytest.param(a_state(), 50, [], id="the soak time is over at its very end"),
        pytest.param(a_state(), 50.5, ["predecessor-soaking"], id="half a minute too early"),
        pytest.param(a_state(model_digest=None), 0, ["predecessor-not-deployed"], id="not deployed"),
        pytest.param(
            a_state(model_digest=None, recorded=True), 0, ["predecessor-without-evidence"], id="nothing recorded"
        ),
        pytest.param(a_state(model_digest="sha256:bb"), 0, ["predecessor-other-model"], id="another model"),
        pytest.param(StackState("one", MODEL), 0, ["predecessor-without-flows"], id="without flows"),
        pytest.param(
            a_state(a_flow_state(changed_at=None)), 0, ["predecessor-objects-missing"], id="objects were deleted"
        ),
        pytest.param(a_state(a_flow_state(proof=None)), 0, ["predecessor-not-validated"], id="never validated"),
        pytest.param(
            a_state(a_flow_state(digest=SECOND)), 0, ["predecessor-validated-otherwise"], id="validated before it"
        ),
        pytest.param(
            a_state(a_flow_state(proof=a_proof(verdict="fail", not_passed=("parity",)))),
            0,
            ["predecessor-failed"],
            id="failed",
        ),
        pytest.param(
            a_state(a_flow_state(proof=a_proof(verdict="error"))), 0, ["predecessor-failed"], id="an error is no pass"
        ),
        pytest.param(a_state(a_flow_state(changed_at=at("11:11"))), 0, ["predecessor-stale"], id="changed after"),
        pytest.param(
            a_state(a_flow_state(changed_at=at("11:10"))), 0, ["predecessor-stale"], id="changed in the same second"
        ),
        pytest.param(
            a_state(a_flow_state(), a_flow_state("ledger", proof=None)),
            0,
            ["predecessor-not-validated"],
            id="one flow of two",
        ),
        pytest.param(
            a_state(a_flow_state(proof=None), a_flow_state("ledger", changed_at=at("11:30"))),
            0,
            ["predecessor-stale", "predecessor-not-validated"],
            id="every reason at once",
        ),
        pytest.param(
            a_state(a_flow_state(changed_at=at("11:30"))), 50.5, ["predecessor-stale"], id="soaking is told when proven"
        ),
    ],
)
def test_what_is_against_following_a_stack(state: StackState, soak_minutes: float, expected: list[str]) -> None:
    assert [problem.code for problem in reasons_against(state, MODEL, soak_minutes, NOON)] == expected


def test_soaking_goes_on_while_a_proven_stack_is_validated_again() -> None:
    """A validation every hour must not begin a soak time of two hours anew."""
    again = a_flow_state(proof=a_proof(at=at("11:59")))
    assert reasons_against(a_state(again, recorded_since=at("11:10")), MODEL, 50, NOON) == ()
    assert reasons_against(a_state(again), MODEL, 50, NOON) != ()


@pytest.mark.parametrize(
    ("begun", "recorded", "changed", "since"),
    [
        pytest.param("11:10", None, "11:00", "11:10", id="the first of the row that passed, recorded or not"),
        pytest.param("11:10", "11:05", "11:00", "11:10", id="one that failed ends what is recorded"),
        pytest.param("11:10", "11:20", "11:00", "11:20", id="what is recorded since then stays"),
        pytest.param("11:10", None, "11:30", "11:59", id="a row from before the change proves nothing of it"),
        pytest.param("11:10", "11:40", "11:30", "11:40", id="what is recorded since the change stays"),
        pytest.param(None, "11:05", "11:00", "11:05", id="published without it"),
    ],
)
def test_since_when_a_stack_is_proven(begun: str | None, recorded: str | None, changed: str, since: str) -> None:
    proof = a_proof(at=at("11:59"), passing_since=at(begun) if begun else None)
    flow = a_flow_state(changed_at=at(changed), proof=proof)
    assert a_state(flow, recorded_since=at(recorded) if recorded else None).proven_since == at(since)


def test_soaking_begins_anew_with_a_change() -> None:
    changed = a_flow_state(changed_at=at("11:30"), proof=a_proof(at=at("11:40")))
    (problem,) = reasons_against(a_state(changed, recorded_since=at("11:10")), MODEL, 50, NOON)
    assert problem.code == "predecessor-soaking"


def test_the_message_says_how_long_soaking_still_takes() -> None:
    (problem,) = reasons_against(a_state(), MODEL, 90, NOON - timedelta(seconds=15))
    assert "is over in 40 min 15 s" in problem.what
    assert "2026-03-04T12:40:00+00:00" in problem.remedy


def test_the_message_of_another_model_shows_both() -> None:
    (problem,) = reasons_against(a_state(model_digest="sha256:bb"), MODEL)
    assert "sha256:bb" in problem.what
    assert MODEL in problem.what


def test_the_message_of_a_failure_names_flow_and_check() -> None:
    (problem,) = reasons_against(a_state(a_flow_state(proof=a_proof(verdict="fail", not_passed=("parity",)))), MODEL)
    assert problem.where == "stack one, flow orders"
    assert "fail: parity" in problem.what


def test_a_stale_proof_is_told_with_both_times() -> None:
    (problem,) = reasons_against(a_state(a_flow_state(changed_at=at("11:30"))), MODEL)
    assert "validated at 2026-03-04T11:10:00+00:00 and changed at 2026-03-04T11:30:00+00:00" in problem.what
