"""A job that starts with a deployment waits until the connectors run, and for nothing else."""

from typing import Any

import pytest

from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.spark.checks.connectors import ConnectorObject
from kafka_replication.spark.read import kubernetes
from kafka_replication.spark.read.kubernetes import await_connectors, settled
from tests.builders import a_resolved_flow

READY = [{"type": "Ready", "status": "True"}]


def an_object(state: str = "RUNNING", generation: int = 2, **status: Any) -> ConnectorObject:
    connector = {"connector": {"state": state}, "tasks": [{"id": 0, "state": state}]}
    reported = {"observedGeneration": generation, "conditions": READY, "connectorStatus": connector, **status}
    return ConnectorObject({"metadata": {"generation": 2}, "status": reported})


@pytest.mark.parametrize(
    ("found", "is_settled"),
    [
        pytest.param(an_object(), True, id="runs"),
        pytest.param(an_object("PAUSED"), True, id="is paused, as the topology says"),
        pytest.param(an_object("FAILED"), False, id="failed, and the operator restarts it"),
        pytest.param(an_object(generation=1), False, id="the operator has not seen the change"),
        pytest.param(an_object(conditions=[]), False, id="is not ready"),
        pytest.param(ConnectorObject({"metadata": {"generation": 1}}), False, id="nothing is reported"),
        pytest.param(ConnectorObject(), False, id="does not exist"),
        pytest.param(ConnectorObject(refusal="Forbidden"), True, id="may not be read: a check reports it"),
    ],
)
def test_the_job_waits_while_a_connector_is_still_starting(found: ConnectorObject, is_settled: bool) -> None:
    assert settled(found) is is_settled


def test_the_job_waits_until_each_connector_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    flow, messages = flow_parameters(a_resolved_flow()), list[str]()
    answers = iter([ConnectorObject(), an_object(generation=1), an_object()])
    monkeypatch.setattr(kubernetes, "_EVERY_SECONDS", 0)
    monkeypatch.setattr(kubernetes, "read_objects", lambda *_: {flow: next(answers)})
    assert await_connectors([flow], None, 60, messages.append)
    assert next(answers, None) is None
    assert messages == ["waiting until the connectors run, at most 60 s"]


def test_the_job_stops_waiting_for_connectors_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = flow_parameters(a_resolved_flow())
    monkeypatch.setattr(kubernetes, "read_objects", lambda *_: {flow: ConnectorObject()})
    assert not await_connectors([flow], None, 1e-9, lambda _: None)


def test_a_job_without_a_waiting_time_reads_no_connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "read_objects", lambda *_: pytest.fail("nothing is to be read"))
    assert await_connectors([flow_parameters(a_resolved_flow())], None, 0, lambda _: None)
