"""Pods that stand for Connect workers: their content, and which of them are surplus."""

from typing import Any

import pytest

from kafka_replication.infra.local.operator.worker_objects import (
    is_of_revision,
    is_there,
    pod_status,
    pods_by_index,
    shows,
    surplus,
    worker_pod,
)
from kafka_replication.infra.local.operator.worker_processes import WorkerState
from tests.infra.operator.builders import a_connect
from tests.infra.operator.test_owned_objects import LABELS, OWNER

READY, STOPPING, ENDED = WorkerState.READY, WorkerState.STOPPING, WorkerState.ENDED
RESOURCES = {"requests": {"memory": "256Mi"}, "limits": {"memory": "512Mi"}}


def a_pod(name: str = "orders-connect-0", **metadata: Any) -> dict[str, Any]:
    """A Pod as the API server gives it."""
    created = {"name": name, "namespace": "mirror", "creationTimestamp": "2026-01-01T12:00:00Z"}
    return {"metadata": created | metadata}


def test_the_pod_of_a_worker_has_all_its_fields() -> None:
    container = {"name": "orders-connect", "image": "local-process/kafka-connect", "resources": RESOURCES}
    assert worker_pod(a_connect(resources=RESOURCES), 1, "d1") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "orders-connect-1",
            "namespace": "mirror",
            "annotations": {"strimzi.io/revision": "d1"},
            "labels": {
                **LABELS,
                "statefulset.kubernetes.io/pod-name": "orders-connect-1",
                "strimzi.io/controller": "strimzipodset",
                "strimzi.io/controller-name": "orders-connect",
                "strimzi.io/pod-name": "orders-connect-1",
            },
            "ownerReferences": [OWNER],
        },
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [container],
            "restartPolicy": "Always",
            "serviceAccountName": "orders-connect",
        },
    }


def test_a_container_without_resources_leaves_them_to_the_limit_range() -> None:
    """We would own an empty map, and the next apply would remove the namespace's defaults."""
    assert "resources" not in worker_pod(a_connect(), 0, "d1")["spec"]["containers"][0]


def test_only_pods_with_a_workers_name_count_as_workers() -> None:
    """Otherwise a Pod that somebody else labelled would be deleted as surplus."""
    names = ("orders-connect-0", "orders-connect-12", "orders-connect-00", "12", "other-connect-3")
    found = pods_by_index(a_connect(), [a_pod(name) for name in names] + [a_pod("orders-connect-5", namespace="b")])
    assert found == {0: a_pod("orders-connect-0"), 12: a_pod("orders-connect-12")}


@pytest.mark.parametrize(
    ("pod", "there"),
    [
        pytest.param(a_pod(), True, id="exists"),
        pytest.param(a_pod(deletionTimestamp="2026-01-01T12:00:00Z"), False, id="is-being-deleted"),
        pytest.param(None, False, id="is-deleted"),
    ],
)
def test_a_pod_that_is_being_deleted_counts_as_deleted(pod: dict[str, Any] | None, there: bool) -> None:
    assert is_there(pod) is there


@pytest.mark.parametrize(
    ("metadata", "same"),
    [
        pytest.param({"annotations": {"strimzi.io/revision": "d1"}}, True, id="as-made"),
        pytest.param({"annotations": {"strimzi.io/revision": "d0"}}, False, id="of-the-previous-revision"),
        pytest.param({}, False, id="not-made-by-us"),
    ],
)
def test_a_pod_of_another_revision_is_recognized(metadata: dict[str, Any], same: bool) -> None:
    assert is_of_revision(a_pod(**metadata), "d1") is same


@pytest.mark.parametrize(
    ("replicas", "states", "left_over"),
    [
        pytest.param(2, {0: READY, 1: READY}, [], id="all-wanted"),
        pytest.param(2, {}, [], id="wanted-and-not-started-yet"),
        pytest.param(1, {0: READY, 1: STOPPING}, [], id="its-process-has-not-ended"),
        pytest.param(1, {0: READY}, [1], id="it-has-no-process"),
        pytest.param(1, {0: READY, 1: ENDED}, [1], id="its-process-died-and-is-not-wanted"),
        pytest.param(0, {}, [0, 1], id="none-wanted"),
    ],
)
def test_a_pod_is_surplus_once_its_worker_is_unwanted_and_has_ended(
    replicas: int, states: dict[int, WorkerState], left_over: list[int]
) -> None:
    assert surplus([1, 0], replicas, states) == left_over


@pytest.mark.parametrize("ready", [True, False])
def test_the_status_of_a_pod_shows_whether_its_worker_serves(ready: bool) -> None:
    """A status that never counted as up to date would be written every second."""
    pod = a_pod() | {"spec": {"containers": [{"name": "orders-connect", "image": "kafka"}]}}
    status = pod_status(pod, ready=ready)
    assert not shows(pod, ready=ready)
    assert shows(pod | {"status": status}, ready=ready)
    assert not shows(pod | {"status": status}, ready=not ready)
    assert status["phase"] == "Running"
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "Initialized": "True",
        "Ready": str(ready),
        "ContainersReady": str(ready),
        "PodScheduled": "True",
    }
