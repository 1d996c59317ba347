"""What a promotion reports if the cluster lacks what GitOps should have applied: who can fix it, and how."""

from pathlib import Path

import pytest

from kafka_replication.infra.deploy.promotion.run import jobs_in_cluster
from kafka_replication.infra.deploy.promotion.run.jobs_in_cluster import against_applied, differences
from kafka_replication.infra.review.comparison import Comparison
from kafka_replication.infra.review.drift import not_deleted
from kafka_replication.infra.review.live_comparison import running
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, ObjectChange
from kafka_replication.infra.review.snapshots import current_snapshot
from kafka_replication.infra.stack.settings import read_settings
from tests.infra.review.changes import written
from tests.infra.review.served import by_hand, in_cluster
from tests.infra.stacks import write_stack

CONNECT = ObjectChange(ChangeKind.ADDED, "orders", "connect", "KafkaConnect", "mirror-orders", "orders")
SECRET = ObjectChange(ChangeKind.ADDED, "orders", "source-auth", "Secret", "mirror-orders", "orders-source")
WITHOUT_KEY = ObjectChange(
    ChangeKind.CHANGED, "orders", "target-auth", "Secret", "mirror-orders", "t", (FieldChange("values.key", None, ""),)
)
FORMER = ObjectChange(ChangeKind.REMOVED, "orders", "secret old", "Secret", "mirror-orders", "old")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ((CONNECT,), "not-applied"),
        ((CONNECT, SECRET), "not-applied"),
        ((SECRET,), "secret-not-applied"),
        ((WITHOUT_KEY, SECRET), "secret-not-applied"),
        ((FORMER,), "other-revision-applied"),
        ((SECRET, FORMER), "other-revision-applied"),
    ],
)
def test_the_remedy_names_required_secrets_only_if_nothing_but_secrets_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: tuple[ObjectChange, ...], code: str
) -> None:
    """`replicate render` writes no Secrets, so a user who commits its output would wait forever."""
    compared = Comparison("test", "what runs", (), changes)
    monkeypatch.setattr(jobs_in_cluster, "compare_with_cluster", lambda *_: compared)
    (problem,) = against_applied(read_settings("test", write_stack(tmp_path, deploy="gitops")))
    assert problem.code == code
    assert ("required-secrets.yaml" in problem.remedy) is (code == "secret-not-applied")


def test_what_was_edited_or_not_deleted_is_reported_with_the_remedy_of_the_drift(tmp_path: Path) -> None:
    declared = current_snapshot("test", written(tmp_path / "stacks", {}))
    edited = in_cluster(declared, lambda each: by_hand(each["connect"], "spec", "replicas", value=1))
    audit = {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaConnect",
        "metadata": {"name": "a", "namespace": "audit"},
    }
    drift = (*running("test", declared, edited).drift, not_deleted("test", "audit", {"connect": audit}))
    found = list(differences(Comparison("test", "what runs", (), (), drift)))
    assert [each.code for each in found] == ["applied-and-edited", "not-deleted"]
    assert [each.remedy for each in found] == [each.remedy for each in drift]
