"""ACLs are judged as the authorizer does: an equal or wider ACL grants a need, and a denial outranks every grant."""

from typing import Any

import pytest

from kafka_replication.components.kafka.acls import (
    AclEntry,
    GapReason,
    Need,
    UnmetNeed,
    gaps,
    without_grant,
)

USER = "User:mirror"


def an_acl(name: str = "orders", operation: str = "READ", **changes: Any) -> AclEntry:
    given = {"principal": USER, "resource": "TOPIC", "pattern": "LITERAL", "name": name, "operation": operation}
    return AclEntry(**{**given, **changes})


def a_need(name: str = "orders", *operations: str, pattern: str = "literal") -> Need:
    return Need(USER, "TOPIC", pattern, name, operations or ("READ",))


@pytest.mark.parametrize(
    ("need", "entry"),
    [
        pytest.param(a_need(), an_acl(), id="the same"),
        pytest.param(a_need(), an_acl("*"), id="every topic"),
        pytest.param(a_need(), an_acl("ord", pattern="PREFIXED"), id="a prefix of the name"),
        pytest.param(a_need("orders-", pattern="prefixed"), an_acl("ord", pattern="PREFIXED"), id="a shorter prefix"),
        pytest.param(a_need("orders-", pattern="prefixed"), an_acl("*"), id="every topic for a prefix"),
        pytest.param(a_need("*"), an_acl("*"), id="every topic for every topic"),
        pytest.param(a_need(), an_acl(operation="ALL"), id="every operation"),
        pytest.param(a_need(), an_acl(principal="User:*"), id="every user"),
        pytest.param(a_need("orders", "DESCRIBE"), an_acl(operation="WRITE"), id="an operation that implies it"),
        pytest.param(
            a_need("orders", "DESCRIBE_CONFIGS"), an_acl(operation="ALTER_CONFIGS"), id="altering implies reading"
        ),
    ],
)
def test_an_equal_or_wider_acl_grants(need: Need, entry: AclEntry) -> None:
    assert gaps(need, [entry], []) == []


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(an_acl("orders-eu"), id="a longer name"),
        pytest.param(an_acl("orders-", pattern="PREFIXED"), id="a longer prefix"),
        pytest.param(an_acl(operation="DESCRIBE"), id="an operation that it implies"),
        pytest.param(an_acl(principal="User:mirror2"), id="another user"),
        pytest.param(an_acl(resource="GROUP"), id="another type of resource"),
    ],
)
def test_any_other_acl_leaves_the_need_missing(entry: AclEntry) -> None:
    assert gaps(a_need(), [entry], []) == [UnmetNeed(a_need(), GapReason.MISSING)]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(an_acl("*", permission="DENY"), id="of everything"),
        pytest.param(an_acl(operation="ALL", permission="DENY", principal="User:*"), id="to everyone"),
        pytest.param(an_acl(operation="DESCRIBE", permission="DENY"), id="of seeing the topic at all"),
    ],
)
def test_a_denial_outranks_a_grant(entry: AclEntry) -> None:
    assert gaps(a_need(), [an_acl(), entry], []) == [UnmetNeed(a_need(), GapReason.DENIED)]


@pytest.mark.parametrize(
    ("need", "entry"),
    [
        pytest.param(a_need("orders-", pattern="prefixed"), an_acl("orders-"), id="a literal name for a prefix"),
        pytest.param(a_need("*"), an_acl("*", pattern="PREFIXED"), id="the prefix of a star for every name"),
    ],
)
def test_an_acl_with_the_same_name_but_another_pattern_type_grants_nothing(need: Need, entry: AclEntry) -> None:
    assert gaps(need, [entry], []) == [UnmetNeed(need, GapReason.MISSING)]


def test_a_denial_of_writes_does_not_prevent_reads() -> None:
    assert gaps(a_need(), [an_acl(), an_acl(operation="WRITE", permission="DENY")], []) == []


def test_grants_of_only_the_existing_names_are_reported_as_narrow() -> None:
    """Nothing is missing today, but the next topic with that prefix would silently be left out."""
    need = a_need("orders-", pattern="prefixed")
    assert gaps(need, [an_acl("orders-eu")], ["orders-eu", "audit"]) == [UnmetNeed(need, GapReason.NARROW)]


def test_the_existing_name_without_a_grant_is_reported() -> None:
    need = a_need("orders-", pattern="prefixed")
    found = gaps(need, [an_acl("orders-eu")], ["orders-eu", "orders-us"])
    assert found == [UnmetNeed(a_need("orders-us"), GapReason.MISSING)]


def test_a_denial_of_one_name_among_many_is_reported_by_that_name() -> None:
    need = a_need("orders-", pattern="prefixed")
    entries = [an_acl("*"), an_acl("orders-us", permission="DENY")]
    assert gaps(need, entries, ["orders-eu", "orders-us"]) == [UnmetNeed(a_need("orders-us"), GapReason.DENIED)]


@pytest.mark.parametrize("permission", ["ALLOW", "DENY"])
def test_an_acl_for_some_hosts_only_is_not_judged(permission: str) -> None:
    """The job does not know on which hosts the workers run."""
    plain = [an_acl()] if permission == "DENY" else []
    found = gaps(a_need(), [*plain, an_acl(host="10.0.0.1", permission=permission)], [])
    assert found == [UnmetNeed(a_need(), GapReason.OF_HOSTS)]


@pytest.mark.parametrize("permission", ["ALLOW", "DENY"])
def test_an_acl_for_some_hosts_is_not_judged_for_one_name_of_a_prefix(permission: str) -> None:
    """Another host may be denied a topic, and the workers may still read it; or only that host is allowed to."""
    plain = [an_acl("*")] if permission == "DENY" else [an_acl("orders-eu")]
    entries = [*plain, an_acl("orders-us", host="10.0.0.1", permission=permission)]
    found = gaps(a_need("orders-", pattern="prefixed"), entries, ["orders-eu", "orders-us"])
    assert found == [UnmetNeed(a_need("orders-us"), GapReason.OF_HOSTS)]


def test_a_need_that_no_acl_grants_is_missing_whatever_hosts_are_denied() -> None:
    assert gaps(a_need(), [an_acl(host="10.0.0.1", permission="DENY")], []) == [UnmetNeed(a_need(), GapReason.MISSING)]


def test_only_the_missing_operations_are_reported() -> None:
    need = a_need("orders", "DESCRIBE_CONFIGS", "READ", "WRITE")
    assert gaps(need, [an_acl()], []) == [UnmetNeed(a_need("orders", "DESCRIBE_CONFIGS", "WRITE"), GapReason.MISSING)]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("LITERAL", "orders"), ("LITERAL", "*"), ("PREFIXED", "ord")],
    ids=["literal", "all", "prefix"],
)
def test_topics_without_an_allowing_acl_are_found(pattern: str, name: str) -> None:
    grant = AclEntry("User:app", "TOPIC", pattern, name, "READ")
    assert without_grant(["orders"], [grant]) == []
    assert without_grant(["payments"], [grant]) == ([] if name == "*" else ["payments"])
    assert without_grant(["orders"], [grant._replace(permission="DENY")]) == ["orders"]
