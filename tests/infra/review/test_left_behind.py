"""Which replications in a cluster no stack declares any more, and whose they were. Without these an unpruned one runs
on unseen, or one stack reports what another one deploys."""

from typing import Any

import pytest

from components.render.planned_objects import MANAGED_BY, PART_OF, Manifest
from infra.review.left_behind import Territory, left_behind

OWN = Territory(frozenset({"orders"}), frozenset({"west:9092"}))
EAST = Territory(frozenset({"audit"}), frozenset({"east:9092"}))


def an_object(kind: str, replication: str, spec: dict[str, Any] | None = None, name: str = "") -> Manifest:
    labels = {MANAGED_BY: "kafka-replication", PART_OF: replication}
    metadata = {"name": name or replication, "namespace": "kafka", "labels": labels}
    return {"apiVersion": "kafka.strimzi.io/v1", "kind": kind, "metadata": metadata, "spec": spec or {}}


def workers(replication: str, servers: str = "west:9092") -> Manifest:
    return an_object("KafkaConnect", replication, {"bootstrapServers": servers})


def found(*live: Manifest, others: tuple[Territory, ...] = ()) -> dict[str, list[str]]:
    return {name: sorted(objects) for name, objects in left_behind(live, {"orders"}, OWN, others).items()}


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
def test_so_is_a_resource_of_either_version(spec: dict[str, Any]) -> None:
    assert list(found(an_object("KafkaMirrorMaker2", "audit", spec))) == ["audit"]


def test_what_runs_beside_a_cluster_of_another_region_belongs_to_another_stack() -> None:
    assert found(workers("audit", "east:9092")) == {}


def test_what_another_stack_deploys_is_not_left_behind() -> None:
    both = Territory(frozenset({"audit"}), frozenset({"west:9092"}))
    assert found(workers("audit"), others=(both,)) == {}


def test_a_flow_that_moved_to_another_region_is_left_behind_where_it_was() -> None:
    assert list(found(workers("audit"), others=(EAST,))) == ["audit"]


def test_what_replicates_nothing_is_not_found() -> None:
    config_map = {**an_object("ConfigMap", "audit"), "apiVersion": "v1", "data": {"a": "b"}}
    assert found(config_map, an_object("KafkaUser", "users"), workers("")) == {}


def test_what_pulumi_deployed_belongs_to_a_stack_of_pulumi() -> None:
    deployed = workers("audit")
    deployed["metadata"]["managedFields"] = [{"manager": "pulumi-kubernetes-1a2b", "fieldsV1": {"f:spec": {"f:x": {}}}}]
    assert found(deployed) == {}
