"""When the tasks of a stopped connector have ended, by the records of Connect's status topic."""

import json

from components.kafka.task_states import present_tasks, unended_tasks

CONNECTOR = "useast->uswest.MirrorSourceConnector"
Record = tuple[bytes | None, bytes | None]


def report(task: int, state: str, connector: str = CONNECTOR) -> Record:
    value = {"state": state, "trace": None, "worker_id": "w:8083", "generation": 2}
    return f"status-task-{connector}-{task}".encode(), json.dumps(value).encode()


def deleted(task: int) -> Record:
    return f"status-task-{CONNECTOR}-{task}".encode(), None


def test_a_task_has_ended_when_it_says_so() -> None:
    assert unended_tasks([report(0, "RUNNING"), report(1, "RUNNING"), report(0, "UNASSIGNED")], CONNECTOR) == [1]
    assert unended_tasks([report(0, "RUNNING"), report(0, "FAILED")], CONNECTOR) == []


def test_a_status_that_the_leader_deleted_says_nothing_of_the_task() -> None:
    """Connect deletes it as soon as the connector has no tasks, which may be before they have stored their offsets."""
    assert unended_tasks([report(0, "RUNNING"), deleted(0)], CONNECTOR) == [0]
    assert unended_tasks([report(0, "RUNNING"), deleted(0), report(0, "UNASSIGNED")], CONNECTOR) == []
    assert unended_tasks([deleted(0)], CONNECTOR) == []


def test_a_task_whose_status_was_deleted_is_none_of_the_connector() -> None:
    """Its worker was killed, and since then the connector has one task less: it never says that it has ended."""
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


def test_a_report_that_cannot_be_read_is_no_end() -> None:
    key, _ = report(0, "RUNNING")
    assert unended_tasks([(key, b"no JSON")], CONNECTOR) == [0]
