"""The connectors of a flow, compared as a whole: the common part, and what each login or policy changes."""

from typing import Any

import pytest

from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.render.kafka_connectors import connector_config, connector_objects
from tests.builders import a_cluster, a_resolved_flow

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
CONVERTERS = {"key.converter": BYTES, "value.converter": BYTES, "header.converter": BYTES}


def with_readable_names(flow: ResolvedFlow, role: ConnectorRole) -> dict[str, Any]:
    """A connector's configuration without the content digests in ConfigMap names."""
    return {key: _readable(value) for key, value in connector_config(flow, role).items()}


def _readable(value: Any) -> Any:
    if not isinstance(value, str) or "${cfmap:" not in value:
        return value
    reference, key = value.removeprefix("${cfmap:").removesuffix("}").split(":")
    return f"{reference.split('/')[1].rsplit('-', 1)[0]}:{key}"


def connection(side: str, prefix: str, secret: str) -> dict[str, str]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        f"{prefix}bootstrap.servers": f"orders-{side}:bootstrap.servers",
        f"{prefix}security.protocol": f"orders-{side}:security.protocol",
        f"{prefix}sasl.mechanism": f"orders-{side}:sasl.mechanism",
        f"{prefix}ssl.truststore.type": f"orders-{side}:ssl.truststore.type",
        f"{prefix}sasl.jaas.config": (
            f'{module} required username="mirror" password="${{secret:mirror-orders/{secret}:password}}";'
        ),
        f"{prefix}ssl.truststore.certificates": "${secret:mirror-orders/ca:ca.crt}",
    }


ALIASES = {"source.cluster.alias": "orders-source:alias", "target.cluster.alias": "orders-target:alias"}
POLICY = {
    "replication.policy.class": "orders-replication:replication.policy.class",
    "replication.policy.separator": "orders-replication:replication.policy.separator",
}
SELECTION = {
    **POLICY,
    "offset-syncs.topic.location": "orders-replication:offset-syncs.topic.location",
    "topics": "orders-replication:topics",
    "topics.exclude": "orders-replication:topics.exclude",
}
BOTH_CLUSTERS = {
    **ALIASES,
    **connection("source", "source.cluster.", "mirror"),
    **connection("target", "target.cluster.", "mirror"),
}


def test_the_whole_configuration_of_the_source_connector() -> None:
    assert with_readable_names(a_resolved_flow(), "source") == {
        **CONVERTERS,
        **BOTH_CLUSTERS,
        **SELECTION,
        "replication.factor": -1,
        "offset-syncs.topic.replication.factor": -1,
        "sync.topic.acls.enabled": False,
        "refresh.topics.interval.seconds": 600,
        "offset.lag.max": 100,
    }


def test_the_whole_configuration_of_the_checkpoint_connector() -> None:
    assert with_readable_names(a_resolved_flow(), "checkpoint") == {
        **CONVERTERS,
        **BOTH_CLUSTERS,
        **SELECTION,
        "checkpoints.topic.replication.factor": -1,
        "groups": "checkout-.*",
        "groups.exclude": "console-consumer-.*,connect-.*,__.*",
        "refresh.groups.interval.seconds": 600,
        "emit.checkpoints.interval.seconds": 60,
        "sync.group.offsets.enabled": True,
        "sync.group.offsets.interval.seconds": 60,
    }


