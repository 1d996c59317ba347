"""Certificates of the stack: a region does not trust the other region's users, and nobody else can read a key."""

import ssl
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from kafka_replication.infra.local.certificates import Authority


def handshake(trusted: Authority, issuer: Authority) -> None:
    """TLS on memory buffers: a client that trusts one authority and a server certified by another."""
    pair = issuer.issue("broker")
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(pair.certificate, pair.key)
    trusted.ensure()
    client_context = ssl.create_default_context(cafile=trusted.certificate)
    # The newest versions of Python and OpenSSL check this by default: the chain must be formally correct too.
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    done = threading.Event()
    for side in (client, server, client, server, client):
        try:
            side.do_handshake()
            done.set()
        except ssl.SSLWantReadError:
            done.clear()
    assert done.is_set()


def test_a_client_that_trusts_the_authority_accepts_its_server_by_address() -> None:
    handshake(Authority("useast"), Authority("useast"))


def test_a_client_that_trusts_another_authority_refuses_the_server() -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(Authority("uswest"), Authority("useast"))


def test_a_key_is_private_and_in_the_form_that_kafka_reads() -> None:
    authority = Authority("useast")
    pair = authority.issue("mirror")
    for key in (pair.key, authority.pair("ca").key, authority.keystore("broker")):
        assert key.stat().st_mode & 0o777 == 0o600
        assert key.read_text().startswith("-----BEGIN PRIVATE KEY-----")
    serialization.load_pem_private_key(pair.key.read_bytes(), password=None)


def test_the_keystore_holds_key_certificate_and_authority_in_this_order() -> None:
    authority = Authority("useast")
    text = authority.keystore("broker").read_text()
    pair = authority.issue("broker")
    assert text == pair.key.read_text() + pair.certificate.read_text() + authority.certificate.read_text()


def test_an_issued_certificate_stays_the_same_at_the_next_start() -> None:
    first = Authority("useast").issue("broker").certificate.read_bytes()
    assert Authority("useast").issue("broker").certificate.read_bytes() == first


def test_the_common_name_is_the_kafka_user() -> None:
    certificate = x509.load_pem_x509_certificate(Authority("useast").issue("mirror").certificate.read_bytes())
    assert certificate.subject.rfc4514_string() == "CN=mirror"
