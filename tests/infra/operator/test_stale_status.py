"""A stand-in that reconciles as seldom as the real operator: its status stays as it was right after a change."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kafka_replication.infra.kubernetes.api import KubernetesApi, Object
from kafka_replication.infra.local.operator.connect_rest import ConnectRest, RunningConnector
from kafka_replication.infra.local.operator.connector_reconciler import ConnectorReconciler
from tests.infra.operator.builders import a_connector

RUNS: Object = {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
STOPPED: Object = {"connector": {"state": "STOPPED"}, "tasks": []}


class Connect:
    """A worker that reports a new state only once it was asked a second time."""

    def __init__(self, config: Mapping[str, str], status: Object) -> None:
        self.config, self.reported, self.next = config, status, status

    def connectors(self) -> dict[str, RunningConnector]:
        self.reported = self.next
        return {"orders-source": RunningConnector(self.config, self.reported)}

    def status(self, _: str) -> Object:
        return self.reported

    def call(self, _: str, method: str, path: str) -> None:
        self.next = {("PUT", "/resume"): RUNS, ("PUT", "/stop"): STOPPED}[method, path]

    def topics(self, _: str) -> list[str]:
        return []


class Written(KubernetesApi):
    """Keeps the statuses that were written."""

    def __init__(self) -> None:
        self.statuses: list[Object] = []

    def apply_status(self, _: Any, status: Object) -> Object | None:
        self.statuses.append(status)
        return None


CONFIG = {"connector.class": "example.Source", "tasks.max": "2", "topics": "orders"}


@pytest.mark.parametrize(
    ("interval_seconds", "rounds"),
    [
        pytest.param(0.0, [(STOPPED, "NotReady"), (RUNS, "Ready")], id="every-round"),
        pytest.param(3600.0, [(STOPPED, "Ready")], id="as-seldom-as-the-real-operator"),
    ],
)
def test_a_resumed_connector_is_reported_stopped_until_the_operator_looks_again(
    interval_seconds: float, rounds: list[tuple[Object, str]]
) -> None:
    api, connect = Written(), Connect(CONFIG, STOPPED)
    reconciler = ConnectorReconciler(api, interval_seconds)
    connector = a_connector(state="running")
    for _ in range(2):
        reconciler.reconcile(cast(ConnectRest, connect), [connector])
    assert [(status["connectorStatus"], status["conditions"][0]["type"]) for status in api.statuses] == rounds
    assert {status["observedGeneration"] for status in api.statuses} == {connector.generation}


def test_a_changed_resource_is_looked_at_at_once() -> None:
    api, connect = Written(), Connect(CONFIG, STOPPED)
    reconciler = ConnectorReconciler(api, 3600.0)
    reconciler.reconcile(cast(ConnectRest, connect), [a_connector(state="running")])
    reconciler.reconcile(cast(ConnectRest, connect), [a_connector(state="stopped", generation=3)])
    assert [status["connectorStatus"] for status in api.statuses] == [STOPPED, RUNS]