def test_the_heartbeat_connector_produces_to_the_source() -> None:
    """Without the producer override heartbeats would silently land on the target."""
    assert with_readable_names(a_resolved_flow(), "heartbeat") == {
        **CONVERTERS,
        **ALIASES,
        **POLICY,
        **connection("source", "target.cluster.", "mirror"),
        **connection("source", "producer.override.", "mirror"),
        "heartbeats.topic.replication.factor": -1,
        "emit.heartbeats.interval.seconds": 1,
    }


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        pytest.param(
            {"authentication": {"type": "plain", "username": "m", "password": {"config": "secret"}}},
            {
                "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="m" password="${secret:mirror-orders/orders-source-credentials:password}";',
                "ssl.truststore.certificates": "${secret:mirror-orders/ca:ca.crt}",
            },
            id="PLAIN from configuration reads the Secret that we create",
        ),
        pytest.param(
            {"authentication": {"type": "tls", "secret": "client"}},
            {
                "ssl.keystore.certificate.chain": "${secret:mirror-orders/client:user.crt}",
                "ssl.keystore.key": "${secret:mirror-orders/client:user.key}",
                "ssl.truststore.certificates": "${secret:mirror-orders/ca:ca.crt}",
            },
            id="mutual TLS as PEM",
        ),
        pytest.param(
            {
                "authentication": None,
                "tls": {
                    "trust": {
                        "format": "JKS",
                        "secret": "ca",
                        "key": "truststore.jks",
                        "password": {"secret": "ca", "key": "password"},
                    }
                },
            },
            {"ssl.truststore.password": "${secret:mirror-orders/ca:password}"},
            id="a JKS truststore is a file, and its password is a placeholder",
        ),
        pytest.param({"authentication": None, "tls": None}, {}, id="a plain listener needs no credential"),
    ],
)
def test_each_authentication_reads_its_credentials_from_secrets(
    cluster: dict[str, Any], expected: dict[str, str]
) -> None:
    clusters = {"useast": a_cluster(**cluster), "uswest": a_cluster("us-west-2")}
    config = connector_config(a_resolved_flow(clusters), "source")
    credentials = {
        key.removeprefix("source.cluster."): value
        for key, value in config.items()
        if key.startswith("source.cluster.") and "${cfmap:" not in str(value)
    }
    assert credentials == expected


def test_overrides_win_over_defaults() -> None:
    flow = a_resolved_flow(connectors={"source": {"config": {"replication.factor": 2}}})
    assert connector_config(flow, "source")["replication.factor"] == 2


def test_a_disabled_connector_is_left_out() -> None:
    flow = a_resolved_flow(connectors={"checkpoint": {"enabled": False}, "heartbeat": {"enabled": False}})
    assert [planned.name for planned in connector_objects(flow)] == ["orders-source"]


def test_state_tasks_and_restarts_reach_the_resource() -> None:
    source = {"tasksMax": 7, "state": "stopped", "autoRestart": {"enabled": True, "maxRestarts": 4}}
    (planned, *_) = connector_objects(a_resolved_flow(connectors={"source": source}))
    spec = planned.manifest["spec"]
    assert (spec["tasksMax"], spec["state"], spec["autoRestart"]) == (7, "stopped", {"enabled": True, "maxRestarts": 4})


def test_a_raised_credentials_revision_changes_every_connector() -> None:
    """Only a connector that restarts reads a rotated Secret."""
    before = a_resolved_flow()
    clusters = {"useast": a_cluster(credentialsRevision=1), "uswest": a_cluster("us-west-2")}
    after = a_resolved_flow({**clusters, "useast": {**clusters["useast"]}})
    roles: tuple[ConnectorRole, ...] = ("source", "checkpoint", "heartbeat")
    for role in roles:
        assert connector_config(before, role) != connector_config(after, role)


@pytest.mark.parametrize(("strimzi", "version"), [("1.2", "v1"), ("0.48", "v1beta2"), ("0.45", "v1beta2")])
def test_connectors_are_rendered_alike_in_both_api_versions(strimzi: str, version: str) -> None:
    (planned, *_) = connector_objects(a_resolved_flow(strimzi=strimzi))
    config = planned.manifest["spec"]["config"]
    assert planned.manifest == {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaConnector",
        "metadata": {
            "name": "orders-source",
            "namespace": "mirror-orders",
            "labels": {
                "app.kubernetes.io/managed-by": "kafka-replication",
                "app.kubernetes.io/part-of": "orders",
                "strimzi.io/cluster": "orders",
            },
        },
        "spec": {
            "class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasksMax": 3,
            "state": "running",
            "autoRestart": {"enabled": True},
            "config": config,
        },
    }
    unlike_v1 = {
        key for key, value in config.items() if value != connector_config(a_resolved_flow(), "source").get(key)
    }
    # Kafka 3.9 excludes other topics by default, so the ConfigMap has another name.
    unlike_v1 -= {key for key in unlike_v1 if strimzi == "0.45" and "orders-replication-" in str(config[key])}
    assert all(key.startswith("target.cluster.") for key in unlike_v1)
