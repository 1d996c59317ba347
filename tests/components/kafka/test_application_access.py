"""An application that may do something on the source may do it on the target, or is told what it lacks there."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.application_access import (
    Authorizer,
    Counterpart,
    Denial,
    Shortfall,
    shortfall,
    transactional_ids,
)

APP = "User:shop"
#: What a flow with the default policy selects: `orders`, and topics that begin with `payments-`.
SELECTED = (("orders", True), ("payments-", False))
GROUPS = (("checkout-", False),)
REMOTE = [
    *(Counterpart("TOPIC", name, "useast.", SELECTED, read_only=True) for name in ("orders", "payments-eu")),
    *(Counterpart("TOPIC", name, "", SELECTED) for name in ("orders", "payments-eu")),
    Counterpart("GROUP", "checkout-web", "", GROUPS),
]


def acl(name: str = "orders", operation: str = "READ", **changes: Any) -> AclEntry:
    entry = {"principal": APP, "resource": "TOPIC", "pattern": "LITERAL", "name": name, "operation": operation}
    return AclEntry(**{**entry, **changes})


def group(name: str, **changes: Any) -> AclEntry:
    return acl(name, **{"resource": "GROUP", **changes})


def prefixed(name: str, operation: str = "READ", **changes: Any) -> AclEntry:
    return acl(name, operation, pattern="PREFIXED", **changes)


def everything(read: AclEntry) -> list[AclEntry]:
    return [read._replace(name=f"useast.{read.name}"), read]


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        pytest.param(acl(), everything(acl()), id="a reader reads both topics that its records are in"),
        pytest.param(acl(operation="WRITE"), [acl(operation="WRITE")], id="only MirrorMaker writes the remote topic"),
        pytest.param(
            acl(operation="ALL"),
            [acl("useast.orders"), acl(operation="ALL")],
            id="everything on a topic is reading its remote topic",
        ),
        pytest.param(
            prefixed("pay"),
            [prefixed("useast.payments-"), prefixed("payments-")],
            id="a prefix as far as the flow selects it",
        ),
        pytest.param(
            prefixed("payments-e"),
            [prefixed("useast.payments-e"), prefixed("payments-e")],
            id="a prefix within what the flow selects",
        ),
        pytest.param(
            acl("*"),
            [*everything(acl()), prefixed("useast.payments-"), prefixed("payments-")],
            id="every topic is every topic that the flow selects",
        ),
        pytest.param(group("*"), [group("checkout-", pattern="PREFIXED")], id="every group likewise"),
        pytest.param(group("checkout-web"), [group("checkout-web")], id="a group keeps its name"),
        pytest.param(acl(operation="DESCRIBE"), everything(acl(operation="DESCRIBE")), id="seeing a topic"),
        pytest.param(acl(principal="User:*"), everything(acl(principal="User:*")), id="everybody"),
        pytest.param(acl(host="10.0.0.1"), everything(acl(host="10.0.0.1")), id="from one host"),
        pytest.param(acl("invoices"), [], id="a topic that is not replicated"),
        pytest.param(acl(permission="DENY"), [], id="a denial"),
    ],
)
def test_what_an_acl_of_the_source_allows_is_missing_on_an_empty_target(
    source: AclEntry, missing: list[AclEntry]
) -> None:
    found = shortfall(REMOTE, [source], [])
    assert set(found.missing) == set(missing)
    assert found.denied == ()


@pytest.mark.parametrize(
    "target",
    [
        pytest.param([prefixed("")], id="every name"),
        pytest.param([acl("*")], id="a wildcard"),
        pytest.param([acl("*", principal="User:*")], id="everybody may"),
        pytest.param([acl("*", "ALL")], id="every operation"),
        pytest.param([prefixed("useast."), prefixed("ord")], id="prefixes"),
    ],
)
def test_a_grant_at_least_as_wide_suffices(target: list[AclEntry]) -> None:
    assert shortfall(REMOTE, [acl()], target) == Shortfall()


@pytest.mark.parametrize(
    "narrow",
    [
        pytest.param(acl(host="10.0.0.1"), id="from one host only"),
        pytest.param(acl(operation="DESCRIBE"), id="an operation that it implies"),
        pytest.param(acl(operation="WRITE"), id="another operation"),
        pytest.param(prefixed("orders-"), id="a longer prefix"),
        pytest.param(acl(principal="User:other"), id="another user"),
    ],
)
def test_a_narrower_grant_does_not_suffice(narrow: AclEntry) -> None:
    same = [Counterpart("TOPIC", "orders")]
    assert shortfall(same, [acl()], [narrow]) == Shortfall((acl(),))


@pytest.mark.parametrize("principal", [APP, "User:*"])
@pytest.mark.parametrize(
    ("operation", "lost"), [("READ", "READ"), ("ALL", "READ"), ("DESCRIBE", "DESCRIBE")], ids=["it", "all", "seeing it"]
)
def test_a_denial_on_the_target_is_reported_beside_what_it_denies(principal: str, operation: str, lost: str) -> None:
    """No further grant would help: a denial outranks every one."""
    denial = acl(operation=operation, principal=principal, permission="DENY")
    found = shortfall([Counterpart("TOPIC", "orders")], [acl()], [acl("*"), denial])
    assert found == Shortfall((), (Denial(acl(operation=lost), denial),))


def test_a_user_who_is_denied_what_everybody_may_on_the_source_is_reported() -> None:
    everybody = acl("*", principal="User:*")
    denial = acl(permission="DENY")
    found = shortfall([Counterpart("TOPIC", "orders")], [everybody], [everybody, denial])
    assert [denied.by for denied in found.denied] == [denial]


def test_a_denial_for_one_host_is_reported_although_others_may() -> None:
    denial = acl(permission="DENY", host="10.0.0.1")
    found = shortfall([Counterpart("TOPIC", "orders")], [acl()], [acl(), denial])
    assert [denied.by for denied in found.denied] == [denial]
    assert shortfall([Counterpart("TOPIC", "orders")], [acl(), denial], [acl(), denial]) == Shortfall()


def test_what_the_source_denies_is_not_opened_on_the_target() -> None:
    counterparts = [Counterpart("TOPIC", name, "", SELECTED) for name in ("payments-eu", "payments-hr")]
    source = [prefixed("payments-"), acl("payments-hr", permission="DENY")]
    assert shortfall(counterparts, source, []).missing == (acl("payments-eu"),)


def test_a_fence_on_the_source_hides_no_producer() -> None:
    """During a failover the source denies every write, and the producers still need theirs on the target."""
    fence = acl(operation="WRITE", principal="User:*", permission="DENY")
    source = [acl(operation="WRITE"), fence, fence._replace(principal="Fence:prod/orders")]
    assert shortfall([Counterpart("TOPIC", "orders")], source, []).missing == (acl(operation="WRITE"),)
    assert shortfall([Counterpart("TOPIC", "orders")], source[:2], []) == Shortfall()


def test_transactional_ids_are_compared_by_pattern() -> None:
    def ids(name: str, pattern: str = "PREFIXED", **changes: Any) -> AclEntry:
        return acl(name, "WRITE", resource="TRANSACTIONAL_ID", pattern=pattern, **changes)

    source = [ids("shop-"), ids("till", "LITERAL"), ids("*", "LITERAL", principal="User:other")]
    found = shortfall(transactional_ids(source), source, [ids("sh", principal=APP), ids("til"), ids("other-")])
    assert found.missing == (ids("*", "LITERAL", principal="User:other"),)
    assert shortfall(transactional_ids(source), source, [ids("shop-1")]).missing[1:] == (
        ids("shop-"),
        ids("till", "LITERAL"),
    )


def test_denied_transactional_ids_of_a_prefix_stay_denied() -> None:
    wide = acl("shop-", "WRITE", resource="TRANSACTIONAL_ID", pattern="PREFIXED")
    denied = wide._replace(name="shop-1", pattern="LITERAL", permission="DENY", principal="User:*")
    found = shortfall(transactional_ids([wide, denied]), [wide, denied], [])
    assert found.missing == (denied._replace(principal=APP), wide)


def test_the_flows_own_users_are_no_applications() -> None:
    assert shortfall(REMOTE, [acl()], [], {APP}) == Shortfall()


def test_users_of_a_group_are_those_that_may_use_it() -> None:
    entries = [group("checkout-", pattern="PREFIXED"), group("*", principal="User:b", operation="ALL")]
    denied = group("checkout-web", principal="User:b", permission="DENY")
    assert Authorizer(entries).users("GROUP", "checkout-web", "READ") == {APP, "User:b"}
    assert Authorizer([*entries, denied]).users("GROUP", "checkout-web", "READ") == {APP}


NAMES, HOSTS, PRINCIPALS = ("a", "ab", "abc", "b"), ("*", "h1", "h2"), ("User:*", "User:x", "User:y")
#: What the brokers are asked for: a host that no ACL names, and those that some do.
ASKED_HOSTS = ("h0", "h1", "h2")
ENTRIES = st.builds(
    AclEntry,
    st.sampled_from(PRINCIPALS),
    st.just("TOPIC"),
    st.sampled_from(["LITERAL", "PREFIXED"]),
    st.sampled_from([*NAMES, "*"]),
    st.sampled_from(["READ", "WRITE", "DESCRIBE", "ALL"]),
    st.sampled_from(["ALLOW", "ALLOW", "DENY"]),
    st.sampled_from(HOSTS),
)
SOME = st.lists(ENTRIES, max_size=5)
PREFIX = st.sampled_from(["", "r."])
BEGINNINGS = st.sampled_from([(), (("a", False),), (("ab", True), ("b", False)), (("", False),)])


def allowed(entries: Sequence[AclEntry], principal: str, host: str, operation: str, name: str) -> bool:
    """Kafka's authorizer, as its documentation says it."""
    matching = [
        entry
        for entry in entries
        if entry.principal in ("User:*", principal)
        and entry.host in ("*", host)
        and (name.startswith(entry.name) if entry.pattern == "PREFIXED" else entry.name in ("*", name))
    ]
    if any(entry.permission == "DENY" and entry.operation in ("ALL", operation) for entry in matching):
        return False
    implied = {"READ", "WRITE", "ALTER", "DELETE"} if operation == "DESCRIBE" else set()
    return any(entry.permission == "ALLOW" and entry.operation in {"ALL", operation, *implied} for entry in matching)


