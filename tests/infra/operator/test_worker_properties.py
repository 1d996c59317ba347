"""Worker properties, compared as a whole and in order with those that Strimzi's operator 1.2 writes."""

from pathlib import Path
from typing import Any

import pytest

from kafka_replication.infra.local.operator.worker_properties import (
    as_properties_file,
    dropped_keys,
    in_folder,
    on_one_machine,
    secrets_used,
    worker_properties,
)
from tests.infra.operator.builders import JSON, a_connect

HEAD = {
    "bootstrap.servers": "kafka.uswest:9093",
    "group.id": "mirror-orders",
    "config.storage.topic": "mirror-orders-configs",
    "offset.storage.topic": "mirror-orders-offsets",
    "status.storage.topic": "mirror-orders-status",
    "rest.advertised.host.name": "${strimzienv:ADVERTISED_HOSTNAME}",
    "rest.advertised.port": "8083",
    "plugin.path": "/opt/kafka/plugins",
}
PROVIDERS = {
    "config.providers": "strimzienv,strimzifile,strimzidir,strimzisecrets",
    "config.providers.strimzienv.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.strimzienv.param.allowlist.pattern": ".*",
    "config.providers.strimzifile.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.strimzidir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    "config.providers.strimzidir.param.allowed.paths": "/opt/kafka",
    "config.providers.strimzisecrets.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
}
CONVERTERS = {"key.converter": JSON, "value.converter": JSON}

TLS = {"trustedCertificates": [{"secretName": "uswest-ca", "certificate": "ca.crt"}]}
TRUST = {
    "ssl.truststore.certificates": "${strimzisecrets:mirror/orders-connect-tls-trusted-certs:ca.crt}",
    "ssl.truststore.type": "PEM",
}
PASSWORD = {"username": "mirror", "passwordSecret": {"secretName": "uswest", "password": "pw"}}


def for_every_client(**properties: str) -> dict[str, str]:
    dotted = {key.replace("_", "."): value for key, value in properties.items()}
    return {prefix + key: value for prefix in ("", "producer.", "consumer.", "admin.") for key, value in dotted.items()}


def jaas(module: str) -> str:
    password = "${strimzisecrets:mirror/uswest:pw}"
    return f'org.apache.kafka.common.security.{module} required username="mirror" password="{password}";'


def whole(middle: dict[str, str], protocol: str) -> list[tuple[str, str]]:
    tail = for_every_client(security_protocol=protocol)
    return list({**HEAD, **middle, **PROVIDERS, **CONVERTERS, **tail}.items())


@pytest.mark.parametrize(
    ("spec", "middle", "protocol"),
    [
        pytest.param({}, {}, "PLAINTEXT", id="nothing"),
        pytest.param({"tls": {"trustedCertificates": []}}, {}, "SSL", id="tls-with-the-jvms-trust"),
        pytest.param({"tls": TLS}, for_every_client(**TRUST), "SSL", id="tls"),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "scram-sha-512", **PASSWORD}},
            {
                **for_every_client(**TRUST),
                **for_every_client(sasl_mechanism="SCRAM-SHA-512", sasl_jaas_config=jaas("scram.ScramLoginModule")),
            },
            "SASL_SSL",
            id="scram-sha-512",
        ),
        pytest.param(
            {"authentication": {"type": "scram-sha-256", **PASSWORD}},
            for_every_client(sasl_mechanism="SCRAM-SHA-256", sasl_jaas_config=jaas("scram.ScramLoginModule")),
            "SASL_PLAINTEXT",
            id="scram-sha-256-without-tls",
        ),
        pytest.param(
            {"tls": TLS, "authentication": {"type": "plain", **PASSWORD}},
            {
                **for_every_client(**TRUST),
                **for_every_client(sasl_mechanism="PLAIN", sasl_jaas_config=jaas("plain.PlainLoginModule")),
            },
            "SASL_SSL",
            id="plain",
        ),
        pytest.param(
            {
                "tls": TLS,
                "authentication": {
                    "type": "tls",
                    "certificateAndKey": {"secretName": "client", "certificate": "tls.crt", "key": "tls.key"},
                },
            },
            {
                **for_every_client(**TRUST),
                **for_every_client(
                    ssl_keystore_certificate_chain="${strimzisecrets:mirror/client:tls.crt}",
                    ssl_keystore_key="${strimzisecrets:mirror/client:tls.key}",
                    ssl_keystore_type="PEM",
                ),
            },
            "SSL",
            id="mutual-tls",
        ),
        pytest.param(
            {
                "tls": TLS,
                "authentication": {
                    "type": "custom",
                    "sasl": True,
                    "config": {"sasl.mechanism": "OAUTHBEARER", "sasl.login.retry.backoff.ms": 100, "acks": "all"},
                },
            },
            {
                **for_every_client(**TRUST),
                **for_every_client(sasl_mechanism="OAUTHBEARER", sasl_login_retry_backoff_ms="100"),
            },
            "SASL_SSL",
            id="custom-with-sasl-and-a-key-that-is-dropped",
        ),
        pytest.param(
            {"authentication": {"type": "custom", "config": {"ssl.keystore.type": "JKS"}}},
            for_every_client(ssl_keystore_type="JKS"),
            "PLAINTEXT",
            id="custom-without-sasl",
        ),
    ],
)
def test_each_authentication_gives_the_same_properties_as_strimzis_operator(
    spec: dict[str, Any], middle: dict[str, str], protocol: str
) -> None:
    assert list(worker_properties(a_connect(**spec)).items()) == whole(middle, protocol)


