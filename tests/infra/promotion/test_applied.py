"""What a promotion says of a cluster that does not hold what GitOps should have applied: who can mend it, and how."""

from pathlib import Path

import pytest

from infra.promotion.run import applied
from infra.promotion.run.applied import against_applied
from infra.review.comparison import Comparison
from infra.review.object_changes import ChangeKind, FieldChange, ObjectChange
from infra.settings import read_settings
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
def test_only_secrets_that_are_missing_are_not_sent_to_the_render(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: tuple[ObjectChange, ...], code: str
) -> None:
    """`replicate render` writes no Secret: whoever commits what it writes would wait for ever."""
    compared = Comparison("test", "what runs", (), changes)
    monkeypatch.setattr(applied, "compare_with_cluster", lambda *_: compared)
    (problem,) = against_applied(read_settings("test", write_stack(tmp_path, deploy="gitops")))
    assert problem.code == code
    assert ("required-secrets.yaml" in problem.remedy) is (code == "secret-not-applied")
