"""Readiness as the operator's status reports it; an old status says nothing about a new generation."""

from typing import Any, cast

import pytest

from infra.kubernetes.api import KubernetesApi, Reference
from infra.kubernetes.readiness import readiness_of, wait_until_ready
from infra.stack.session import OpenStack
from infra.stack.settings import read_settings
from tests.repository import STACKS


def an_object(generation: int = 2, observed: int = 2, *conditions: dict[str, str]) -> dict[str, Any]:
    status = {"observedGeneration": observed, "conditions": list(conditions)}
    return {"metadata": {"generation": generation}, "status": status}


READY = {"type": "Ready", "status": "True"}
FAILED = {"type": "NotReady", "status": "True", "reason": "Failed", "message": "task 0: no ACL"}


def a_mirror_maker(connector: str, *tasks: str) -> dict[str, Any]:
    """A KafkaMirrorMaker2 with the condition Ready, which it has even while tasks fail."""
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


def test_a_mirror_maker_is_ready_if_none_of_its_tasks_has_failed() -> None:
    assert readiness_of("KafkaMirrorMaker2 a/b", a_mirror_maker("RUNNING", "RUNNING", "PAUSED")).ready


@pytest.mark.parametrize(
    ("item", "failed"),
    [
        pytest.param(a_mirror_maker("RUNNING", "RUNNING", "FAILED"), "MirrorSourceConnector task 1 failed", id="task"),
        pytest.param(a_mirror_maker("FAILED"), "MirrorSourceConnector failed", id="connector"),
    ],
)
def test_a_mirror_maker_with_a_failed_connector_or_task_is_not_ready(item: dict[str, Any], failed: str) -> None:
    found = readiness_of("KafkaMirrorMaker2 a/b", item)
    assert not found.ready
    assert f"{failed}: org.apache.kafka.connect.errors.ConnectException: no ACL" in found.message
    assert "at a.b" not in found.message


def test_a_connector_with_a_failed_task_is_not_ready_whatever_its_conditions_say() -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception\n\tat a.b\n"
        "Caused by: org.apache.kafka.common.KafkaException: Failed to create a client\n\tat c.d\n"
        "Caused by: org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed\n"
    )
    item = an_object(2, 2, READY)
    tasks = [{"id": 0, "state": "FAILED", "trace": trace}]
    item["status"]["connectorStatus"] = {"name": "orders-source", "connector": {"state": "RUNNING"}, "tasks": tasks}
    found = readiness_of("KafkaConnector a/orders-source", item)
    assert (found.ready, found.message) == (
        False,
        "orders-source task 0 failed: org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception; "
        "caused by org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed",
    )


def test_waiting_reports_how_many_connectors_are_ready() -> None:
    settings = read_settings("prod-us-west-2", STACKS)
    said: list[str] = []

    class Cluster:
        """All objects are ready except one connector, which is ready when it is read for the second time."""

        asked = 0

        def get(self, target: Reference) -> dict[str, Any]:
            self.asked += target.name == "orders-heartbeat"
            late = target.name == "orders-heartbeat" and self.asked == 1
            return an_object(2, 2) if late else an_object(2, 2, READY)

    wait_until_ready(cast(KubernetesApi, Cluster()), OpenStack(settings).flows, 60, say=said.append)
    assert [line.rpartition(",")[0] for line in said] == ["waiting for connectors to be ready: 3 of 4 (75%)"]


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
