"""Missing objects: deleted if there is evidence that they existed; otherwise the deployment was interrupted."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.flows.operators import PAUSE
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.review.comparison import Drift, compare
from kafka_replication.infra.review.drift import by_flow, validated
from kafka_replication.infra.review.live_comparison import running
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot
from tests.infra.review.changes import written
from tests.infra.review.served import in_cluster

MADE_FIRST = ("namespace", "source-config", "target-config", "replication-config")


@pytest.fixture
def declared(tmp_path: Path) -> Snapshot:
    return current_snapshot("test", written(tmp_path / "stacks", {}))


def without(declared: Snapshot, *keys: str, validated_at: str | None = None) -> tuple[Drift, ...]:
    """Drift of a deployment that lacks these objects; the next deployment would create exactly these."""

    def delete(objects: dict[str, Manifest]) -> None:
        for key in keys:
            del objects[key]

    proven = {"orders": validated_at} if validated_at else {}
    result = running("test", declared, in_cluster(declared, delete), proven)
    changes = compare("test", "", result.snapshot, declared).objects
    assert {(change.change.value, change.key) for change in changes} == {("added", key) for key in keys}
    return result.drift


@pytest.mark.parametrize(
    ("key", "later"),
    [
        ("replication-config", "KafkaConnector mirror-orders/orders-source"),
        ("connect", "KafkaConnector mirror-orders/orders-source"),
        ("access-role", "RoleBinding mirror-orders/orders-connector-configuration"),
        ("namespace", "ConfigMap mirror-orders/orders-source-"),
    ],
)
def test_a_missing_object_was_deleted_if_an_object_that_depends_on_it_exists(
    declared: Snapshot, key: str, later: str
) -> None:
    (drift,) = without(declared, key)
    assert (drift.code, drift.severity) == ("object-missing", Impact.DATA)
    assert drift.what.startswith(f"was deleted: {later}")
    assert drift.remedy.startswith("`replicate up test --refresh`")


def test_with_gitops_only_the_remedies_that_deploy_are_replaced(declared: Snapshot) -> None:
    by_gitops = replace(declared, by_gitops=True)
    mended = [*without(by_gitops, "replication-config"), *without(by_gitops, "source-connector")]
    assert [each.code for each in mended] == ["object-missing", "deployment-incomplete"]
    assert all("such as Argo CD or Flux, apply it again" in each.remedy for each in mended)

    def pause(objects: dict[str, Manifest]) -> None:
        objects["connect"]["metadata"]["annotations"] = {PAUSE: "true"}

    (left,) = running("test", by_gitops, in_cluster(by_gitops, pause)).drift
    assert left.remedy.startswith("`kubectl annotate kafkaconnect orders ")


def test_a_missing_connector_that_nothing_depends_on_is_an_incomplete_deployment(declared: Snapshot) -> None:
    (drift,) = without(declared, "source-connector")
    assert (drift.code, drift.where) == ("deployment-incomplete", "deployment orders")
    names = "KafkaConnector mirror-orders/orders-source"
    assert f"objects does not exist, and nothing shows that it ever did: {names}. A deployment" in drift.what
    assert drift.what.endswith("or somebody deleted it")


def test_a_missing_connector_was_deleted_if_a_validation_found_the_model_deployed(declared: Snapshot) -> None:
    (drift,) = without(declared, "source-connector", validated_at="2026-01-02T00:00:00+00:00")
    assert (drift.code, drift.where) == ("object-missing", "KafkaConnector mirror-orders/orders-source")
    assert drift.what == "was deleted: the validation of 2026-01-02T00:00:00+00:00 found this model deployed"


def test_an_interrupted_deployment_is_one_finding_that_says_how_to_continue(declared: Snapshot) -> None:
    keys = [key for key in declared.objects("orders") if key not in MADE_FIRST]
    (drift,) = without(declared, *keys)
    assert drift.code == "deployment-incomplete"
    assert drift.what.startswith(f"{len(keys)} of {len(keys) + len(MADE_FIRST)} objects do not exist")
    assert "KafkaConnect mirror-orders/orders, KafkaConnector mirror-orders/orders-source" in drift.what
    assert ". A deployment was interrupted, is still running" in drift.what
    assert drift.what.endswith("or somebody deleted them")
    assert drift.remedy.startswith("`replicate up test --refresh`: it continues an interrupted deployment")


def test_an_object_of_an_earlier_deployment_does_not_prove_that_a_new_one_was_deleted(tmp_path: Path) -> None:
    """The connector of the earlier deployment did not depend on an object that was declared later."""
    parts = {"a": {"topics": ["orders"]}, "b": {"topics": ["payments-.*"]}}
    before = current_snapshot("test", written(tmp_path / "before", {}))
    several = {"replications": {"orders": {"topics": None, "connectors": {"sources": parts}}}}
    after = current_snapshot("test", written(tmp_path / "after", several))
    (drift,) = running("test", after, in_cluster(before)).drift
    assert drift.code == "deployment-incomplete"
    assert "orders-topics-a" in drift.what


@pytest.mark.parametrize(("digest", "found"), [("sha256:1", {"orders": "T"}), ("sha256:0", {})])
def test_only_a_validation_of_the_declared_model_shows_that_it_was_deployed(digest: str, found: dict[str, str]) -> None:
    metadata = {"name": "orders-validation", "namespace": "mirror-orders"}
    body = {"metadata": metadata, "data": {"time": "T", "digest": digest}}
    published = by_flow({"orders": "mirror-orders", "other": "mirror-other"}, [body])
    assert validated({"orders": "sha256:1", "other": "sha256:2"}, published) == found