def test_the_users_providers_come_before_the_operators() -> None:
    config = {"config.providers": "secret,cfmap", "config.providers.secret.class": "example.Secrets"}
    expected = {**HEAD, **PROVIDERS, **CONVERTERS, "config.providers.secret.class": "example.Secrets"}
    expected["config.providers"] = "secret,cfmap,strimzienv,strimzifile,strimzidir,strimzisecrets"
    assert worker_properties(a_connect(config=config)) == expected | for_every_client(security_protocol="PLAINTEXT")


def test_the_users_converters_replace_json() -> None:
    found = worker_properties(a_connect(config={"value.converter": "example.Bytes", "exactly.once": True, "n": -1}))
    assert found["value.converter"] == "example.Bytes"
    assert found["key.converter"] == JSON
    assert (found["exactly.once"], found["n"]) == ("true", "-1")


@pytest.mark.parametrize(
    "key",
    [
        "group.id",
        "config.storage.topic",
        "offset.storage.topic",
        "status.storage.topic",
        "ssl.truststore.location",
        "sasl.jaas.config",
        "security.protocol",
        "listeners",
        "plugin.path",
        "rest.port",
        "bootstrap.servers",
        "consumer.interceptor.classes",
        "producer.interceptor.classes",
        "prometheus.metrics.reporter.listener",
    ],
)
def test_a_key_that_the_operator_owns_is_dropped_and_named(key: str) -> None:
    connect = a_connect(config={key: "mine", "topic.creation.enable": "true"})
    assert dropped_keys(connect) == [key]
    assert worker_properties(connect).get(key) != "mine"
    assert worker_properties(connect)["topic.creation.enable"] == "true"


@pytest.mark.parametrize(
    "key",
    ["ssl.endpoint.identification.algorithm", "ssl.cipher.suites", "ssl.protocol", "ssl.enabled.protocols"],
)
def test_users_may_set_four_tls_keys(key: str) -> None:
    connect = a_connect(config={key: "mine"})
    assert dropped_keys(connect) == []
    assert worker_properties(connect)[key] == "mine"


def test_the_role_names_only_the_secrets_that_the_worker_reads() -> None:
    scram = {"type": "scram-sha-512", **PASSWORD}
    assert secrets_used(a_connect()) == []
    assert secrets_used(a_connect(tls=TLS, authentication=scram)) == ["orders-connect-tls-trusted-certs", "uswest"]


def test_only_these_properties_differ_on_one_machine() -> None:
    ordinary = worker_properties(a_connect(tls=TLS))
    local = on_one_machine(ordinary, 20001, Path("/state/plugins"), Path("/state/pod"))
    assert {key: value for key, value in local.items() if ordinary.get(key) != value} == {
        "listeners": "http://127.0.0.1:20001",
        "rest.advertised.port": "20001",
        "plugin.path": "/state/plugins",
        "plugin.discovery": "service_load",
        "config.providers.strimzidir.param.allowed.paths": "/state/plugins",
    }
    assert ordinary.keys() <= local.keys()


@pytest.mark.parametrize(
    ("text", "local"),
    [
        pytest.param(
            "${file:/tmp/strimzi-connect.properties:k}", "${file:/state/strimzi-connect.properties:k}", id="own"
        ),
        pytest.param("/tmp/kafka/cluster.truststore.p12", "/state/kafka/cluster.truststore.p12", id="store"),
        pytest.param("${file:/tmp/mine.properties:k}", "${file:/tmp/mine.properties:k}", id="a-file-of-the-user"),
        pytest.param("/opt/tmp/kafkas", "/opt/tmp/kafkas", id="another-path"),
    ],
)
def test_paths_of_the_pods_files_point_to_the_workers_folder(text: str, local: str) -> None:
    assert in_folder(text, Path("/state")) == local


def test_a_provider_that_may_read_the_pods_files_may_read_the_workers_folder() -> None:
    key = "config.providers.file.param.allowed.paths"
    local = on_one_machine({key: "/tmp,/opt"}, 20001, Path("/plugins"), Path("/state"))
    assert local[key] == "/tmp,/opt,/state"


def test_the_properties_file_escapes_what_java_would_misread() -> None:
    written = as_properties_file({"a b:c=d": " x\\y\nz", "plain": "k=v:w"})
    assert written == "a\\ b\\:c\\=d=\\ x\\\\y\\nz\nplain=k=v:w\n"
