"""Rounds of the stand-in for a kubelet over one Pod: it waits, starts and ends the Pod, and reports it in the status.

The job really runs, up to the point where it needs Spark. Only the API server is replaced.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_replication.components.render.job_pods import EXECUTOR_COMMAND
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local.kubelet import Kubelet, PodProcesses
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.infra.local.test_pod_plan import a_pod, objects_of

pytestmark = pytest.mark.process

CREATED = "2026-01-31T12:00:00Z"


class Cluster:
    """One Pod, the objects that it mounts, and the status that was written last."""

    def __init__(self, pod: Object) -> None:
        labels = {"app.kubernetes.io/component": "validation"}
        metadata = {**pod["metadata"], "labels": labels, "creationTimestamp": CREATED}
        self.pods: list[Object] = [{**pod, "apiVersion": "v1", "kind": "Pod", "metadata": metadata}]
        self.objects = objects_of(pod)

    def list_all(self, *_: str, label_selector: str) -> list[Object]:
        assert label_selector == "app.kubernetes.io/component in (validation,validation-executor,exporter)"
        return self.pods

    def get(self, target: Reference) -> Object | None:
        return self.objects.get(target)

    def service_account_token(self, namespace: str, name: str, _seconds: int) -> str:
        return f"token-of-{namespace}-{name}"

    def apply_status(self, _target: Reference, status: Object) -> None:
        self.pods[0]["status"] = status

    @property
    def status(self) -> tuple[str, dict[str, Any]]:
        """Phase and state of the container."""
        status = self.pods[0].get("status") or {}
        ((state, about),) = status["containerStatuses"][0]["state"].items()
        return status["phase"], {"state": state, **about}


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    (container,) = a_pod()["spec"]["containers"]
    return Cluster(a_pod(containers=[container | getattr(request, "param", {})]))


@pytest.fixture
def kubelet(cluster: Cluster, tmp_path: Path) -> Iterator[Kubelet]:
    kubeconfig = tmp_path / "kubeconfig"
    contexts = [{"name": "a", "context": {"cluster": "a", "user": "admin"}}]
    clusters = [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}]
    kubeconfig.write_text(json.dumps({"contexts": contexts, "current-context": "a", "clusters": clusters}))
    processes = PodProcesses(tmp_path)
    yield Kubelet(cast(KubernetesApi, cluster), kubeconfig, find_jdk(), tmp_path / "jars", processes)
    processes.stop_all()


def ended(kubelet: Kubelet, cluster: Cluster) -> tuple[str, dict[str, Any]]:
    def rounds() -> tuple[str, dict[str, Any]]:
        kubelet.round()
        if cluster.status[0] not in ("Succeeded", "Failed"):
            raise NotYetError(str(cluster.status))
        return cluster.status

    return wait_for("the end of the pod", rounds, 300)


def test_a_pod_waits_until_what_it_mounts_exists(kubelet: Kubelet, cluster: Cluster) -> None:
    missing = cluster.objects
    cluster.objects = {}
    kubelet.round()
    phase, about = cluster.status
    assert (phase, about["state"], about["reason"]) == ("Pending", "waiting", "ContainerCreating")
    assert "not found" in about["message"]
    cluster.objects = missing
    kubelet.round()
    assert cluster.status[0] == "Running"


@pytest.mark.parametrize("cluster", [{"command": ["sh", "-c", "true"]}], indirect=True)
def test_a_pod_that_is_no_validation_is_refused(kubelet: Kubelet, cluster: Cluster) -> None:
    kubelet.round()
    assert cluster.status[1]["reason"] == "CreateContainerError"


@pytest.mark.parametrize("cluster", [{"command": list(EXECUTOR_COMMAND), "args": ["executor"]}], indirect=True)
def test_an_executor_pod_runs_like_the_pod_of_the_job(kubelet: Kubelet, cluster: Cluster) -> None:
    phase, about = ended(kubelet, cluster)
    assert (phase, about["exitCode"]) == ("Failed", 2)
    assert "Spark did not set the variable" in about["message"]


def test_a_running_pod_has_an_address_and_is_ready(kubelet: Kubelet, cluster: Cluster) -> None:
    """Spark waits for both before it makes executors."""
    kubelet.round()
    status = cluster.pods[0]["status"]
    assert (status["podIP"], status["conditions"]) == ("127.0.0.1", [{"type": "Ready", "status": "True"}])


@pytest.mark.parametrize("cluster", [{"args": ["--help"]}], indirect=True)
def test_a_pod_that_ends_with_0_has_succeeded(kubelet: Kubelet, cluster: Cluster) -> None:
    phase, about = ended(kubelet, cluster)
    assert (phase, about["exitCode"], about["reason"]) == ("Succeeded", 0, "Completed")


def test_a_pod_that_fails_says_why_and_keeps_no_credential(kubelet: Kubelet, cluster: Cluster) -> None:
    """The parameters that are mounted here are not JSON."""
    phase, about = ended(kubelet, cluster)
    assert (phase, about["exitCode"]) == ("Failed", 2)
    assert "parameters-not-json" in about["message"]
    folder = kubelet.processes.folder("mirror-orders/a")
    assert [each.name for each in folder.iterdir()] == ["log"]


def test_the_process_has_the_token_of_its_account(kubelet: Kubelet) -> None:
    kubelet.round()
    config = json.loads((kubelet.processes.folder("mirror-orders/a") / "kubeconfig").read_text())
    assert config["users"][0]["user"]["token"] == "token-of-mirror-orders-orders-validation"
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


def test_a_deleted_pod_is_reported_as_failed_once_its_process_has_ended(kubelet: Kubelet, cluster: Cluster) -> None:
    """Otherwise its Job would wait for it until the Job's deadline."""
    kubelet.round()
    cluster.pods[0]["metadata"]["deletionTimestamp"] = CREATED
    assert ended(kubelet, cluster)[0] == "Failed"


def test_a_pod_that_no_longer_exists_leaves_no_process_and_no_folder(kubelet: Kubelet, cluster: Cluster) -> None:
    kubelet.round()
    cluster.pods.clear()

    def forgotten() -> None:
        kubelet.round()
        if kubelet.processes.ledger.all():
            raise NotYetError("its process runs")

    wait_for("the process to end", forgotten, 300)
    assert not kubelet.processes.folder("mirror-orders/a").exists()


def test_a_pod_ends_at_its_deadline(kubelet: Kubelet, cluster: Cluster) -> None:
    """The driver of a SparkApplication has such a deadline, because no Job ends it."""
    cluster.pods[0]["spec"]["activeDeadlineSeconds"] = 0
    phase, about = ended(kubelet, cluster)
    assert (phase, cluster.pods[0]["status"]["reason"], about["exitCode"]) == ("Failed", "DeadlineExceeded", 143)
