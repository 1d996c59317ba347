"""Whether the tasks of a stopped connector have ended, according to the records of Connect's status topic."""

import json

from kafka_replication.components.kafka.connectors import present_tasks, unended_tasks

CONNECTOR = "useast->uswest.MirrorSourceConnector"
Record = tuple[bytes | None, bytes | None]


def report(task: int, state: str, connector: str = CONNECTOR) -> Record:
    value = {"state": state, "trace": None, "worker_id": "w:8083", "generation": 2}
    return f"status-task-{connector}-{task}".encode(), json.dumps(value).encode()


def deleted(task: int) -> Record:
    return f"status-task-{CONNECTOR}-{task}".encode(), None


def test_a_task_has_ended_once_it_reports_unassigned_or_failed() -> None:
    assert unended_tasks([report(0, "RUNNING"), report(1, "RUNNING"), report(0, "UNASSIGNED")], CONNECTOR) == [1]
    assert unended_tasks([report(0, "RUNNING"), report(0, "FAILED")], CONNECTOR) == []


def test_a_deleted_status_does_not_show_that_the_task_has_ended() -> None:
    """Connect deletes it as soon as the connector has no tasks, which may be before they have stored their offsets."""
    assert unended_tasks([report(0, "RUNNING"), deleted(0)], CONNECTOR) == [0]
    assert unended_tasks([report(0, "RUNNING"), deleted(0), report(0, "UNASSIGNED")], CONNECTOR) == []
    assert unended_tasks([deleted(0)], CONNECTOR) == []


def test_a_task_whose_status_was_deleted_no_longer_belongs_to_the_connector() -> None:
    """Its worker was killed and the connector now has one task fewer, so the task never reports its end."""
    killed = [report(0, "RUNNING"), report(1, "RUNNING"), report(0, "RUNNING"), deleted(1)]
    assert unended_tasks(killed, CONNECTOR) == [0, 1]
    assert present_tasks(killed, CONNECTOR) == {0}
    assert present_tasks([*killed, report(1, "UNASSIGNED")], CONNECTOR) == {0, 1}
    assert present_tasks([report(0, "RUNNING", "other"), (None, b"x")], CONNECTOR) == frozenset()


def test_other_connectors_and_records_do_not_count() -> None:
    connector = (f"status-connector-{CONNECTOR}".encode(), b'{"state":"RUNNING"}')
    others = [
        report(0, "RUNNING", "useast->uswest.MirrorCheckpointConnector"),
        connector,
        (None, b"x"),
        (b"\xff", b"x"),
    ]
    assert unended_tasks(others, CONNECTOR) == []


def test_an_unreadable_report_does_not_show_that_the_task_has_ended() -> None:
    key, _ = report(0, "RUNNING")
    assert unended_tasks([(key, b"no JSON")], CONNECTOR) == [0]
