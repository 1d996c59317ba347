"""Custom resources of a small flow: a test overrides only what it is about."""

from typing import Any

from kafka_replication.infra.local.operator.connect_rest import RunningConnector
from kafka_replication.infra.local.operator.resources import (
    ConnectorResource,
    ConnectResource,
    connect_resource,
    connector_resource,
)

JSON = "org.apache.kafka.connect.json.JsonConverter"


def a_connect_item(**spec: Any) -> dict[str, Any]:
    """A KafkaConnect without TLS and authentication."""
    return {
        "metadata": {
            "name": "orders",
            "namespace": "mirror",
            "uid": "u-1",
            "generation": 3,
            "annotations": {"strimzi.io/use-connector-resources": "true"},
        },
        "spec": {
            "replicas": 1,
            "bootstrapServers": "kafka.uswest:9093",
            "groupId": "mirror-orders",
            "configStorageTopic": "mirror-orders-configs",
            "offsetStorageTopic": "mirror-orders-offsets",
            "statusStorageTopic": "mirror-orders-status",
            **spec,
        },
    }


def a_v1beta2_connect(**spec: Any) -> ConnectResource:
    """The same KafkaConnect in v1beta2, with these overrides."""
    item = a_connect_item()
    item["spec"] = {"replicas": 1, "bootstrapServers": "kafka.uswest:9093", **spec}
    return connect_resource(item)


def a_connect(**spec: Any) -> ConnectResource:
    return connect_resource(a_connect_item(**spec))


def a_connector(*, status: Any = None, generation: int = 2, **spec: Any) -> ConnectorResource:
    return connector_resource(
        {
            "metadata": {
                "name": "orders-source",
                "namespace": "mirror",
                "generation": generation,
                "labels": {"strimzi.io/cluster": "orders"},
            },
            "spec": {"class": "example.Source", "tasksMax": 2, "config": {"topics": "orders"}, **spec},
            "status": status,
        }
    )


def running(
    *, state: str = "RUNNING", trace: str | None = None, tasks: tuple[tuple[str, str | None], ...] = (), **config: str
) -> RunningConnector:
    """What Connect reports about that connector; `tasks` are pairs of state and trace."""
    connector = {"state": state, "worker_id": "127.0.0.1:8083"} | ({"trace": trace} if trace else {})
    listed = [
        {"id": number, "state": task, "worker_id": "127.0.0.1:8083"} | ({"trace": why} if why else {})
        for number, (task, why) in enumerate(tasks)
    ]
    expected = {"name": "orders-source", "connector.class": "example.Source", "tasks.max": "2", "topics": "orders"}
    return RunningConnector(expected | config, {"name": "orders-source", "connector": connector, "tasks": listed})
