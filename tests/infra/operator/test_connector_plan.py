"""What the operator does with a connector, and what the connector's status says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_replication.infra.local.operator.conditions import Condition, not_ready
from kafka_replication.infra.local.operator.connect_rest import RunningConnector
from kafka_replication.infra.local.operator.connector_reconciler import (
    Configure,
    ConnectorStep,
    Create,
    Outcome,
    RestartFailed,
    Restarts,
    Transition,
    backoff_minutes,
    condition_of,
    connector_config,
    next_step,
    restarts_after,
    status_body,
)
from tests.infra.operator.builders import a_connector, running

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CONFIG = {"connector.class": "example.Source", "tasks.max": "2", "topics": "orders"}
RESTARTING = {"autoRestart": {"enabled": True}}
FAILED_TASK = running(tasks=(("RUNNING", None), ("FAILED", "a.B: broken")))


def restarted(count: int, minutes_ago: float) -> dict[str, Any]:
    last = (NOW - timedelta(minutes=minutes_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"autoRestart": {"count": count, "connectorName": "orders-source", "lastRestartTimestamp": last}}


def test_every_value_of_the_configuration_becomes_text() -> None:
    config = {"flag": True, "off": False, "count": -1, "ratio": 0.5, "text": "t", "list": ["a", 1], "name": "dropped"}
    assert connector_config(a_connector(config=config, version="4.2.0")) == {
        "connector.class": "example.Source",
        "tasks.max": "2",
        "connector.plugin.version": "4.2.0",
        "flag": "true",
        "off": "false",
        "count": "-1",
        "ratio": "0.5",
        "text": "t",
        "list": '["a", 1]',
    }


@pytest.mark.parametrize(
    ("spec", "status", "seen", "step"),
    [
        pytest.param({}, None, None, Create(CONFIG, "RUNNING"), id="not-created-yet"),
        pytest.param(
            {"state": "stopped"}, None, None, Create(CONFIG, "STOPPED"), id="created-stopped-if-wanted-stopped"
        ),
        pytest.param({}, None, running(), None, id="as-wanted"),
        pytest.param({}, None, running(topics="ledger"), Configure(CONFIG), id="other-value"),
        pytest.param({}, None, running(extra="x"), Configure(CONFIG), id="removed-key"),
        pytest.param({"state": "paused"}, None, running(), Transition("pause"), id="wanted-paused"),
        pytest.param({"state": "paused"}, None, running(state="PAUSED"), None, id="is-paused"),
        pytest.param({"state": "stopped"}, None, running(state="PAUSED"), Transition("stop"), id="wanted-stopped"),
        pytest.param({}, None, running(state="STOPPED"), Transition("resume"), id="runs-again"),
        pytest.param({}, None, running(state="UNASSIGNED"), None, id="about-to-run"),
        pytest.param({}, None, FAILED_TASK, None, id="failed-without-auto-restart"),
        pytest.param(RESTARTING, None, FAILED_TASK, RestartFailed(1), id="failed-the-first-time"),
        pytest.param(RESTARTING, None, running(state="FAILED", trace="x"), RestartFailed(1), id="connector-failed"),
        pytest.param(RESTARTING, restarted(1, 1), FAILED_TASK, None, id="failed-again-too-early"),
        pytest.param(RESTARTING, restarted(1, 2), FAILED_TASK, RestartFailed(2), id="failed-again-after-the-pause"),
        pytest.param(
            {"autoRestart": {"enabled": True, "maxRestarts": 3}},
            restarted(3, 99),
            FAILED_TASK,
            None,
            id="restarts-used-up",
        ),
        pytest.param({**RESTARTING, "state": "paused"}, None, FAILED_TASK, Transition("pause"), id="pause-first"),
    ],
)
def test_the_next_step_depends_on_the_resource_and_on_what_connect_runs(
    spec: dict[str, Any], status: Any, seen: RunningConnector | None, step: ConnectorStep
) -> None:
    assert next_step(a_connector(status=status, **spec), seen, NOW) == step


@pytest.mark.parametrize(
    ("count", "minutes"), [(0, 0), (1, 2), (2, 6), (3, 12), (4, 20), (5, 30), (6, 42), (7, 56), (8, 60), (50, 60)]
)
def test_the_pause_between_restarts_grows_to_an_hour(count: int, minutes: int) -> None:
    assert backoff_minutes(count) == minutes


def test_restarts_are_forgotten_once_the_connector_ran_for_longer_than_the_pause() -> None:
    assert restarts_after(a_connector(status=restarted(2, 7)), running(), NOW) is None
    assert restarts_after(a_connector(status=restarted(2, 6)), running(), NOW) == Restarts(
        2, NOW - timedelta(minutes=6)
    )
    assert restarts_after(a_connector(status=restarted(2, 99)), FAILED_TASK, NOW) is not None


@pytest.mark.parametrize(
    ("spec", "seen", "condition"),
    [
        pytest.param({}, running(tasks=(("RUNNING", None),)), Condition("Ready"), id="runs"),
        pytest.param({"state": "stopped"}, running(state="STOPPED"), Condition("Ready"), id="stopped-as-wanted"),
        pytest.param(
            {},
            running(state="UNASSIGNED"),
            not_ready("ConnectorState", "the connector is UNASSIGNED and should be RUNNING"),
            id="not-assigned-yet",
        ),
        pytest.param(
            {},
            running(tasks=(("RUNNING", None), ("FAILED", "a.B: broken\n\tat c.D(D.java:1)\nCaused by: e.F: root\n"))),
            not_ready("TaskFailed", "task 1 failed: a.B: broken; Caused by: e.F: root"),
            id="task-failed-while-the-connector-runs",
        ),
        pytest.param(
            {},
            running(state="FAILED", trace="a.B: no start\n\tat c.D(D.java:1)"),
            not_ready("ConnectorFailed", "connector failed: a.B: no start"),
            id="connector-failed",
        ),
        pytest.param(
            {}, None, not_ready("ConnectorMissing", "Connect does not have the connector yet"), id="not-created-yet"
        ),
    ],
)
def test_the_condition_reports_the_state_of_the_connector_and_its_tasks(
    spec: dict[str, Any], seen: RunningConnector | None, condition: Condition
) -> None:
    assert condition_of(a_connector(**spec), seen) == condition


def test_the_status_of_a_connector_has_all_its_fields() -> None:
    connector = a_connector(config={"topics": "orders", "tasks.max": 9})
    seen = running(tasks=(("RUNNING", None),))
    stamp = "2026-01-01T12:00:00Z"
    assert status_body(connector, Condition("Ready"), Outcome(None, seen, ["orders"], Restarts(1, NOW)), NOW) == {
        "observedGeneration": 2,
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": stamp},
            {
                "type": "Warning",
                "status": "True",
                "reason": "ForbiddenConfiguration",
                "message": "config tasks.max is dropped: spec sets it",
                "lastTransitionTime": stamp,
            },
        ],
        "topics": ["orders"],
        "tasksMax": 2,
        "connectorStatus": seen.status,
        "autoRestart": {"count": 1, "connectorName": "orders-source", "lastRestartTimestamp": stamp},
    }


def test_an_unchanged_condition_keeps_its_transition_time() -> None:
    """Otherwise every round would write the status again."""
    before = [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}]
    connector = a_connector(status={"conditions": before})
    assert status_body(connector, Condition("Ready"), Outcome(None, running(), [], None), NOW)["conditions"] == before
