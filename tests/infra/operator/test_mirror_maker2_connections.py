"""How the connectors of a KafkaMirrorMaker2 reach a cluster: every authentication, in both versions of the API."""

from typing import Any

import pytest

from tests.infra.operator.mirror_maker2_builders import (
    BARE,
    PAIR,
    PASSWORD,
    PLAIN,
    SCRAM,
    TLS,
    a_v1,
    a_v1beta2,
    in_file,
    sasl,
    secret,
    the_connector,
)

V1_TRUST = {
    "ssl.truststore.certificates": secret("orders-connect-tls-trusted-certs", "useast-ca.crt"),
    "ssl.truststore.type": "PEM",
}
V1BETA2_TRUST = {
    "ssl.truststore.type": "PKCS12",
    "ssl.truststore.location": "/tmp/kafka/clusters/useast.truststore.p12",
    "ssl.truststore.password": in_file("ssl.truststore.password"),
}
CUSTOM = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://sso/token"}


@pytest.mark.parametrize(
    ("source", "added"),
    [
        pytest.param({}, {"security.protocol": "PLAINTEXT"}, id="nothing"),
        pytest.param({"tls": {"trustedCertificates": []}}, {"security.protocol": "SSL"}, id="tls-with-the-jvms-trust"),
        pytest.param({"tls": TLS}, {**V1_TRUST, "security.protocol": "SSL"}, id="tls"),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "tls", "certificateAndKey": PAIR}},
            {
                **V1_TRUST,
                "ssl.keystore.certificate.chain": secret("user", "user.crt"),
                "ssl.keystore.key": secret("user", "user.key"),
                "ssl.keystore.type": "PEM",
                "security.protocol": "SSL",
            },
            id="mutual-tls",
        ),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "scram-sha-512", **PASSWORD}},
            {**V1_TRUST, **sasl(SCRAM, "SCRAM-SHA-512", secret("user", "pw")), "security.protocol": "SASL_SSL"},
            id="scram-sha-512",
        ),
        pytest.param(
            {"authentication": {"type": "scram-sha-256", **PASSWORD}},
            {**sasl(SCRAM, "SCRAM-SHA-256", secret("user", "pw")), "security.protocol": "SASL_PLAINTEXT"},
            id="scram-sha-256-without-tls",
        ),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "plain", **PASSWORD}},
            {**V1_TRUST, **sasl(PLAIN, "PLAIN", secret("user", "pw")), "security.protocol": "SASL_SSL"},
            id="plain",
        ),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "custom", "sasl": True, "config": {**CUSTOM, "acks": "all"}}},
            {**V1_TRUST, **CUSTOM, "security.protocol": "SASL_SSL"},
            id="custom-with-sasl-and-a-key-that-is-dropped",
        ),
        pytest.param(
            {"authentication": {"type": "custom", "config": {"ssl.keystore.type": "PEM"}}},
            {"ssl.keystore.type": "PEM", "security.protocol": "PLAINTEXT"},
            id="custom-without-sasl",
        ),
        pytest.param(
            {"config": {"consumer.fetch.max.bytes": 5, "security.protocol": "SSL"}},
            {"security.protocol": "SSL", "consumer.fetch.max.bytes": 5},
            id="the-clusters-config-is-taken-unchecked",
        ),
    ],
)
def test_v1_connectors_get_client_properties_for_each_authentication(
    source: dict[str, Any], added: dict[str, Any]
) -> None:
    expected = BARE | {f"source.cluster.{key}": value for key, value in added.items()}
    assert the_connector(a_v1(source=source)).config == expected


@pytest.mark.parametrize(
    ("source", "added"),
    [
        pytest.param({}, {"security.protocol": "PLAINTEXT"}, id="nothing"),
        pytest.param({"tls": TLS}, {**V1BETA2_TRUST, "security.protocol": "SSL"}, id="tls"),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "tls", "certificateAndKey": PAIR}},
            {
                **V1BETA2_TRUST,
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": "/tmp/kafka/clusters/useast.keystore.p12",
                "ssl.keystore.password": in_file("ssl.keystore.password"),
                "security.protocol": "SSL",
            },
            id="mutual-tls",
        ),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "scram-sha-512", **PASSWORD}},
            {
                **V1BETA2_TRUST,
                **sasl(SCRAM, "SCRAM-SHA-512", in_file("useast.sasl.password")),
                "security.protocol": "SASL_SSL",
            },
            id="scram-sha-512",
        ),
        pytest.param(
            {"authentication": {"type": "plain", **PASSWORD}},
            {**sasl(PLAIN, "PLAIN", in_file("useast.sasl.password")), "security.protocol": "SASL_PLAINTEXT"},
            id="plain-without-tls",
        ),
    ],
)
def test_v1beta2_connectors_get_client_properties_for_each_authentication(
    source: dict[str, Any], added: dict[str, Any]
) -> None:
    expected = BARE | {f"source.cluster.{key}": value for key, value in added.items()}
    assert the_connector(a_v1beta2(source=source)).config == expected
