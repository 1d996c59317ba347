"""A Kafka cluster that cannot be asked is a reason within the deadline, and the reason names no credential."""

import socket
import time

import pytest

from infra.kafka_login import ClientConfig
from infra.operations.facts import UnaskedError
from infra.operations.kafka_reader import REQUEST_SECONDS, KafkaReader
from tests.infra.operations.brokers import Cluster

LOGIN: ClientConfig = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "v",
    "log_level": 2,
}


@pytest.mark.parametrize("listens", [False, True], ids=["refuses connections", "accepts and is silent"])
def test_a_cluster_that_does_not_answer_is_asked_once(listens: bool) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if listens:
            server.listen()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        reader = KafkaReader("useast", {**LOGIN, "bootstrap.servers": address, "sasl.password": "not-to-be-shown"})
        began = time.monotonic()
        told = []
        for ask in (reader.topics, reader.groups, lambda: reader.records("orders")):
            with pytest.raises(UnaskedError) as caught:
                ask()
            told.append(str(caught.value))
    assert time.monotonic() - began < 2 * REQUEST_SECONDS, "a cluster that is down is asked for its topics once"
    assert set(told) == {told[0]}
    assert told[0].startswith("Kafka cluster useast does not answer: ")
    assert "not-to-be-shown" not in told[0]


def test_a_login_that_a_broker_refuses_is_not_a_broker_that_is_silent() -> None:
    cluster = Cluster()
    reader = KafkaReader("useast", {**cluster.config, **LOGIN, "sasl.password": "not-the-one"})
    with pytest.raises(UnaskedError, match="Kafka cluster useast refuses the login: ") as caught:
        reader.topics()
    assert caught.value.refused
    assert "not-the-one" not in str(caught.value)


def test_a_configuration_that_the_client_refuses_is_a_reason() -> None:
    with pytest.raises(UnaskedError, match="Kafka cluster useast: the client's configuration is not accepted"):
        KafkaReader("useast", {"bootstrap.servers": "127.0.0.1:1", "ssl.ca.pem": "no", "security.protocol": "SSL"})
