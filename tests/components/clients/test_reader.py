"""A Kafka cluster that does not answer is reported within the deadline, and the report shows no credential."""

import socket
import ssl
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.kafka.positions import TopicPartition
from tests.components.clients.brokers import Cluster

#: A request that no broker answers takes this long: shorter than the reader's own, longer than a busy machine needs.
ASKED_SECONDS = 2.0
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
        login: ClientConfig = {**LOGIN, "bootstrap.servers": address, "sasl.password": "not-to-be-shown"}
        reader = KafkaReader("useast", login, ASKED_SECONDS)
        began = time.monotonic()
        errors = []
        for ask in (reader.topics, reader.groups, lambda: reader.records("orders")):
            with pytest.raises(NoAnswerError) as caught:
                ask()
            errors.append(str(caught.value))
    assert time.monotonic() - began < 2 * ASKED_SECONDS, "a cluster that is down is asked for its topics once"
    assert set(errors) == {errors[0]}
    assert errors[0].startswith("Kafka cluster useast does not answer: ")
    assert "not-to-be-shown" not in errors[0]


def test_a_topic_with_many_records_is_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keeper of a million positions could not start again, and a failover could not use them."""
    cluster = Cluster()
    cluster.hold("orders", [(number, "") for number in range(3)])
    reader = KafkaReader("useast", cluster.config)
    monkeypatch.setattr(f"{KafkaReader.__module__}.READ_SECONDS", 0.0)
    monkeypatch.setattr(f"{KafkaReader.__module__}.SLOWEST_PER_SECOND", 0.01)
    assert [record.offset for record in reader.records("orders")] == [0, 1, 2]


def test_a_refused_login_is_not_reported_as_a_silent_broker() -> None:
    cluster = Cluster()
    reader = KafkaReader("useast", {**cluster.config, **LOGIN, "sasl.password": "not-the-one"}, ASKED_SECONDS)
    with pytest.raises(NoAnswerError, match="Kafka cluster useast refuses the login: ") as caught:
        reader.topics()
    assert caught.value.refused
    assert "not-the-one" not in str(caught.value)


def a_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """The files of a self-signed certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]), datetime.now(UTC)
    loopback = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(loopback, critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / f"{name}.crt", folder / f"{name}.key"
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return files


def refuse_certificates(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            context.wrap_socket(connection, server_side=True)


def test_a_certificate_refused_after_the_handshake_is_reported_as_a_refused_login(tmp_path: Path) -> None:
    """TLS 1.3 refuses an expired one like this: librdkafka calls it a transport error, as if the broker were down."""
    server, client = a_certificate(tmp_path, "server"), a_certificate(tmp_path, "client")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*server)
    context.load_verify_locations(server[0])
    context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=refuse_certificates, args=(listener, context))
        answering.start()
        login: ClientConfig = {
            "bootstrap.servers": f"127.0.0.1:{listener.getsockname()[1]}",
            "security.protocol": "SSL",
            "ssl.ca.location": str(server[0]),
            "ssl.certificate.location": str(client[0]),
            "ssl.key.location": str(client[1]),
            "log_level": 2,
        }
        try:
            with pytest.raises(NoAnswerError, match=r"Kafka cluster useast refuses the login: .*alert") as caught:
                KafkaReader("useast", login, ASKED_SECONDS).topics()
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            answering.join()
    assert caught.value.refused


def test_a_configuration_that_the_kafka_client_rejects_is_reported() -> None:
    with pytest.raises(NoAnswerError, match="Kafka cluster useast: the client's configuration is not accepted"):
        KafkaReader("useast", {"bootstrap.servers": "127.0.0.1:1", "ssl.ca.pem": "no", "security.protocol": "SSL"})


class MovedCoordinator(AdminClient):
    """A client of a cluster on which the groups have just moved: the first one that is made still asks the old broker,
    where a question for committed offsets would end the process.
    """

    made = 0

    def __init__(self, config: ClientConfig) -> None:
        super().__init__(config)
        MovedCoordinator.made += 1
        self.knows = MovedCoordinator.made > 1

    def describe_consumer_groups(self, group_ids: list[str], **_: object) -> dict[str, Future[object]]:  # type: ignore[override]
        return {group: self.answer(SimpleNamespace(members=["app-1"])) for group in group_ids}

    def list_consumer_group_offsets(  # type: ignore[override]
        self, list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **_: object
    ) -> dict[str, Future[object]]:
        assert self.knows, "librdkafka would end the process"
        return {
            each.group_id: self.answer(SimpleNamespace(topic_partitions=[Place("orders", 0, 7)]))
            for each in list_consumer_group_offsets_request
        }

    def answer(self, value: object) -> Future[object]:
        future: Future[object] = Future()
        if self.knows:
            future.set_result(value)
        else:
            future.set_exception(KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)))
        return future


def test_groups_that_have_moved_to_another_broker_are_asked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_replication.components.clients.admin.AdminClient", MovedCoordinator)
    for question, answer in (
        (KafkaReader.committed, {"app": {TopicPartition("orders", 0): 7}}),
        (KafkaReader.members, {"app": 1}),
    ):
        monkeypatch.setattr(MovedCoordinator, "made", 0)
        assert question(KafkaReader("useast", Cluster().config), ["app"]) == answer
        assert MovedCoordinator.made == 2