def usable(entries: Sequence[AclEntry], principal: str, host: str, operation: str, name: str) -> bool:
    """A client that may not see a topic cannot use it."""
    return all(allowed(entries, principal, host, needed, name) for needed in {operation, "DESCRIBE"})


@settings(derandomize=True, deadline=None)
@given(source=SOME, target=SOME, prefix=PREFIX, beginnings=BEGINNINGS)
def test_with_the_missing_acls_nothing_is_missing_and_only_what_is_said_to_be_denied_differs(
    source: list[AclEntry], target: list[AclEntry], prefix: str, beginnings: Any
) -> None:
    counterparts = [Counterpart("TOPIC", name, prefix, beginnings) for name in NAMES]
    found = shortfall(counterparts, source, target)
    there = [*target, *found.missing]
    denials = {(denied.allowed.name, denied.by) for denied in found.denied}
    again = shortfall(counterparts, source, there)
    assert again.missing == ()
    assert {(denied.allowed.name, denied.by) for denied in again.denied} == denials
    for principal in ("User:x", "User:y", "User:z"):
        for host in ASKED_HOSTS:
            for operation in ("READ", "WRITE"):
                for name in NAMES:
                    if usable(source, principal, host, operation, name):
                        may = usable(there, principal, host, operation, prefix + name)
                        told = any(
                            which == prefix + name and by.principal in ("User:*", principal) and by.host in ("*", host)
                            for which, by in denials
                        )
                        assert may or told, (principal, host, operation, name)


@settings(derandomize=True, deadline=None)
@given(source=SOME, prefix=PREFIX, beginnings=BEGINNINGS)
def test_the_missing_acls_open_nothing_that_the_source_does_not(
    source: list[AclEntry], prefix: str, beginnings: Any
) -> None:
    counterparts = [Counterpart("TOPIC", name, prefix, beginnings) for name in NAMES]
    there = shortfall(counterparts, source, []).missing
    for principal in ("User:x", "User:y", "User:z"):
        for host in ASKED_HOSTS:
            for operation in ("READ", "WRITE", "DESCRIBE"):
                for name in NAMES:
                    if allowed(there, principal, host, operation, prefix + name):
                        assert allowed(source, principal, host, operation, name), (principal, host, operation, name)
