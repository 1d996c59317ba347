"""A cluster that never answers is distinguished from one that has stopped answering."""

import signal
import socket
from collections.abc import Iterator

import psutil
import pytest

from components.contract.parameters import ClusterParameters
from infra.local.endpoints import Endpoints
from infra.local.state import load_state
from spark.read import clusters
from spark.read.clusters import Cluster
from spark.read.credentials import ClientOptions, client_options, keystore_to_pem, resolver
from spark.read.kafka_errors import ClusterError, JavaError, translated
from spark.read.sessions import Spark
from tests.spark.scenes import cluster_document, passwords


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "TIMEOUT_SECONDS", 3)


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_cluster_that_never_answers_is_unreachable_and_the_remedy_is_to_check_its_address(
    started: Spark, silent: str
) -> None:
    with Cluster(started.jvm, ClientOptions("useast", silent, {})) as cluster, pytest.raises(ClusterError) as raised:
        cluster.topics()
    assert (raised.value.code, "check bootstrapServers" in raised.value.remedy) == ("unreachable", True)


@pytest.mark.parametrize(
    ("cause", "code", "words"),
    [
        pytest.param(
            "Timed out waiting for a node assignment.",
            "unreachable",
            "No broker of the cluster",
            id="no broker answered",
        ),
        pytest.param(
            "Timed out waiting to send the call.",
            "unreachable",
            "advertised.listeners",
            id="the advertised address does not answer",
        ),
        pytest.param(None, "brokers-busy", "answered before", id="a request that was sent"),
    ],
)
def test_the_cause_of_a_client_timeout_shows_how_far_the_request_got(
    started: Spark, cause: str | None, code: str, words: str
) -> None:
    """Uses the exceptions of Kafka's own client."""
    jvm = started.jvm
    assert jvm is not None
    errors = "org.apache.kafka.common.errors"
    disconnected, timed_out = (getattr(jvm, f"{errors}.{name}") for name in ("DisconnectException", "TimeoutException"))
    inner = timed_out(cause) if cause else disconnected("Cancelled listTopics request")
    raised = JavaError("timeout", timed_out("Call(callName=listTopics) timed out", inner))
    found = translated(raised, "cluster useast", "listing topics")
    assert (found.code, words in f"{found.why} {found.remedy}") == (code, True)


def test_brokers_that_stop_answering_are_reported_as_busy(
    started: Spark, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    given = ClusterParameters.model_validate(cluster_document(endpoints.regions["useast"]))
    broker = psutil.Process(load_state().parts["kafka-useast"].pid)
    with Cluster(started.jvm, client_options(given, resolver(), keystore_to_pem(started))) as cluster:
        cluster.topics()
        broker.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(ClusterError) as raised:
                cluster.topics()
        finally:
            broker.send_signal(signal.SIGCONT)
    assert raised.value.code == "brokers-busy"
    assert "address and login are right" in raised.value.why
