"""Readiness as the operator's status tells it; an old status says nothing of a new generation."""

from typing import Any

import pytest

from infra.kubernetes.readiness import readiness_of


def an_object(generation: int = 2, observed: int = 2, *conditions: dict[str, str]) -> dict[str, Any]:
    status = {"observedGeneration": observed, "conditions": list(conditions)}
    return {"metadata": {"generation": generation}, "status": status}


READY = {"type": "Ready", "status": "True"}
FAILED = {"type": "NotReady", "status": "True", "reason": "Failed", "message": "task 0: no ACL"}


def a_mirror_maker(connector: str, *tasks: str) -> dict[str, Any]:
    """Ready, as it is while tasks fail."""
    trace = {"trace": "org.apache.kafka.connect.errors.ConnectException: no ACL\n\tat a.b"}
    connectors = [
        {
            "name": "useast->uswest.MirrorSourceConnector",
            "connector": {"state": connector, **trace},
            "tasks": [{"id": number, "state": state, **trace} for number, state in enumerate(tasks)],
        }
    ]
    item = an_object(2, 2, READY)
    return {**item, "status": {**item["status"], "connectors": connectors}}


def test_a_mirror_maker_is_ready_when_its_tasks_are_too() -> None:
    assert readiness_of("KafkaMirrorMaker2 a/b", a_mirror_maker("RUNNING", "RUNNING", "PAUSED")).ready


@pytest.mark.parametrize(
    ("item", "failed"),
    [
        pytest.param(a_mirror_maker("RUNNING", "RUNNING", "FAILED"), "MirrorSourceConnector task 1 failed", id="task"),
        pytest.param(a_mirror_maker("FAILED"), "MirrorSourceConnector failed", id="connector"),
    ],
)
def test_a_mirror_maker_that_is_ready_with_a_failure_is_not(item: dict[str, Any], failed: str) -> None:
    found = readiness_of("KafkaMirrorMaker2 a/b", item)
    assert not found.ready
    assert f"{failed}: org.apache.kafka.connect.errors.ConnectException: no ACL" in found.message
    assert "at a.b" not in found.message


@pytest.mark.parametrize(
    ("item", "ready", "message"),
    [
        pytest.param(an_object(2, 2, READY), True, "", id="ready"),
        pytest.param(
            an_object(3, 2, READY), False, "not processed the newest change", id="ready, but before the change"
        ),
        pytest.param(an_object(2, 2, FAILED), False, "task 0: no ACL", id="failed, with the task's reason"),
        pytest.param(an_object(2, 2), False, "not reported anything yet", id="no condition"),
        pytest.param({"metadata": {"generation": 1}}, False, "not processed", id="no status"),
    ],
)
def test_an_object_is_ready_when_its_newest_generation_is(item: dict[str, Any], ready: bool, message: str) -> None:
    found = readiness_of("KafkaConnector a/b", item)
    assert found.ready is ready
    assert message in found.message
