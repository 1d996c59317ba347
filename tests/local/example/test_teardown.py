"""The end of a stack: destroy leaves nothing. It runs last, because the tests of the example share one deployment."""

from typing import Any

from kubernetes import client

from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.parts import operator as operator_part
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.local.flows import ARRIVAL_SECONDS, Deployed


def test_destroy_leaves_no_object_and_no_worker(deployed: Deployed) -> None:
    deployment.destroy(deployed.settings, lambda _: None)
    core, custom = client.CoreV1Api(deployed.api), client.CustomObjectsApi(deployed.api)
    selector = "app.kubernetes.io/managed-by=kafka-replication"
    assert core.list_namespace(label_selector=selector).items == []
    for kind in ("kafkaconnects", "kafkaconnectors"):
        left: Any = custom.list_cluster_custom_object("kafka.strimzi.io", "v1", kind)
        assert left["items"] == []
    for found in (core.list_config_map_for_all_namespaces, core.list_secret_for_all_namespaces):
        assert found(label_selector=selector).items == []
    wait_for("workers to end", _expect_no_worker, ARRIVAL_SECONDS)


def _expect_no_worker() -> None:
    alive = [worker.name for worker in operator_part.workers()]
    if alive:
        raise NotYetError(f"{alive} run")
