"""The rule of promotion as a table: the state of a predecessor, and the problems that the rule finds."""

from datetime import timedelta

import pytest

from kafka_replication.infra.deploy.promotion.rule.rules import CheckResult, StackState, reasons_against
from tests.infra.deploy.promotion.states import MODEL, NOON, a_flow_state, a_proof, a_state, at, failed

SECOND = "sha256:22"
ACCEPTING = a_proof(checks={"parity": CheckResult("pass", "", {"compacted": "every key was compared"})})


@pytest.mark.parametrize(
    ("state", "soak_minutes", "expected"),
    [
        pytest.param(a_state(), 0, [], id="proven"),
        pytest.param(a_state(), 50, [], id="the soak time ends right now"),
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
            a_state(a_flow_state(digest=SECOND)),
            0,
            ["predecessor-validated-otherwise"],
            id="validated with another digest",
        ),
        pytest.param(
            a_state(a_flow_state(proof=a_proof(verdict="fail", checks=failed("parity")))),
            0,
            ["predecessor-failed"],
            id="failed",
        ),
        pytest.param(
            a_state(a_flow_state(proof=a_proof(verdict="error"))), 0, ["predecessor-failed"], id="an error is no pass"
        ),
        pytest.param(
            a_state(a_flow_state(proof=ACCEPTING)),
            0,
            ["predecessor-accepted-otherwise"],
            id="no longer accepts a finding that the pass depends on",
        ),
        pytest.param(
            a_state(a_flow_state(proof=ACCEPTING, accepts=frozenset({"compacted", "empty-range"}))),
            0,
            [],
            id="accepts the finding that the pass depends on, and more",
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
            a_state(a_flow_state(changed_at=at("11:30"))),
            50.5,
            ["predecessor-stale"],
            id="soaking is reported only once proven",
        ),
    ],
)
def test_each_state_of_a_predecessor_has_the_expected_problems(
    state: StackState, soak_minutes: float, expected: list[str]
) -> None:
    assert [problem.code for problem in reasons_against(state, MODEL, soak_minutes, NOON)] == expected


def test_another_passing_validation_does_not_restart_the_soak_time() -> None:
    """Otherwise an hourly validation would never let a soak time of two hours end."""
    again = a_flow_state(proof=a_proof(at=at("11:59")))
    assert reasons_against(a_state(again, recorded_since=at("11:10")), MODEL, 50, NOON) == ()
    assert reasons_against(a_state(again), MODEL, 50, NOON) != ()


@pytest.mark.parametrize(
    ("begun", "recorded", "changed", "since"),
    [
        pytest.param("11:10", None, "11:00", "11:10", id="the start of the passing series"),
        pytest.param("11:10", "11:05", "11:00", "11:10", id="a failure after the recorded time starts it again"),
        pytest.param("11:10", "11:20", "11:00", "11:20", id="a later recorded time counts"),
        pytest.param("11:10", None, "11:30", "11:59", id="a series from before the change proves nothing about it"),
        pytest.param("11:10", "11:40", "11:30", "11:40", id="a recorded time after the change counts"),
        pytest.param(None, "11:05", "11:00", "11:05", id="the series was not published"),
    ],
)
def test_a_stack_is_proven_since_its_validations_pass_after_the_latest_change(
    begun: str | None, recorded: str | None, changed: str, since: str
) -> None:
    proof = a_proof(at=at("11:59"), passing_since=at(begun) if begun else None)
    flow = a_flow_state(changed_at=at(changed), proof=proof)
    assert a_state(flow, recorded_since=at(recorded) if recorded else None).proven_since == at(since)


def test_a_change_restarts_the_soak_time() -> None:
    changed = a_flow_state(changed_at=at("11:30"), proof=a_proof(at=at("11:40")))
    (problem,) = reasons_against(a_state(changed, recorded_since=at("11:10")), MODEL, 50, NOON)
    assert problem.code == "predecessor-soaking"


def test_the_message_says_when_the_soak_time_ends() -> None:
    (problem,) = reasons_against(a_state(), MODEL, 90, NOON - timedelta(seconds=15))
    assert "ends in 40 min 15 s" in problem.what
    assert "2026-03-04T12:40:00+00:00" in problem.remedy


def test_the_message_about_another_model_shows_both_digests() -> None:
    (problem,) = reasons_against(a_state(model_digest="sha256:bb"), MODEL)
    assert "sha256:bb" in problem.what
    assert MODEL in problem.what


def test_the_message_about_a_failure_names_the_flow_and_the_check() -> None:
    (problem,) = reasons_against(a_state(a_flow_state(proof=a_proof(verdict="fail", checks=failed("parity")))), MODEL)
    assert problem.where == "stack one, flow orders"
    assert "fail: parity" in problem.what


def test_the_message_about_a_stale_proof_shows_both_times() -> None:
    (problem,) = reasons_against(a_state(a_flow_state(changed_at=at("11:30"))), MODEL)
    assert "validated at 2026-03-04T11:10:00+00:00 and changed at 2026-03-04T11:30:00+00:00" in problem.what
