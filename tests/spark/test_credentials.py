"""Credentials are read by reference, passed to clients inline, and never shown."""

import base64
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.components.contract.parameters import ClusterParameters, CredentialReference
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.spark.read.credentials import ClientOptions, Secret, client_options, resolver
from tests.spark.documents import a_cluster

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"
PASSWORD = 'hun"ter\\2'


def no_keystore(*_: object) -> str:
    raise AssertionError("no keystore was expected")


def options_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> ClientOptions:
    (tmp_path / "ca.crt").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    monkeypatch.setenv("VALIDATOR_PASSWORD", PASSWORD)
    trust = {"format": "PEM", "certificates": {"file": str(tmp_path / "ca.crt")}}
    cluster = ClusterParameters.model_validate(a_cluster(**{"trust": trust, **changes}))
    return client_options(cluster, resolver(), no_keystore)


def test_a_password_login_is_passed_as_client_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert options_of(tmp_path, monkeypatch).properties == {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": CERTIFICATE,
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="validator" password="hun\\"ter\\\\2";',
    }


@pytest.mark.parametrize(
    ("kind", "mechanism"), [("scram-sha-256", "SCRAM-SHA-256"), ("scram-sha-512", "SCRAM-SHA-512")]
)
def test_a_scram_login_names_its_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, mechanism: str
) -> None:
    login = {"type": kind, "username": "v", "password": {"env": "VALIDATOR_PASSWORD"}}
    properties = options_of(tmp_path, monkeypatch, authentication=login).properties
    assert properties["sasl.mechanism"] == mechanism
    assert "scram.ScramLoginModule required" in properties["sasl.jaas.config"]


def test_a_client_certificate_is_passed_as_client_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = {
        "type": "tls",
        "certificate": {"file": str(tmp_path / "ca.crt")},
        "key": {"file": str(tmp_path / "key.pem")},
    }
    assert options_of(tmp_path, monkeypatch, securityProtocol="SSL", authentication=login).properties == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": CERTIFICATE,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": CERTIFICATE,
        "ssl.keystore.key": KEY,
    }


def test_no_credential_is_in_a_repr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log lines and the variables in a traceback show reprs."""
    shown = repr(options_of(tmp_path, monkeypatch)) + repr(Secret(CredentialReference(env="X"), b"hun"))
    assert "hun" not in shown


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param({"env": "ABSENT_VARIABLE"}, "credential-missing: the variable is not set", id="a variable"),
        pytest.param({"file": "/nowhere/secret"}, "credential-missing: No such file", id="a file"),
    ],
)
def test_a_reference_that_cannot_be_resolved_is_reported_with_its_cause(
    reference: dict[str, str], message: str
) -> None:
    with pytest.raises(CannotRunError, match=message) as raised:
        resolver()(CredentialReference.model_validate(reference))
    assert str(next(iter(reference.values()))) in str(raised.value)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"hunter2", id="not PEM at all"),
        pytest.param(KEY.encode().replace(b"PRIVATE", b"RSA PRIVATE"), id="a PKCS#1 key"),
        pytest.param(b"\xff\xfehunter2", id="binary"),
    ],
)
def test_a_value_that_is_not_pem_is_refused_without_being_shown(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(content)
    trust = {"format": "PEM", "certificates": {"file": str(tmp_path / "ca.crt")}}
    cluster = ClusterParameters.model_validate(a_cluster(trust=trust))
    with pytest.raises(CannotRunError) as raised:
        client_options(cluster, resolver(), no_keystore)
    assert raised.value.code in {"credential-not-pem", "credential-not-text"}
    assert "hunter2" not in str(raised.value)
    assert base64.b64encode(content).decode() not in str(raised.value)


SECRET = CredentialReference.model_validate(
    {"secret": {"namespace": "mirror-orders", "name": "login", "key": "password"}}
)


def test_a_mounted_secret_is_read_from_its_file_and_not_from_kubernetes(tmp_path: Path) -> None:
    """In the cluster the job's account may not read any Secret."""
    (tmp_path / "mirror-orders" / "login").mkdir(parents=True)
    (tmp_path / "mirror-orders" / "login" / "password").write_text(f"{PASSWORD}\n")
    secret = resolver(tmp_path / "no-kubeconfig", tmp_path)(SECRET)
    assert (secret.text(), str(secret.reference)) == (PASSWORD, "secret mirror-orders/login key password")


def test_a_secret_that_is_not_mounted_is_reported_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError) as raised:
        resolver(None, tmp_path)(SECRET)
    assert raised.value.code == "credential-missing"
    assert raised.value.what == f"No such file or directory: {tmp_path}/mirror-orders/login/password"
    assert raised.value.where == "secret mirror-orders/login key password"
