"""Readiness as the operator's status reports it; an old status says nothing about a new generation."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.api import KubernetesApi, Reference
from kafka_replication.infra.kubernetes.readiness import wait_until_ready, why_not_ready
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from tests.repository import STACKS


def an_object(generation: int = 2, observed: int = 2, *conditions: dict[str, str]) -> dict[str, Any]:
    status = {"observedGeneration": observed, "conditions": list(conditions)}
    return {"metadata": {"generation": generation}, "status": status}


OLD = "2026-01-31T02:00:00Z"
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
    assert why_not_ready("KafkaMirrorMaker2 a/b", a_mirror_maker("RUNNING", "RUNNING", "PAUSED")) == ""


@pytest.mark.parametrize(
    ("item", "failed"),
    [
        pytest.param(a_mirror_maker("RUNNING", "RUNNING", "FAILED"), "MirrorSourceConnector task 1 failed", id="task"),
        pytest.param(a_mirror_maker("FAILED"), "MirrorSourceConnector failed", id="connector"),
    ],
)
def test_a_mirror_maker_with_a_failed_connector_or_task_is_not_ready(item: dict[str, Any], failed: str) -> None:
    why = why_not_ready("KafkaMirrorMaker2 a/b", item)
    assert f"{failed}: org.apache.kafka.connect.errors.ConnectException: no ACL" in why
    assert "at a.b" not in why


def test_a_connector_with_a_failed_task_is_not_ready_whatever_its_conditions_say() -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception\n\tat a.b\n"
        "Caused by: org.apache.kafka.common.KafkaException: Failed to create a client\n\tat c.d\n"
        "Caused by: org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed\n"
    )
    item = an_object(2, 2, READY)
    tasks = [{"id": 0, "state": "FAILED", "trace": trace}]
    item["status"]["connectorStatus"] = {"name": "orders-source", "connector": {"state": "RUNNING"}, "tasks": tasks}
    assert why_not_ready("KafkaConnector a/orders-source", item) == (
        "orders-source task 0 failed: org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception; "
        "caused by org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed"
    )


def a_deployed(target: Reference, state: str = "RUNNING", *tasks: str, written: str = OLD) -> dict[str, Any]:
    """The object as the API server has it, observed and Ready, with what the operator reports of its connector."""
    reported = {
        "connector": {"state": state},
        "tasks": [{"id": number, "state": task} for number, task in enumerate(tasks)],
    }
    fields = [{"manager": "strimzi-cluster-operator", "subresource": "status", "time": written, "fieldsV1": {}}]
    item = an_object(2, 2, READY)
    item["status"] |= {"connectorStatus": reported} if target.kind == "KafkaConnector" else {}
    metadata = {**item["metadata"], "name": target.name, "namespace": target.namespace, "managedFields": fields}
    return {**item, "kind": target.kind, "metadata": metadata, "spec": {}}


class Deployed:
    """A cluster in which everything is as wanted but what `reports` say of a connector; the last one stays."""

    def __init__(self, connector: str, *reports: dict[str, Any]) -> None:
        self.connector, self.reports = connector, list(reports)

    def get(self, target: Reference) -> dict[str, Any]:
        if target.name != self.connector or target.kind != "KafkaConnector":
            return a_deployed(target, "RUNNING", "RUNNING")
        report = self.reports.pop(0) if len(self.reports) > 1 else self.reports[0]
        # A time from when the module was loaded may be minutes old by now.
        written = datetime.now(UTC).isoformat() if report.get("written") == "now" else OLD
        return a_deployed(target, report["state"], *report.get("tasks", ()), written=written)


def waited(cluster: Deployed, seconds: float) -> tuple[tuple[str, ...], list[str]]:
    """The connectors without a task, and the progress."""
    said: list[str] = []
    flows = OpenStack(read_settings("prod-us-west-2", STACKS)).flows
    idle = wait_until_ready(cast(KubernetesApi, cluster), "prod-us-west-2", flows, seconds, 120, say=said.append)
    return idle, [line.rpartition(",")[0] for line in said]


@pytest.mark.parametrize(
    ("stale", "message"),
    [
        pytest.param({"state": "STOPPED"}, "orders-source is STOPPED, and should be RUNNING", id="old-state"),
        pytest.param({"state": "RUNNING", "tasks": ["PAUSED"]}, "orders-source task 0 is PAUSED", id="old-task"),
        pytest.param({"state": "RUNNING", "written": "now"}, "orders-source has no task yet", id="no-task"),
        pytest.param({"state": ""}, "orders-source is not reported yet, and should be RUNNING", id="not-reported"),
    ],
)
def test_a_ready_connector_that_the_operator_reports_in_another_state_is_waited_for(
    stale: dict[str, Any], message: str
) -> None:
    """The operator writes what Connect answers right after a change, with the condition Ready."""
    runs = {"state": "RUNNING", "tasks": ["RUNNING"]}
    idle, said = waited(Deployed("orders-source", stale, runs), 60)
    assert (idle, said) == ((), ["waiting for connectors to be ready: 3 of 4 (75%)"])
    with pytest.raises(CannotRunError) as refused:
        waited(Deployed("orders-source", stale), 0)
    assert message in refused.value.what
    assert "`replicate diff prod-us-west-2 --against cluster`" in refused.value.remedy


def test_a_connector_that_stays_without_a_task_is_named() -> None:
    """It selects nothing that exists, and would never have one."""
    assert waited(Deployed("orders-source", {"state": "RUNNING"}), 0) == (("orders-source",), [])


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
    why = why_not_ready("KafkaConnector a/b", item)
    assert (not why) is ready
    assert message in why
