"""connectors-run: what Kubernetes reports about a flow's own connectors."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_replication.components.contract.parameters import ConnectorParameters
from kafka_replication.components.contract.report import CheckOutcome, Verdict, accepting
from kafka_replication.components.contract.temporary_states import ANNOTATION, TemporaryState, annotation_value
from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.spark.checks.connectors import ConnectorObject, judge, judge_when_reported
from tests.builders import a_resolved_flow

TRACE = """org.apache.kafka.connect.errors.ConnectException: cannot start
\tat org.apache.kafka…
Caused by: org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed
\tat org.apache.kafka…
"""


def a_connector(role: ConnectorRole = "source") -> ConnectorParameters:
    return ConnectorParameters(
        role=role,
        connector=f"orders-{role}",
        api_version="kafka.strimzi.io/v1",
        kind="KafkaConnector",
        object_name=f"orders-{role}",
    )


def reported(state: str, *tasks: str, **of_task: Any) -> ConnectorObject:
    connector = {
        "name": "orders-source",
        "connector": {"state": state},
        "tasks": [{"id": number, "state": each, **of_task} for number, each in enumerate(tasks)],
    }
    return current({"connectorStatus": connector})


def current(status: Mapping[str, Any]) -> ConnectorObject:
    """A resource whose status belongs to its newest generation."""
    return ConnectorObject({"metadata": {"generation": 2}, "status": {"observedGeneration": 2, **status}})


def test_a_connector_status_of_an_older_generation_is_an_error() -> None:
    """Somebody has just paused the connector, and the operator still reports that it runs."""
    at = reported("RUNNING", "RUNNING")
    assert at.live is not None
    outcome = judged(ConnectorObject({**at.live, "metadata": {"generation": 3}}))
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.ERROR, ["connector-not-reported"])


def test_the_report_says_who_stopped_a_connector_and_when() -> None:
    at = reported("STOPPED")
    state = TemporaryState("orders", "stopped", "ann", datetime(2026, 1, 31, 2, 10, tzinfo=UTC), before="running")
    assert at.live is not None
    annotations = {ANNOTATION: annotation_value({"orders-source": state})}
    outcome = judged(ConnectorObject({**at.live, "metadata": {"generation": 2, "annotations": annotations}}))
    (finding,) = outcome.findings
    assert "is stopped by ann at 02:10Z on 2026-01-31: records that are" in finding.message


def judged(at: ConnectorObject, role: ConnectorRole = "source") -> CheckOutcome:
    return judge("orders", "mirror-orders", {a_connector(role): at})


@pytest.mark.parametrize(
    "starting",
    [ConnectorObject({"metadata": {"generation": 1}}), reported("RESTARTING"), reported("RUNNING")],
    ids=["new", "restarting", "no task yet"],
)
def test_the_job_waits_for_a_connector_that_is_starting(starting: ConnectorObject) -> None:
    answers = iter([starting, reported("RUNNING", "RUNNING")])
    outcome = judge_when_reported("orders", "mirror-orders", lambda: {a_connector(): next(answers)}, 30)
    assert (outcome.verdict, outcome.counts["tasks"]) == (Verdict.PASS, 1)


def test_a_connector_that_never_starts_is_an_error_at_the_deadline() -> None:
    outcome = judge_when_reported("orders", "mirror-orders", lambda: {a_connector(): reported("RESTARTING")}, 0)
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.ERROR, ["connector-not-reported"])


@pytest.mark.parametrize(
    ("at", "verdict", "code", "words"),
    [
        pytest.param(reported("STOPPED"), "fail", "connector-stopped", "is stopped: records that are", id="stopped"),
        pytest.param(reported("PAUSED", "PAUSED"), "fail", "connector-stopped", "is paused: records", id="paused"),
        pytest.param(
            reported("RUNNING", "RUNNING", "PAUSED"), "fail", "connector-stopped", "task 1 is not", id="pausing now"
        ),
        pytest.param(
            reported("RUNNING", "RUNNING", "FAILED", trace=TRACE),
            "fail",
            "connector-failed",
            "task 1 failed: org.apache.kafka.connect.errors.ConnectException: cannot start; caused by "
            "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed. So records",
            id="a failed task",
        ),
        pytest.param(reported("FAILED"), "fail", "connector-failed", "the connector failed: no trace", id="failed"),
        pytest.param(reported("RUNNING"), "fail", "connector-without-task", "has no task", id="without a task"),
        pytest.param(reported("UNASSIGNED"), "error", "connector-not-reported", "reports unassigned", id="starting"),
        pytest.param(current({}), "error", "connector-not-reported", "has not reported", id="no status"),
        pytest.param(
            ConnectorObject(),
            "fail",
            "connector-missing",
            "mirror-orders/orders-source) does not exist",
            id="does not exist",
        ),
        pytest.param(
            ConnectorObject(refusal="Kubernetes answers Forbidden"),
            "error",
            "connectors-not-visible",
            "Forbidden",
            id="denied",
        ),
    ],
)
def test_a_connector_that_does_not_run_never_passes(at: ConnectorObject, verdict: str, code: str, words: str) -> None:
    """If no record is waiting and another flow's heartbeats arrive, no other check notices this."""
    outcome = judged(at)
    (finding,) = outcome.findings
    assert (outcome.verdict, finding.code) == (verdict, code)
    assert words in finding.message


def test_running_connectors_pass_and_their_tasks_are_counted() -> None:
    outcome = judged(reported("RUNNING", "RUNNING", "RUNNING"))
    assert (outcome.verdict, outcome.summary) == (Verdict.PASS, "1 of 1 connector of orders runs, with 2 tasks")


def test_a_checkpoint_connector_without_tasks_passes() -> None:
    at = current({"connectorStatus": {"connector": {"state": "RUNNING"}, "tasks": []}})
    outcome = judged(at, "checkpoint")
    assert (outcome.verdict, [each.code for each in outcome.findings]) == (Verdict.PASS, ["checkpoints-without-task"])


def test_connectors_that_cannot_be_seen_may_be_accepted() -> None:
    outcome = judged(ConnectorObject(refusal="no kubeconfig and no service account"))
    assert accepting(outcome, {"connectors-not-visible": "watched elsewhere"}).verdict is Verdict.PASS


def test_only_the_flows_own_connectors_of_a_mirror_maker_2_are_judged() -> None:
    """Another mirror of the same resource may be stopped."""
    mirrored = flow_parameters(a_resolved_flow(kind="mirrorMaker2")).connectors
    assert mirrored is not None
    status = {
        "connectors": [
            {"name": "eucentral->uswest.MirrorSourceConnector", "connector": {"state": "STOPPED"}, "tasks": []},
            *(
                {"name": each.connector, "connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
                for each in mirrored
            ),
        ]
    }
    outcome = judge("orders", "mirror-orders", dict.fromkeys(mirrored, current(status)))
    assert (outcome.verdict, outcome.counts["running"]) == (Verdict.PASS, len(mirrored))


def test_the_parameters_name_every_connector_that_has_work() -> None:
    def names(**changes: Any) -> list[str]:
        return [each.connector for each in flow_parameters(a_resolved_flow(**changes)).connectors or ()]

    assert names() == ["orders-source", "orders-checkpoint", "orders-heartbeat"]
    assert names(connectors={"heartbeat": {"config": {"emit.heartbeats.enabled": False}}}) == [
        "orders-source",
        "orders-checkpoint",
    ]
    assert names(kind="mirrorMaker2") == [
        "useast->uswest.MirrorSourceConnector",
        "useast->uswest.MirrorCheckpointConnector",
        "orders-heartbeat",
    ]
