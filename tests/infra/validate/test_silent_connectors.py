"""Connectors that explain a failed validation: they have failed, or they run without a task."""

from typing import Any

from kafka_replication.infra.validate.run import silent_connectors


def a_connector(state: str, *tasks: dict[str, Any], **connector: str) -> dict[str, Any]:
    status = {"name": "orders-source", "connector": {"state": state, **connector}, "tasks": list(tasks)}
    return {"metadata": {"name": "orders-source"}, "status": {"connectorStatus": status}}


def test_a_connector_that_works_or_has_no_status_is_not_blamed() -> None:
    working = a_connector("RUNNING", {"id": 0, "state": "RUNNING"})
    assert list(silent_connectors([working, {"metadata": {"name": "new"}}, a_connector("PAUSED")])) == []


def test_a_running_connector_without_a_task_is_reported() -> None:
    (said,) = silent_connectors([a_connector("RUNNING")])
    assert said.startswith("orders-source runs, but nothing arrives through it, because it has no task")
    assert "Remedy: " in said


def test_a_refused_login_is_reported_as_failed_authentication() -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: Unrecoverable\n"
        "Caused by: org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed\n"
    )
    (said,) = silent_connectors([a_connector("RUNNING", {"id": 0, "state": "FAILED", "trace": trace})])
    assert said.startswith("orders-source is deployed, but nothing arrives through it: authentication failed (org.")
    assert "SaslAuthenticationException: Authentication failed). Remedy: correct the credential" in said


def test_a_missing_task_is_explained_by_the_refused_login_of_the_same_flow() -> None:
    """The connector keeps running, and its own status shows no failure."""
    trace = "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed: Invalid username"
    heartbeat = a_connector("RUNNING", {"id": 0, "state": "FAILED", "trace": trace})
    labels = {"app.kubernetes.io/part-of": "orders"}
    both = [a_connector("RUNNING"), heartbeat]
    for each in both:
        each["metadata"]["labels"] = labels
    said, _ = silent_connectors(both)
    assert said.startswith(
        f"orders-source runs, but nothing arrives through it: authentication failed (orders-source: {trace}). Remedy:"
    )


def test_any_other_failure_is_reported_with_its_task() -> None:
    (said,) = silent_connectors([a_connector("RUNNING", {"id": 1, "state": "FAILED", "trace": "a.B: no topic"})])
    assert said == "orders-source task 1 failed: a.B: no topic"
