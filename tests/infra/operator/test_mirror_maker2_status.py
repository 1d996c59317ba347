"""What the status of a KafkaMirrorMaker2 reports about its connectors, and what it omits."""

from datetime import UTC, datetime

import pytest

from kafka_replication.infra.local.operator.conditions import Condition, not_ready, warning
from kafka_replication.infra.local.operator.connect_rest import RunningConnector
from kafka_replication.infra.local.operator.connector_reconciler import Outcome, Restarts
from kafka_replication.infra.local.operator.reconcile import readiness, restart_statuses, seen_connectors, warnings
from kafka_replication.infra.local.operator.resources import ConnectorResource
from tests.infra.operator.builders import a_connector, running

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAME = "orders-source"
RUNS = running(tasks=(("RUNNING", None),))
TASK_FAILED = running(tasks=(("FAILED", "a.B: broken"),))
CONNECTOR_FAILED = running(state="FAILED", trace="a.B: no start\n\tat c.D(D.java:1)")


def an_outcome(seen: RunningConnector | None, refusal: Condition | None = None) -> Outcome:
    return Outcome(refusal, seen, [], None)


def readiness_with(outcomes: dict[str, Outcome], connector: ConnectorResource | None = None) -> Condition:
    connectors = [connector or a_connector()]
    return readiness(connectors, outcomes, seen_connectors(connectors, outcomes, {}))


@pytest.mark.parametrize(
    ("outcome", "condition"),
    [
        pytest.param(an_outcome(RUNS), Condition("Ready"), id="runs"),
        pytest.param(an_outcome(TASK_FAILED), Condition("Ready"), id="a-failed-task-is-not-reported"),
        pytest.param(
            an_outcome(CONNECTOR_FAILED),
            not_ready("ConnectorFailed", f"One or more connectors are in FAILED state: {NAME}: a.B: no start"),
            id="a-failed-connector-is-reported",
        ),
        pytest.param(
            an_outcome(RUNS, not_ready("ConnectRestError", "Connect answered 400: no")),
            not_ready("ConnectRestError", f"{NAME}: Connect answered 400: no"),
            id="a-refusal-by-connect-is-reported-with-the-connector",
        ),
        pytest.param(None, not_ready("Creating", f"connectors being created: {NAME}"), id="not-created-yet"),
    ],
)
def test_readiness_reports_failed_connectors_but_not_failed_tasks(
    outcome: Outcome | None, condition: Condition
) -> None:
    assert readiness_with({} if outcome is None else {NAME: outcome}) == condition


def test_a_connector_without_an_outcome_keeps_its_previous_status() -> None:
    """Otherwise the status would lose the connector for one round, and would be written twice."""
    before = {"connectors": [{"name": NAME, "tasks": []}, {"name": "gone", "tasks": []}]}
    assert seen_connectors([a_connector()], {}, before) == [{"name": NAME, "tasks": []}]


def test_restarts_are_reported_for_each_connector() -> None:
    outcomes = {NAME: Outcome(None, TASK_FAILED, [], Restarts(2, NOW))}
    expected = [{"count": 2, "connectorName": NAME, "lastRestartTimestamp": "2026-01-01T12:00:00Z"}]
    assert restart_statuses([a_connector()], outcomes, NOW) == expected
    assert restart_statuses([a_connector()], {NAME: an_outcome(RUNS)}, NOW) == []


def test_restart_counts_survive_a_round_in_which_connect_does_not_answer() -> None:
    """The pause before the next restart depends on the count."""
    kept = {"count": 2, "connectorName": NAME, "lastRestartTimestamp": "2026-01-01T11:59:00Z"}
    assert restart_statuses([a_connector(status={"autoRestart": kept})], {}, NOW) == [kept]


def test_warnings_name_the_connector() -> None:
    connector = a_connector(config={"tasks.max": 9})
    assert warnings([connector]) == [
        warning("ForbiddenConfiguration", f"{NAME}: config tasks.max is dropped: spec sets it")
    ]
