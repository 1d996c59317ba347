"""A fence adds and lifts only its own denials, and recognises them by their marks."""

import pytest

from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.write_fence import (
    denials_to_lift,
    marked_topics,
    marks_to_lift,
    missing_denials,
    missing_marks,
    owners,
)

DENIAL = AclEntry("User:*", "TOPIC", "LITERAL", "orders", "WRITE", "DENY")
OURS, THEIRS = (DENIAL._replace(principal=f"Fence:{name}") for name in ("prod/orders", "prod/orders-eu"))


@pytest.mark.parametrize(
    ("entries", "marks", "denials"),
    [
        pytest.param([], [OURS], [DENIAL], id="no ACL exists"),
        pytest.param([OURS], [], [DENIAL], id="killed after the mark"),
        pytest.param([OURS, DENIAL], [], [], id="both exist"),
        pytest.param([DENIAL], [], [], id="denied by somebody else"),
        pytest.param([THEIRS, DENIAL], [OURS], [], id="fenced by another flow"),
        pytest.param([DENIAL._replace(host="10.0.0.1")], [OURS], [DENIAL], id="denied from one host"),
    ],
)
def test_only_missing_marks_and_denials_are_added(
    entries: list[AclEntry], marks: list[AclEntry], denials: list[AclEntry]
) -> None:
    assert missing_marks(["orders"], "prod/orders", entries) == marks
    assert missing_denials(["orders"], entries) == denials


@pytest.mark.parametrize(
    ("entries", "denials", "marks"),
    [
        pytest.param([], [], [], id="no ACL exists"),
        pytest.param([OURS, DENIAL], [DENIAL], [OURS], id="its own mark and denial"),
        pytest.param([OURS], [], [OURS], id="killed between mark and denial"),
        pytest.param([DENIAL], [], [], id="denied by somebody else"),
        pytest.param([OURS, THEIRS, DENIAL], [], [OURS], id="another flow needs it"),
    ],
)
def test_a_fence_lifts_only_its_own_denials_and_marks(
    entries: list[AclEntry], denials: list[AclEntry], marks: list[AclEntry]
) -> None:
    assert denials_to_lift("prod/orders", entries) == denials
    assert marks_to_lift("prod/orders", entries) == marks


def test_a_fence_is_found_by_its_marks() -> None:
    assert marked_topics("prod/orders", [OURS, THEIRS, DENIAL]) == ["orders"]
    assert owners({"orders"}, [OURS, THEIRS, DENIAL]) == ["prod/orders", "prod/orders-eu"]
    assert owners({"payments"}, [OURS, THEIRS, DENIAL]) == []
