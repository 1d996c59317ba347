"""The workers' own files, compared as a whole with what Strimzi's scripts write."""

import base64
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from kafka_replication.infra.local.certificates import Authority, KeyPair
from kafka_replication.infra.local.operator import mirror_maker2
from kafka_replication.infra.local.operator.connector_reconciler import connector_config, connector_on_one_machine
from kafka_replication.infra.local.operator.worker_files import InvalidSecretError, WorkerFiles
from kafka_replication.infra.local.operator.worker_properties import as_properties_file, worker_properties
from tests.infra.operator.builders import JSON, a_connect, a_connector, a_v1beta2_connect

CONNECT_FILE = "/tmp/strimzi-connect.properties"
TRUSTSTORE, KEYSTORE = "/tmp/kafka/cluster.truststore.p12", "/tmp/kafka/cluster.keystore.p12"
TLS = {"trustedCertificates": [{"secretName": "ca", "certificate": "ca.crt"}]}
SCRAM = {
    "type": "scram-sha-512",
    "username": "mirror",
    "passwordSecret": {"secretName": "user", "password": "pw"},
}
MUTUAL = {"type": "tls", "certificateAndKey": {"secretName": "user", "certificate": "tls.crt", "key": "tls.key"}}
LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="mirror" password="hunter2";'


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyPair:
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    return Authority("test").issue("mirror")


@pytest.fixture
def secrets(pair: KeyPair) -> dict[str, dict[str, str]]:
    """The Secrets that the resources here name."""
    return {
        "ca": {"ca.crt": encoded(Authority("test").certificate.read_text())},
        "user": {
            "pw": encoded("hunter2"),
            "tls.crt": encoded(pair.certificate.read_text()),
            "tls.key": encoded(pair.key.read_text()),
        },
    }


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def for_every_client(properties: dict[str, str]) -> dict[str, str]:
    return {
        prefix + key: value for prefix in ("", "producer.", "consumer.", "admin.") for key, value in properties.items()
    }


def store(kind: str, path: str) -> dict[str, str]:
    place = for_every_client({f"ssl.{kind}.location": path, f"ssl.{kind}.password": "store"})
    return {**place, f"ssl.{kind}.type": "PKCS12"}


@pytest.mark.parametrize(
    ("spec", "protocol", "security"),
    [
        pytest.param({}, "PLAINTEXT", {}, id="nothing"),
        pytest.param({"tls": TLS}, "SSL", store("truststore", TRUSTSTORE), id="tls"),
        pytest.param({"tls": {"trustedCertificates": []}}, "SSL", {}, id="tls-with-the-jvms-trust"),
        pytest.param(
            {"tls": TLS, "authentication": SCRAM},
            "SASL_SSL",
            {
                **store("truststore", TRUSTSTORE),
                **for_every_client({"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": LOGIN}),
            },
            id="password",
        ),
        pytest.param(
            {"tls": TLS, "authentication": MUTUAL},
            "SSL",
            {**store("truststore", TRUSTSTORE), **store("keystore", KEYSTORE)},
            id="certificate",
        ),
    ],
)
def test_properties_of_v1beta2_workers_hold_values_instead_of_placeholders(
    secrets: Any, spec: dict[str, Any], protocol: str, security: dict[str, str]
) -> None:
    connect = a_v1beta2_connect(config={"group.id": "g", "ssl.protocol": "TLSv1.3", "ssl.keystore.key": "x"}, **spec)
    assert WorkerFiles(connect, secrets, "store").properties() == {
        "bootstrap.servers": "kafka.uswest:9093",
        "rest.advertised.host.name": "127.0.0.1",
        "rest.advertised.port": "8083",
        "plugin.path": "/opt/kafka/plugins",
        "group.id": "g",
        "config.storage.topic": "connect-cluster-configs",
        "offset.storage.topic": "connect-cluster-offsets",
        "status.storage.topic": "connect-cluster-status",
        "key.converter": JSON,
        "value.converter": JSON,
        "ssl.protocol": "TLSv1.3",
        **for_every_client({"security.protocol": protocol}),
        **security,
        "consumer.client.rack": "",
    }


def test_the_stores_hold_the_certificates_and_the_key_of_the_secrets(secrets: Any) -> None:
    files = WorkerFiles(a_v1beta2_connect(tls=TLS, authentication=MUTUAL), secrets, "store").files()
    assert files.keys() == {CONNECT_FILE, TRUSTSTORE, KEYSTORE}
    _, _, trusted = pkcs12.load_key_and_certificates(files[TRUSTSTORE], b"store")
    assert [each.subject.rfc4514_string() for each in trusted] == ["CN=replicate local test"]
    key, certificate, _ = pkcs12.load_key_and_certificates(files[KEYSTORE], b"store")
    assert key is not None
    assert certificate is not None
    assert certificate.public_key() == key.public_key()


def test_the_file_of_v1_workers_holds_placeholders_only(secrets: Any) -> None:
    connect = a_connect(tls=TLS, authentication=SCRAM)
    files = WorkerFiles(connect, secrets, "store").files()
    assert files == {CONNECT_FILE: as_properties_file(worker_properties(connect)).encode()}
    assert b"hunter2" not in files[CONNECT_FILE]


def test_connectors_of_a_v1beta2_mirror_maker_have_their_own_properties_file(secrets: Any) -> None:
    east = {"alias": "east", "bootstrapServers": "e:1", "tls": TLS, "authentication": SCRAM}
    west = {"alias": "west", "bootstrapServers": "w:1", "tls": TLS, "authentication": MUTUAL}
    item = {
        "apiVersion": "kafka.strimzi.io/v1beta2",
        "metadata": {"name": "m", "namespace": "mirror", "uid": "u", "generation": 1},
        "spec": {"connectCluster": "west", "clusters": [east, west], "mirrors": []},
    }
    files = WorkerFiles(mirror_maker2.connect_resource(item), secrets, "store").files()
    stores = "/tmp/kafka/clusters"
    assert files.keys() == {
        *(CONNECT_FILE, TRUSTSTORE, KEYSTORE, "/tmp/strimzi-mirrormaker2-connector.properties"),
        *(f"{stores}/east.truststore.p12", f"{stores}/west.truststore.p12", f"{stores}/west.keystore.p12"),
    }
    written = files["/tmp/strimzi-mirrormaker2-connector.properties"].decode().splitlines()
    assert written == ["ssl.truststore.password=store", "east.sasl.password=hunter2", "ssl.keystore.password=store"]


def test_an_unusable_key_is_reported_without_its_content(secrets: Any) -> None:
    secrets["user"]["tls.key"] = encoded("-----BEGIN hunter2-----")
    with pytest.raises(InvalidSecretError, match="mirror/user is not a PEM certificate and an unencrypted") as raised:
        WorkerFiles(a_v1beta2_connect(authentication=MUTUAL), secrets, "store").files()
    assert "hunter2" not in str(raised.value)


def test_the_repr_of_the_worker_files_shows_no_secret(secrets: Any) -> None:
    printed = repr(WorkerFiles(a_v1beta2_connect(), secrets, "made-up"))
    assert not [each for each in ("made-up", encoded("hunter2")) if each in printed]


def test_file_placeholders_of_a_connector_point_to_the_local_folder() -> None:
    connector = a_connector(config={"password": f"${{file:{CONNECT_FILE}:k}}", "topics": "orders", "n": 1})
    local = connector_on_one_machine(connector, Path("/state/pod"), ["user"])
    assert connector_config(local) == {
        **connector_config(connector),
        "password": "${file:/state/pod/strimzi-connect.properties:k}",
    }
    assert local.file_secrets == ("user",)
