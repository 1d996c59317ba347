"""The connectors and the workers of a KafkaMirrorMaker2, in both versions of the API."""

from typing import Any

import pytest

from kafka_replication.infra.local.operator.mirror_maker2 import (
    InvalidResourceError,
    connect_resource,
    connector_resources,
    for_one_machine,
    key_of,
)
from kafka_replication.infra.local.operator.resources import UnsupportedLogin
from kafka_replication.infra.local.operator.worker_files import WorkerFiles
from kafka_replication.infra.local.operator.worker_properties import secrets_used, worker_properties
from tests.infra.operator.mirror_maker2_builders import (
    BARE,
    BYTES,
    PAIR,
    PASSWORD,
    TLS,
    V1BETA2,
    a_v1,
    a_v1beta2,
    secret,
    the_connector,
)


def test_a_connector_trusts_the_certificates_of_its_source_and_its_target() -> None:
    both = {"tls": TLS, "authentication": {"type": "scram-sha-512", **PASSWORD}}
    found = the_connector(a_v1(source=both, target=both)).config
    ends = {"source.cluster.": "useast", "target.cluster.": "uswest"}
    trusted = {key: found[f"{key}ssl.truststore.certificates"] for key in ends}
    assert trusted == {
        key: secret("orders-connect-tls-trusted-certs", f"{alias}-ca.crt") for key, alias in ends.items()
    }


@pytest.mark.parametrize("item", [a_v1, a_v1beta2])
def test_a_mirrors_patterns_replace_the_topics_and_groups_of_its_connectors(item: Any) -> None:
    mirror = {
        "topicsPattern": "orders.*",
        "topicsExcludePattern": "orders[.]tmp",
        "groupsPattern": "shop-.*",
        "groupsExcludePattern": "shop-test",
        "sourceConnector": {"config": {"topics": "other", "offset.lag.max": 0}},
        "checkpointConnector": {},
    }
    selection = {
        "topics": "orders.*",
        "topics.exclude": "orders[.]tmp",
        "groups": "shop-.*",
        "groups.exclude": "shop-test",
    }
    source, checkpoint = connector_resources(item(mirror=mirror))
    assert source.config == BARE | selection | {"offset.lag.max": 0}
    assert checkpoint.config == BARE | selection


def test_a_blacklist_pattern_of_v1beta2_counts_only_without_an_exclude_pattern() -> None:
    mirror = {
        "sourceConnector": {},
        "topicsBlacklistPattern": "old",
        "topicsExcludePattern": "new",
        "groupsBlacklistPattern": "old",
    }
    config = the_connector(a_v1beta2(mirror=mirror)).config
    assert (config["topics.exclude"], config["groups.exclude"]) == ("new", "old")


@pytest.mark.parametrize(("item", "wins"), [(a_v1, "the-connector"), (a_v1beta2, "uswest")])
def test_a_connectors_own_key_wins_in_v1_and_the_clusters_key_in_v1beta2(item: Any, wins: str) -> None:
    """Strimzi reversed the precedence between the two versions."""
    mirror = {"sourceConnector": {"config": {"target.cluster.alias": "the-connector"}}}
    assert the_connector(item(mirror=mirror)).config["target.cluster.alias"] == wins


def test_every_field_of_a_connector_is_carried_over() -> None:
    given = {
        "tasksMax": 4,
        "state": "stopped",
        "version": "4.2.0",
        "autoRestart": {"enabled": True, "maxRestarts": 7},
    }
    restarts = {"connectorName": "useast->uswest.MirrorCheckpointConnector", "count": 2}
    other = {**restarts, "connectorName": "elsewhere", "count": 9}
    found = the_connector(
        a_v1(mirror={"checkpointConnector": given}, status={"autoRestartStatuses": [other, restarts]})
    )
    assert found.name == "useast->uswest.MirrorCheckpointConnector"
    assert found.connector_class == "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
    assert (found.tasks_max, found.state, found.version) == (4, "stopped", "4.2.0")
    assert (found.auto_restart, found.max_restarts) == (True, 7)
    assert found.status == {"autoRestart": restarts}
    assert found.service_account == "orders-mirrormaker2"


def test_a_v1beta2_mirror_has_source_heartbeat_and_checkpoint_connectors() -> None:
    every: dict[str, Any] = {"sourceConnector": {}, "heartbeatConnector": {}, "checkpointConnector": {}}
    assert [each.name for each in connector_resources(a_v1beta2(mirror=every))] == [
        "useast->uswest.MirrorSourceConnector",
        "useast->uswest.MirrorHeartbeatConnector",
        "useast->uswest.MirrorCheckpointConnector",
    ]


def test_each_source_has_its_own_connectors() -> None:
    item = a_v1()
    item["spec"]["mirrors"].append(
        {"source": {"alias": "eu", "bootstrapServers": "kafka.eu:9093"}, "checkpointConnector": {}}
    )
    assert [each.name for each in connector_resources(item)] == [
        "useast->uswest.MirrorSourceConnector",
        "eu->uswest.MirrorCheckpointConnector",
    ]


