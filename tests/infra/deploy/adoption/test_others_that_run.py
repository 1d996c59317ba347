"""What else runs between the clusters of a stack, and may forbid its adoption. No cluster is asked."""

from pathlib import Path

import pytest

from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.deploy.adoption.plan import planned
from tests.infra.deploy.adoption.test_plan import declared, facts


def a_mirror(source: str, target: str) -> Manifest:
    ends = {"source": {"alias": "a", "bootstrapServers": source}}
    spec = {"target": {"alias": "b", "bootstrapServers": target}, "mirrors": [ends]}
    metadata = {"name": "mm2", "namespace": "kafka"}
    return {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaMirrorMaker2", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_a_flow_is_refused_while_a_mirror_copies_between_the_same_clusters(tmp_path: Path, version: str) -> None:
    """The flow would copy every record again, beside the KafkaMirrorMaker2."""
    mirror = a_mirror("kafka.useast.example.com:9093", "kafka.uswest.example.com:9093")
    if version == "v1beta2":
        ends = [mirror["spec"]["mirrors"][0]["source"], mirror["spec"].pop("target")]
        mirror["spec"] |= {"clusters": ends, "connectCluster": "b", "mirrors": [{"sourceCluster": "a"}]}
    nothing = facts(declared(tmp_path), live={}, others=[mirror])
    (problem,) = planned(nothing, ()).problems
    assert (problem.code, problem.where) == ("other-kind-runs", "orders")
    assert problem.what.startswith("KafkaMirrorMaker2 kafka/mm2 copies between the same clusters")


def test_a_flow_beside_a_mirror_of_the_same_clusters_is_allowed_with_an_agreement(tmp_path: Path) -> None:
    mirror = a_mirror("kafka.useast.example.com:9093", "kafka.uswest.example.com:9093")
    nothing = facts(declared(tmp_path), live={}, others=[mirror])
    assert planned(nothing, ["re-read:orders"]).problems == ()


def test_a_flow_is_refused_while_connectors_with_other_names_copy_between_the_clusters(tmp_path: Path) -> None:
    """Otherwise a mistyped name would copy every record twice."""
    ends = ("source", "useast"), ("target", "uswest")
    config = {f"{side}.cluster.bootstrap.servers": f"kafka.{name}.example.com:9093" for side, name in ends}
    metadata = {"name": "copies", "namespace": "kafka"}
    other = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnector", "metadata": metadata}
    nothing = facts(declared(tmp_path), live={}, others=[{**other, "spec": {"config": config}}])
    (problem,) = planned(nothing, ()).problems
    assert (problem.code, problem.what.partition(" copies")[0]) == ("other-kind-runs", "KafkaConnector kafka/copies")


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_workers_of_the_same_group_under_another_name_are_refused(tmp_path: Path, version: str) -> None:
    snapshot = declared(tmp_path)
    (workers,) = [each["spec"] for each in snapshot.objects("orders").values() if each["kind"] == "KafkaConnect"]
    group, address = workers["groupId"], workers["bootstrapServers"]
    named = {"groupId": group} if version == "v1" else {"config": {"group.id": group}}
    metadata = {"name": "other", "namespace": "kafka"}
    other = {"apiVersion": f"kafka.strimzi.io/{version}", "kind": "KafkaConnect", "metadata": metadata}
    spec = {"bootstrapServers": address, **named}
    (problem,) = planned(facts(snapshot, live={}, others=[{**other, "spec": spec}]), ()).problems
    assert (problem.code, problem.where) == ("worker-group-taken", "KafkaConnect kafka/other")
    assert (
        planned(facts(snapshot, live={}, others=[{**other, "spec": {**spec, "bootstrapServers": "x"}}]), ()).problems
        == ()
    )


def test_the_group_of_a_mirrors_target_is_refused_beside_a_leftover_of_the_older_api(tmp_path: Path) -> None:
    """The operator reads `target`, and ignores `connectCluster` beside it."""
    snapshot = declared(tmp_path)
    (workers,) = [each["spec"] for each in snapshot.objects("orders").values() if each["kind"] == "KafkaConnect"]
    mirror = a_mirror("kafka.apnortheast.example.com:9093", workers["bootstrapServers"])
    mirror["spec"]["target"]["groupId"] = workers["groupId"]
    mirror["spec"]["connectCluster"] = "b"
    (problem,) = planned(facts(snapshot, live={}, others=[mirror]), ()).problems
    assert (problem.code, problem.where) == ("worker-group-taken", "KafkaMirrorMaker2 kafka/mm2")


def test_a_mirror_in_the_opposite_direction_is_ignored(tmp_path: Path) -> None:
    mirror = a_mirror("kafka.uswest.example.com:9093", "kafka.useast.example.com:9093")
    assert planned(facts(declared(tmp_path), live={}, others=[mirror]), ()).problems == ()
