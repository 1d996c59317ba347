"""KafkaMirrorMaker2s with overrides, in both versions of the API, and what their connectors have in common."""

from typing import Any

from kafka_replication.infra.local.operator.mirror_maker2 import connector_resources
from kafka_replication.infra.local.operator.resources import ConnectorResource

V1, V1BETA2 = "kafka.strimzi.io/v1", "kafka.strimzi.io/v1beta2"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
TLS = {"trustedCertificates": [{"secretName": "ca", "pattern": "*.crt"}]}
PASSWORD = {"username": "mirror", "passwordSecret": {"secretName": "user", "password": "pw"}}
PAIR = {"secretName": "user", "certificate": "user.crt", "key": "user.key"}
BARE = {
    "source.cluster.alias": "useast",
    "source.cluster.bootstrap.servers": "kafka.useast:9093",
    "source.cluster.security.protocol": "PLAINTEXT",
    "target.cluster.alias": "uswest",
    "target.cluster.bootstrap.servers": "kafka.uswest:9093",
    "target.cluster.security.protocol": "PLAINTEXT",
}


def an_item(api_version: str, spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    metadata = {"name": "orders", "namespace": "mirror", "uid": "u-1", "generation": 3}
    return {
        "apiVersion": api_version,
        "kind": "KafkaMirrorMaker2",
        "metadata": metadata,
        "spec": {"replicas": 1, **spec},
        "status": status,
    }


def a_v1(
    *,
    source: dict[str, Any] | None = None,
    target: dict[str, Any] | None = None,
    mirror: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A KafkaMirrorMaker2 of v1 from useast to uswest with a source connector."""
    reached = {"alias": "useast", "bootstrapServers": "kafka.useast:9093", **(source or {})}
    own = {
        "alias": "uswest",
        "bootstrapServers": "kafka.uswest:9093",
        "groupId": "mirror-orders",
        "configStorageTopic": "mirror-orders-configs",
        "offsetStorageTopic": "mirror-orders-offsets",
        "statusStorageTopic": "mirror-orders-status",
        **(target or {}),
    }
    mirrors = [{"source": reached, **(mirror or {"sourceConnector": {"tasksMax": 2}})}]
    return an_item(V1, {"target": own, "mirrors": mirrors, **spec}, **(status or {}))


def a_v1beta2(
    *,
    source: dict[str, Any] | None = None,
    target: dict[str, Any] | None = None,
    mirror: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """The same KafkaMirrorMaker2 in v1beta2."""
    clusters = [
        {"alias": "useast", "bootstrapServers": "kafka.useast:9093", **(source or {})},
        {"alias": "uswest", "bootstrapServers": "kafka.uswest:9093", **(target or {})},
    ]
    ends = {"sourceCluster": "useast", "targetCluster": "uswest"}
    mirrors = [{**ends, **(mirror or {"sourceConnector": {"tasksMax": 2}})}]
    return an_item(V1BETA2, {"connectCluster": "uswest", "clusters": clusters, "mirrors": mirrors} | spec)


def the_connector(item: dict[str, Any]) -> ConnectorResource:
    (connector,) = connector_resources(item)
    return connector


def secret(name: str, key: str) -> str:
    return f"${{strimzisecrets:mirror/{name}:{key}}}"


def in_file(key: str) -> str:
    return f"${{file:/tmp/strimzi-mirrormaker2-connector.properties:{key}}}"


def sasl(module: str, mechanism: str, password: str) -> dict[str, str]:
    jaas = f'{module} required username="mirror" password="{password}";'
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
