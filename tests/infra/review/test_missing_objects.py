"""Objects that are not there: deleted if something shows that they were made, else a deployment to go on with."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.changes.effect import Severity
from components.render.planned_objects import Manifest
from infra.review.comparison import compare
from infra.review.drift import Drift
from infra.review.drift_findings import mended_by_gitops
from infra.review.live_comparison import running
from infra.review.snapshots import Snapshot, current_snapshot
from infra.review.topic_drift import by_flow, validated
from tests.infra.review.changes import written
from tests.infra.review.served import in_cluster

MADE_FIRST = ("namespace", "source-config", "target-config", "replication-config")


@pytest.fixture
def declared(tmp_path: Path) -> Snapshot:
    return current_snapshot("test", written(tmp_path / "stacks", {}))


def without(declared: Snapshot, *keys: str, validated_at: str | None = None) -> tuple[Drift, ...]:
    """Drift of a deployment without some of its objects, which are what the next one would create."""

    def delete(objects: dict[str, Manifest]) -> None:
        for key in keys:
            del objects[key]

    proven = {"orders": validated_at} if validated_at else {}
    result = running("test", declared, in_cluster(declared, delete), proven)
    changes = compare("test", "", result.snapshot, declared).objects
    assert {(each.change.value, each.key) for each in changes} == {("added", key) for key in keys}
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
def test_what_something_waits_for_that_is_there_was_deleted(declared: Snapshot, key: str, later: str) -> None:
    (drift,) = without(declared, key)
    assert (drift.code, drift.severity) == ("object-missing", Severity.DATA)
    assert drift.what.startswith(f"was deleted: {later}")
    assert drift.remedy.startswith("`replicate up test --refresh`")


def test_gitops_mends_what_pulumi_would_deploy_and_every_other_remedy_stays(declared: Snapshot) -> None:
    (deleted,) = without(declared, "replication-config")
    (interrupted,) = without(declared, "source-connector")
    by_hand = replace(deleted, remedy="correct it: `replicate up test --help`.")
    *mended, left = mended_by_gitops([deleted, interrupted, by_hand])
    assert all("such as Argo CD or Flux, apply it again" in each.remedy for each in mended)
    assert left == by_hand


def test_a_connector_for_which_nothing_waits_may_never_have_been_made(declared: Snapshot) -> None:
    (drift,) = without(declared, "source-connector")
    assert (drift.code, drift.where) == ("deployment-incomplete", "deployment orders")
    assert "nothing shows that they ever did: KafkaConnector mirror-orders/orders-source." in drift.what


def test_a_connector_that_a_validation_has_seen_was_deleted(declared: Snapshot) -> None:
    (drift,) = without(declared, "source-connector", validated_at="2026-01-02T00:00:00+00:00")
    assert (drift.code, drift.where) == ("object-missing", "KafkaConnector mirror-orders/orders-source")
    assert drift.what == "was deleted: the validation of 2026-01-02T00:00:00+00:00 found this model deployed"


def test_an_interrupted_deployment_is_one_finding_with_how_to_go_on(declared: Snapshot) -> None:
    keys = [key for key in declared.objects("orders") if key not in MADE_FIRST]
    (drift,) = without(declared, *keys)
    assert drift.code == "deployment-incomplete"
    assert drift.what.startswith(f"{len(keys)} of {len(keys) + len(MADE_FIRST)} objects do not exist")
    assert "KafkaConnect mirror-orders/orders, KafkaConnector mirror-orders/orders-source" in drift.what
    assert "A deployment was interrupted" in drift.what
    assert drift.remedy.startswith("`replicate up test --refresh`: it continues an interrupted deployment")


def test_what_is_there_in_another_form_shows_nothing_of_what_is_declared_now(tmp_path: Path) -> None:
    """A connector of an earlier deployment did not wait for an object that is declared since."""
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
