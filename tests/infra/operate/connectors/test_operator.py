"""Interventions on a resource in memory; its operator reconciles before each answer."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.connectors import Failure
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object
from kafka_replication.infra.operate.connectors.changes import StateRequest, planned
from kafka_replication.infra.operate.connectors.operator import carry_out, read_live
from kafka_replication.infra.operate.status.facts import ConnectorFacts
from tests.infra.operate.connectors.test_changes import a_request
from tests.infra.operate.offsets.test_change import MM2, OURS, OWNERS, Cluster, a_mirror_maker, of_each_kind


def intervene(cluster: Cluster, request: StateRequest) -> None:
    live = {cluster.place.resource: cluster.body}
    changes = planned(request, [cluster.place], live)
    carry_out(cast(KubernetesApi, cluster), changes, 5, lambda _: None)


def owners(cluster: Cluster) -> Sequence[Object]:
    found: Sequence[Object] = cluster.body["metadata"]["managedFields"]
    return found


@of_each_kind
def test_after_a_resume_the_next_deployment_owns_every_field(make: Callable[[], Cluster]) -> None:
    """The mirrors of a KafkaMirrorMaker2 are one field: no deployment can change it while the command owns it."""
    cluster = make()
    intervene(cluster, a_request("paused"))
    assert OURS in owners(cluster)
    intervene(cluster, a_request("running"))
    assert owners(cluster) == OWNERS


@pytest.mark.parametrize("mirrors", [[], [{"source": {"alias": "other"}, "sourceConnector": {}}]])
def test_a_mirror_that_is_declared_and_not_deployed_is_named(mirrors: list[Object]) -> None:
    """Every command on its connectors ended in a ValueError."""
    body = a_mirror_maker()
    body["spec"]["mirrors"] = mirrors
    with pytest.raises(CannotRunError, match=f"it runs no connector {MM2.name}"):
        read_live(cast(KubernetesApi, SimpleNamespace(get=lambda _: body)), [MM2])


@pytest.mark.parametrize(
    ("state", "report", "settled"),
    [
        pytest.param("PAUSED", ("PAUSED", 1, 1, ()), False, id="a-paused-connector-whose-task-still-runs"),
        pytest.param("PAUSED", ("PAUSED", 1, 0, ()), True, id="paused"),
        pytest.param("STOPPED", ("STOPPED", 1, 1, ()), False, id="a-stopped-connector-whose-task-still-runs"),
        pytest.param("STOPPED", ("STOPPED", 0, 0, ()), True, id="stopped"),
        pytest.param("RUNNING", ("RUNNING", 2, 1, ()), False, id="a-resumed-connector-whose-task-is-still-paused"),
        pytest.param("RUNNING", ("RUNNING", 2, 2, ()), True, id="resumed"),
        pytest.param("RUNNING", ("RUNNING", 2, 1, (Failure(1, "a.B: broken"),)), True, id="resumed-and-failed"),
        pytest.param("RUNNING", ("STOPPED", 0, 0, ()), False, id="another-state"),
    ],
)
def test_a_connector_is_in_its_state_once_its_tasks_are(
    state: str, report: tuple[str, int, int, tuple[Failure, ...]], settled: bool
) -> None:
    """Otherwise `pause` ends with "PAUSED, 1 of 1 tasks run"."""
    reported, tasks, running, failures = report
    shown = tuple("RUNNING" if number < running else "PAUSED" for number in range(tasks))
    facts = ConnectorFacts("orders-source", "source", "r", state.lower(), reported, shown, failures)
    assert facts.settled(state) is settled
