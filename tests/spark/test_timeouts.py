"""A cluster that never answers is distinguished from one that has stopped answering."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.parameters import ClusterParameters
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.spark.read import flows
from kafka_replication.spark.read.credentials import ClientOptions, client_options, keystore_to_pem, resolver
from kafka_replication.spark.read.flows import FlowCluster
from kafka_replication.spark.read.sessions import Spark
from tests.local.flows import suspended
from tests.spark.scenes import cluster_document, passwords


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "TIMEOUT_SECONDS", 3)


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_cluster_that_never_answers_is_unreachable_and_the_remedy_is_to_check_its_address(
    silent: str,
) -> None:
    with (
        closing(FlowCluster(ClientOptions("useast", silent, {}, {"bootstrap.servers": silent}))) as cluster,
        pytest.raises(ClusterError) as raised,
    ):
        cluster.topics()
    assert (raised.value.code, "check bootstrapServers" in raised.value.remedy) == ("unreachable", True)


def test_brokers_that_stop_answering_are_reported_as_busy(
    started: Spark, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, password in passwords(endpoints).items():
        monkeypatch.setenv(name, password)
    given = ClusterParameters.model_validate(cluster_document(endpoints.regions["useast"]))
    with closing(FlowCluster(client_options(given, resolver(), keystore_to_pem(started)))) as cluster:
        cluster.topics()
        cluster.forget()
        with suspended("kafka-useast"), pytest.raises(ClusterError) as raised:
            cluster.topics()
    assert raised.value.code == "brokers-busy"
    assert "address and login are right" in raised.value.why