@pytest.mark.parametrize(
    ("item", "file"),
    [
        (a_v1, "${strimzifile:/tmp/strimzi-connect.properties:consumer.client.rack}"),
        (a_v1beta2, "${file:/tmp/strimzi-connect.properties:consumer.client.rack}"),
    ],
)
def test_rack_and_tracing_properties_are_added_but_left_out_on_one_machine(item: Any, file: str) -> None:
    given = item(
        rack={"topologyKey": "zone"},
        tracing={"type": "opentelemetry"},
        metricsConfig={"type": "strimziMetricsReporter"},
        mirror={"sourceConnector": {"config": {"metric.reporters": "example.Reporter"}}},
    )
    tracing = "io.opentelemetry.instrumentation.kafkaclients.v2_6.Tracing"
    reporter = {
        "metric.reporters": "example.Reporter,io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter",
        "prometheus.metrics.reporter.listener.enable": "false",
    }
    assert the_connector(given).config == BARE | {
        "consumer.interceptor.classes": f"{tracing}ConsumerInterceptor",
        "producer.interceptor.classes": f"{tracing}ProducerInterceptor",
        "consumer.client.rack": file,
        **reporter,
    }
    assert the_connector(for_one_machine(given)).config == BARE | reporter


def test_v1_workers_use_the_target_cluster() -> None:
    authentication = {"type": "scram-sha-512", **PASSWORD}
    item = a_v1(target={"tls": TLS, "authentication": authentication, "config": {"offset.flush.interval.ms": 5}})
    connect = connect_resource(item)
    found = worker_properties(connect)
    assert found["bootstrap.servers"] == "kafka.uswest:9093"
    assert (found["group.id"], found["config.storage.topic"]) == ("mirror-orders", "mirror-orders-configs")
    assert (found["offset.storage.topic"], found["status.storage.topic"]) == (
        "mirror-orders-offsets",
        "mirror-orders-status",
    )
    assert {key: found[key] for key in found if key.endswith(".converter")} == {
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
    }
    assert found["ssl.truststore.certificates"] == secret("orders-connect-tls-trusted-certs", "ca.crt")
    assert found["sasl.mechanism"] == "SCRAM-SHA-512"
    assert found["offset.flush.interval.ms"] == "5"
    assert connect.key == key_of(item) == ("mirror", "orders-mirrormaker2")


def test_v1beta2_workers_use_the_cluster_that_connect_cluster_names() -> None:
    connect = connect_resource(a_v1beta2(target={"config": {"group.id": "mine", "key.converter": "example.Keys"}}))
    found = WorkerFiles(connect, {}, "store").properties()
    assert found["bootstrap.servers"] == "kafka.uswest:9093"
    assert {key: found[key] for key in found if key == "group.id" or key.endswith(".storage.topic")} == {
        "group.id": "mine",
        "config.storage.topic": "mirrormaker2-cluster-configs",
        "offset.storage.topic": "mirrormaker2-cluster-offsets",
        "status.storage.topic": "mirrormaker2-cluster-status",
    }
    assert {key: found[key] for key in found if key.endswith(".converter")} == {
        "key.converter": "example.Keys",
        "value.converter": BYTES,
        "header.converter": BYTES,
    }
    assert found["config.providers"] == "file"


def test_a_resource_written_in_v1_stays_v1_when_it_is_read_as_v1beta2() -> None:
    """The operator reads every object in one version; the fields show in which version it was written."""
    config = the_connector({**a_v1(source={"tls": TLS}), "apiVersion": V1BETA2}).config
    assert config["source.cluster.ssl.truststore.type"] == "PEM"


def test_the_role_names_the_secrets_of_every_cluster_and_nothing_else() -> None:
    other = {"type": "plain", "username": "x", "passwordSecret": {"secretName": "other", "password": "pw"}}
    item = a_v1(source={"authentication": other}, target={"authentication": {"type": "plain", **PASSWORD}})
    assert secrets_used(connect_resource(item)) == ["other", "user"]
    item = a_v1(source={"tls": TLS, "authentication": {"type": "tls", "certificateAndKey": PAIR}})
    assert secrets_used(connect_resource(item)) == ["orders-connect-tls-trusted-certs", "user"]


def test_an_unsupported_authentication_of_the_source_is_found() -> None:
    connect = connect_resource(a_v1(source={"authentication": {"type": "oauth"}}))
    assert [each.authentication for each in connect.clusters] == [None, UnsupportedLogin("oauth")]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"mirrors": None}, "spec.mirrors is missing", id="no-mirrors"),
        pytest.param({"clusters": None}, "spec.clusters is missing", id="no-clusters"),
        pytest.param({"connectCluster": "other"}, "connectCluster other is not among spec.clusters", id="connect"),
        pytest.param(
            {"mirror": {"sourceCluster": "eu"}}, "a mirror names eu, which is not among spec.clusters", id="source"
        ),
        pytest.param(
            {"connectCluster": "useast"},
            "connectCluster useast is not the target cluster uswest of a mirror",
            id="not-beside-the-target",
        ),
    ],
)
def test_a_v1beta2_resource_with_missing_or_unknown_aliases_is_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidResourceError, match=words):
        connector_resources(a_v1beta2(**spec))


def test_v1beta2_accepts_two_aliases_for_one_cluster() -> None:
    item = a_v1beta2(connectCluster="useast", source={"bootstrapServers": "kafka.uswest:9093"})
    assert the_connector(item).name == "useast->uswest.MirrorSourceConnector"
