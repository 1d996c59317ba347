"""Faults in Secrets are reported, and a changed Secret is noticed."""

import base64
from typing import Any

import pytest

from kafka_replication.infra.local.certificates import Authority
from kafka_replication.infra.local.operator.worker_files import (
    InvalidSecretError,
    check_credentials,
    contents_digest,
    secret_names,
    trusted_certificates,
)
from tests.infra.operator.builders import a_connect

SCRAM = {"type": "scram-sha-512", "username": "m", "passwordSecret": {"secretName": "user", "password": "pw"}}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    patch = pytest.MonkeyPatch()
    patch.setenv("REPLICATE_LOCAL", str(tmp_path_factory.mktemp("local")))
    authority = Authority("test")
    authority.issue("server")
    text = authority.certificate.read_text()
    patch.undo()
    return text


def trusting(*sources: dict[str, str]) -> Any:
    return a_connect(tls={"trustedCertificates": [*sources]}, authentication=SCRAM)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_every_secret_that_the_resource_names_is_listed() -> None:
    connect = trusting({"secretName": "b", "certificate": "x"}, {"secretName": "a", "pattern": "*.crt"})
    assert secret_names(connect) == ["a", "b", "user"]


def test_certificates_of_a_pattern_are_joined_in_the_order_of_their_keys(certificate: str) -> None:
    data = {"ca": {"b.crt": encoded(certificate), "a.crt": encoded(certificate), "a.key": encoded("no")}}
    joined = trusted_certificates(trusting({"secretName": "ca", "pattern": "*.crt"}), data)
    assert joined == {"ca.crt": "\n".join([certificate.strip()] * 2)}


def test_only_the_first_certificate_of_a_key_is_used(certificate: str) -> None:
    """Strimzi 1.2 does the same, so a rotation of a CA is refused here as it is there."""
    data = {"ca": {"all.pem": encoded(certificate + certificate)}}
    joined = trusted_certificates(trusting({"secretName": "ca", "certificate": "all.pem"}), data)
    assert joined == {"ca.crt": certificate.strip()}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param({}, "Secret ca not found in namespace mirror", id="no-secret"),
        pytest.param({"ca": {"other": ""}}, r"Items with key\(s\) \[ca.crt\] are missing in Secret ca", id="no-key"),
        pytest.param({"ca": {"ca.crt": encoded("x")}}, "Secret mirror/ca:ca.crt is not a PEM certificate", id="no-pem"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_named(data: Any, words: str) -> None:
    with pytest.raises(InvalidSecretError, match=words):
        trusted_certificates(trusting({"secretName": "ca", "certificate": "ca.crt"}), data)


def test_a_missing_password_is_named() -> None:
    with pytest.raises(InvalidSecretError, match=r"Items with key\(s\) \[pw\] are missing in Secret user"):
        check_credentials(a_connect(authentication=SCRAM), {"user": {"password": encoded("p")}})


def test_changed_data_changes_the_digest() -> None:
    """The digest decides whether workers are rolled: a rotated password must not go unnoticed."""
    assert contents_digest({"user": {"pw": "a"}}) == contents_digest({"user": {"pw": "a"}})
    assert contents_digest({"user": {"pw": "a"}}) != contents_digest({"user": {"pw": "b"}})
