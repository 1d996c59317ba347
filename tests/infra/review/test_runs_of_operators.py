"""Runs that the Spark operator creates from a ScheduledSparkApplication have our labels, but are not drift."""

from collections.abc import Iterable
from typing import cast

from kafka_replication.components.render.planned_objects import OURS, Manifest
from kafka_replication.components.render.validation_jobs import API_VERSION
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.review.live_comparison import read_objects
from kafka_replication.infra.review.snapshots import Snapshot

LABELS = {"app.kubernetes.io/managed-by": "kafka-replication", "app.kubernetes.io/part-of": "orders"}


def an_application(name: str, **metadata: object) -> Manifest:
    found = {"name": name, "namespace": "mirror-orders", "labels": LABELS, **metadata}
    return {"apiVersion": API_VERSION, "kind": "SparkApplication", "metadata": found, "spec": {}}


class Served:
    """An API with two SparkApplications, one of them created by the operator."""

    def list_where_allowed(self, api_version: str, kind: str, _: Iterable[str], *, label_selector: str) -> list[Object]:
        assert label_selector == OURS
        if (api_version, kind) != (API_VERSION, "SparkApplication"):
            return []
        owner = {
            "apiVersion": API_VERSION,
            "kind": "ScheduledSparkApplication",
            "name": "orders-validation",
            "uid": "1",
        }
        run = an_application("orders-validation-1795547837285123456", ownerReferences=[owner])
        return [an_application("orders-validation-0123456789"), run]

    def get(self, _: Reference) -> Object | None:
        return None


def test_a_run_that_the_spark_operator_created_is_not_compared() -> None:
    """Otherwise each run would be reported as an object that the stack does not declare."""
    found = read_objects(cast(KubernetesApi, Served()), Snapshot(others={}), "kafka.strimzi.io/v1")
    assert [each["metadata"]["name"] for each in found] == ["orders-validation-0123456789"]
