"""Which properties connectors get for each login in each API version, key by key."""

from typing import Any

import pytest

from kafka_replication.components.render.connections import connection_properties
from kafka_replication.components.render.kafka_connectors import connector_config
from tests.components.render.logins import (
    AWS,
    CALLBACK,
    CUSTOM,
    IAM,
    OAUTH,
    PLAIN,
    SCRAM,
    oauth_jaas,
    password_login,
    with_login,
)

CONNECTION = {
    "bootstrap.servers": "kafka.us-east-1.example.com:9093",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.certificates": "${secret:mirror-orders/ca:ca.crt}",
}


def jaas(module: str) -> str:
    return f'{module} required username="m" password="${{secret:mirror-orders/login:password}}";'


SECRETLESS = {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": IAM}
CONNECTORS = [
    pytest.param(
        password_login("plain"),
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas(PLAIN)},
        id="PLAIN",
    ),
    pytest.param(
        password_login("scram-sha-256"),
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": jaas(SCRAM)},
        id="SCRAM with SHA-256",
    ),
    pytest.param(
        password_login("scram-sha-512"),
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas(SCRAM)},
        id="SCRAM with SHA-512",
    ),
    pytest.param(
        {"type": "tls", "secret": "login"},
        {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": "${secret:mirror-orders/login:user.crt}",
            "ssl.keystore.key": "${secret:mirror-orders/login:user.key}",
        },
        id="a client certificate",
    ),
    pytest.param(
        OAUTH,
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": oauth_jaas("secret", "source"),
            "sasl.login.callback.handler.class": CALLBACK,
        },
        id="tokens from an endpoint with mounted certificates",
    ),
    pytest.param(
        CUSTOM,
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas(PLAIN)},
        id="a custom login with a Secret in the replication's namespace",
    ),
    pytest.param({**AWS, "sasl": False}, {"security.protocol": "SSL", **SECRETLESS}, id="a custom login without SASL"),
    pytest.param(None, {"security.protocol": "SSL"}, id="no login"),
]


@pytest.mark.parametrize("strimzi", ["1.2", "0.48"])
@pytest.mark.parametrize(("login", "wanted"), CONNECTORS)
def test_connectors_get_the_same_login_properties_in_both_api_versions(
    login: dict[str, Any] | None, wanted: dict[str, str], strimzi: str
) -> None:
    assert connection_properties(with_login(login, strimzi), "source") == {**CONNECTION, **wanted}


STORES = {f"ssl.truststore.{key}" for key in ("location", "password", "type")}
FROM_FILE = [
    pytest.param(password_login("plain"), {"sasl.mechanism", "sasl.jaas.config"}, id="PLAIN"),
    pytest.param(password_login("scram-sha-512"), {"sasl.mechanism", "sasl.jaas.config"}, id="SCRAM"),
    pytest.param(
        {"type": "tls", "secret": "login"},
        {f"ssl.keystore.{key}" for key in ("location", "password", "type")},
        id="a client certificate",
    ),
    pytest.param(
        OAUTH, {"sasl.mechanism", "sasl.jaas.config", "sasl.login.callback.handler.class"}, id="tokens from an endpoint"
    ),
    pytest.param(None, set(), id="no login"),
]


@pytest.mark.parametrize(("login", "keys"), FROM_FILE)
def test_connectors_read_the_targets_connection_from_a_worker_file_that_holds_values(
    login: dict[str, Any] | None, keys: set[str]
) -> None:
    """If a key were missing in the file, the client would get the placeholder as its value."""
    config = connector_config(with_login(login, "0.45"), "source")
    properties = {
        key.removeprefix("target.cluster."): value
        for key, value in config.items()
        if key.startswith("target.cluster.") and key != "target.cluster.alias"
    }
    wanted = {"bootstrap.servers", "security.protocol", *STORES, *keys}
    assert properties == {key: f"${{file:/tmp/strimzi-connect.properties:{key}}}" for key in wanted}


@pytest.mark.parametrize(("strimzi", "by_file"), [("0.45", True), ("v1beta2", True), ("0.46", False), ("v1", False)])
def test_the_worker_file_is_used_only_in_versions_that_write_values_into_it(strimzi: str, by_file: bool) -> None:
    """From 0.46 on it holds placeholders, which a connector would get unresolved."""
    config = connector_config(with_login(password_login("plain"), strimzi), "checkpoint")
    assert ("file:" in str(config["target.cluster.sasl.jaas.config"])) is by_file


def test_heartbeats_use_the_sources_own_credentials_even_if_the_worker_file_holds_values() -> None:
    config = connector_config(with_login(password_login("plain"), "0.45"), "heartbeat")
    for prefix in ("target.cluster.", "producer.override."):
        assert config[f"{prefix}sasl.jaas.config"] == jaas(PLAIN)
