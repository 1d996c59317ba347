"""Why a session has no executors, from what Kubernetes and Spark say of their pods."""

import os
from contextlib import nullcontext
from typing import Any, cast

import pytest
from kubernetes import client
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from kafka_replication.components.contract.parameters import Parameters
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.spark import job
from kafka_replication.spark.read import kubernetes, sessions
from kafka_replication.spark.read.sessions import SessionOptions, await_executors
from tests.spark.documents import a_document

CONF = {"spark.kubernetes.namespace": "mirror-orders"}


class Session:
    """A session with this many block managers; one of them is the driver's."""

    applicationId = "spark-1"  # noqa: N815  # Spark's name

    def __init__(self, members: int) -> None:
        self.sparkContext = self._jsc = self
        self.members = members

    def sc(self) -> "Session":
        return self

    def getExecutorMemoryStatus(self) -> "Session":  # noqa: N802  # Spark's name
        return self

    def size(self) -> int:
        return self.members


def missing(pods: list[Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """The error if Kubernetes has these pods and no executor has joined."""
    asked: list[tuple[str, str]] = []

    def answer(namespace: str, application: str) -> list[Any]:
        asked.append((namespace, application))
        return pods

    monkeypatch.setattr(sessions, "_pods", answer)
    with pytest.raises(CannotRunError) as error:
        await_executors(cast(SparkSession, Session(1)), CONF, 0)
    assert asked == [("mirror-orders", "spark-1")]
    assert (error.value.code, error.value.where) == ("executors-missing", "namespace mirror-orders")
    return error.value.what.removeprefix("Spark has no executor: ")


@pytest.fixture(autouse=True)
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Spark's log said about pods: nothing, unless the test adds lines."""
    lines: list[str] = []
    for module in (sessions, job):
        monkeypatch.setattr(module, "log_of_pods", lines)
    return lines


def test_one_executor_is_enough_to_begin() -> None:
    await_executors(cast(SparkSession, Session(2)), CONF, 0)


@pytest.mark.parametrize(
    ("conf", "waits"),
    [
        ({"enabled": "true"}, False),
        ({"enabled": "TRUE "}, False),
        ({"enabled": "false"}, True),
        ({"enabled": "true", "instances": "2"}, True),
        ({"instances": "2"}, True),
    ],
)
def test_the_job_does_not_wait_for_executors_that_spark_allocates_dynamically(
    conf: dict[str, str], waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_pods", lambda *_: [])
    names = {"enabled": "spark.dynamicAllocation.enabled", "instances": "spark.executor.instances"}
    settings = {**CONF, **{names[key]: value for key, value in conf.items()}}
    with pytest.raises(CannotRunError) if waits else nullcontext():
        await_executors(cast(SparkSession, Session(1)), settings, 0)


UNSCHEDULABLE = {
    "status": {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/3 nodes: Insufficient cpu",
            }
        ],
    }
}
WAITING = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
UNPULLED = {"status": {"phase": "Pending", "containerStatuses": [{"state": {"waiting": WAITING}}]}}


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        ([], "Kubernetes shows the job no executor pod, because there is none or the job could not list pods"),
        ([UNSCHEDULABLE, UNSCHEDULABLE], "Unschedulable 0/3 nodes: Insufficient cpu"),
        ([UNPULLED], "ImagePullBackOff Back-off pulling image"),
        (
            [UNSCHEDULABLE, UNPULLED],
            "Unschedulable 0/3 nodes: Insufficient cpu; ImagePullBackOff Back-off pulling image",
        ),
        ([{"status": {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}}], "a pod is Running"),
        ([{}], "a pod is Pending"),
    ],
)
def test_the_error_says_why_a_pod_does_not_run(pods: list[Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(pods, monkeypatch) == said


QUOTA, GIVEN_UP = 'pods "exec-1" is forbidden: exceeded quota: q', "Max number of executor failures (4) reached"


@pytest.mark.parametrize(
    ("pods", "shown"), [([], GIVEN_UP), ([UNPULLED], "ImagePullBackOff Back-off pulling image")], ids=["log", "pods"]
)
def test_if_there_are_no_pods_the_error_quotes_the_log_of_spark(
    pods: list[Any], shown: str, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubernetes does not list a pod that it refused to create."""
    said += [QUOTA, GIVEN_UP]
    assert missing(pods, monkeypatch) == shown


@pytest.mark.parametrize(
    ("master", "log", "shown"),
    [
        ("k8s://https://a", [GIVEN_UP], f"Spark has no executor: {GIVEN_UP}, at namespace mirror-orders. "),
        ("k8s://https://a", [QUOTA, QUOTA, GIVEN_UP], f"Spark has no executor: {QUOTA}; {GIVEN_UP}, at namespace "),
        ("k8s://https://a", [], "Spark's JVM ended or no longer answers (Py4JNetworkError), at Spark master k8s://"),
        ("local[*]", [GIVEN_UP], "Spark's JVM ended or no longer answers (Py4JNetworkError), at Spark master local"),
    ],
)
def test_a_lost_spark_is_blamed_on_missing_executors_if_its_log_mentions_pods(
    master: str, log: list[str], shown: str, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More memory for the driver would not help."""

    def dying(*_: object) -> None:
        raise Py4JNetworkError("answer is empty")

    said += log
    monkeypatch.setattr(job, "spark_jvm", dying)
    document = Parameters.model_validate(a_document())
    report = job.run(document, document.flows, job.Options(SessionOptions(master, conf=CONF)))
    assert report.error is not None
    assert report.error.code == ("executors-missing" if shown.startswith("Spark has") else "spark-lost")
    assert report.error.message.startswith(shown)


#: As Spark 4.2 writes it on the local stack.
LOG = """03:09:12 ERROR ExecutorPodsAllocator: Failed to create executor pod 1. Total failures: 1
io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at: https://a/api/v1/pods. \
Message: pods "exec-1" is forbidden: exceeded quota: q. Received status: Status(apiVersion=v1, code=403).
\tat io.fabric8.kubernetes.client.KubernetesClientException.copyAsCause(KubernetesClientException.java:205)
03:09:14 ERROR ExecutorPodsLifecycleManager: Max number of executor failures (4) reached
03:09:14 ERROR SparkContext: Error initializing SparkContext.
"""


def test_the_log_of_spark_says_why_a_pod_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "log_of_pods", [])
    read_end, write_end = os.pipe()
    os.write(write_end, LOG.encode())
    os.close(write_end)
    sessions._relay(read_end, [])
    assert sessions.log_of_pods == [
        'pods "exec-1" is forbidden: exceeded quota: q',
        "Max number of executor failures (4) reached",
    ]


def test_only_executor_pods_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In cluster mode the driver pod has the same application selector, and it runs."""
    asked: list[str] = []

    def listed(_self: client.CoreV1Api, _namespace: str, *, label_selector: str, **_: Any) -> client.V1PodList:
        asked.append(label_selector)
        return client.V1PodList(items=[])

    monkeypatch.setattr(kubernetes, "api_client", lambda _: client.ApiClient())
    monkeypatch.setattr(client.CoreV1Api, "list_namespaced_pod", listed)
    assert sessions._pods("mirror-orders", "spark-1") == []
    assert asked == ["spark-app-selector=spark-1,spark-role=executor"]
