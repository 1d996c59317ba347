"""Replications that still run in a cluster although no stack declares them any more. Without these tests such a
replication runs on unnoticed, or a stack reports a replication that another stack deploys."""

from typing import Any

import pytest

from kafka_replication.components.render.planned_objects import MANAGED_BY, PART_OF, Manifest
from kafka_replication.infra.review.drift import Territory, undeleted_replications

OWN = Territory(frozenset({"orders"}), frozenset({"west:9092"}))
EAST = Territory(frozenset({"audit"}), frozenset({"east:9092"}))


def an_object(kind: str, replication: str, spec: dict[str, Any] | None = None, name: str = "") -> Manifest:
    labels = {MANAGED_BY: "kafka-replication", PART_OF: replication}
    metadata = {"name": name or replication, "namespace": "kafka", "labels": labels}
    return {"apiVersion": "kafka.strimzi.io/v1", "kind": kind, "metadata": metadata, "spec": spec or {}}


def workers(replication: str, servers: str = "west:9092") -> Manifest:
    return an_object("KafkaConnect", replication, {"bootstrapServers": servers})


def found(*live: Manifest, others: tuple[Territory, ...] = ()) -> dict[str, list[str]]:
    return {name: sorted(objects) for name, objects in undeleted_replications(live, {"orders"}, OWN, others).items()}


def test_a_replication_that_no_stack_declares_is_found_with_all_its_objects() -> None:
    spec = {"class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"}
    source = an_object("KafkaConnector", "audit", spec, "audit-source")
    assert found(workers("audit"), source, workers("orders")) == {"audit": ["kafkaconnect audit", "source-connector"]}


@pytest.mark.parametrize(
    "spec",
    [
        {"target": {"alias": "west", "bootstrapServers": "a:1, west:9092"}},
        {"connectCluster": "w", "clusters": [{"alias": "e", "bootstrapServers": "e:1"},
                                             {"alias": "w", "bootstrapServers": "west:9092"}]},
    ],
    ids=["v1", "v1beta2"],
)  # fmt: skip
def test_an_undeclared_kafkamirrormaker2_of_either_api_version_is_found(spec: dict[str, Any]) -> None:
    assert list(found(an_object("KafkaMirrorMaker2", "audit", spec))) == ["audit"]


def test_workers_on_a_kafka_cluster_of_another_region_are_not_left_behind() -> None:
    assert found(workers("audit", "east:9092")) == {}


def test_a_replication_that_another_stack_deploys_here_is_not_left_behind() -> None:
    both = Territory(frozenset({"audit"}), frozenset({"west:9092"}))
    assert found(workers("audit"), others=(both,)) == {}


def test_the_old_workers_of_a_flow_that_moved_to_another_region_are_left_behind() -> None:
    assert list(found(workers("audit"), others=(EAST,))) == ["audit"]


def test_objects_that_replicate_nothing_are_not_left_behind() -> None:
    config_map = {**an_object("ConfigMap", "audit"), "apiVersion": "v1", "data": {"a": "b"}}
    assert found(config_map, an_object("KafkaUser", "users"), workers("")) == {}


def test_objects_that_pulumi_deployed_are_not_left_behind() -> None:
    deployed = workers("audit")
    deployed["metadata"]["managedFields"] = [{"manager": "pulumi-kubernetes-1a2b", "fieldsV1": {"f:spec": {"f:x": {}}}}]
    assert found(deployed) == {}
