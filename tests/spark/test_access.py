"""access: a missing permission is reported with the command that grants it; one that cannot be seen is no failure."""

from collections.abc import Collection
from typing import Any, cast

import pytest

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.parameters import AclParameters, ClusterParameters
from kafka_replication.components.contract.readiness import Missing, Readiness
from kafka_replication.components.contract.remedies import with_remedies
from kafka_replication.components.contract.report import (
    CheckName,
    CheckOutcome,
    Coverage,
    FindingSeverity,
    Verdict,
    accepting,
)
from kafka_replication.components.kafka.acls import AclEntry, Need
from kafka_replication.spark.checks.access import ClusterAccess, application_notes, cut_bundle, needs_of, outcome
from kafka_replication.spark.read.flows import FlowCluster
from tests.spark.documents import a_cluster, a_flow

USER = "User:mirror"
READ = AclEntry(USER, "TOPIC", "LITERAL", "orders", "READ")


class KnownAcls:
    """A fake cluster with these ACLs. With `refusal`, it raises an error with that code instead."""

    def __init__(self, *entries: AclEntry, refusal: str = "", open_to_all: bool = False) -> None:
        self.entries, self.refusal, self.open_to_all = entries, refusal, open_to_all

    def acls(self, principals: Collection[str]) -> list[AclEntry]:
        if self.refusal:
            raise ClusterError(self.refusal, "no", "useast", "It refused.", "nothing")
        return [each for each in self.entries if each.principal in principals]

    def has_acl(self, resource: str, name: str) -> bool:
        return any((each.resource, each.name) == (resource, name) for each in self.entries)

    def brokers_set(self, name: str) -> bool:
        return self.open_to_all and name == "allow.everyone.if.no.acl.found"


def judged(known: KnownAcls, *needs: Need, **existing: Collection[str]) -> CheckOutcome:
    cluster = ClusterParameters.model_validate(a_cluster())
    return outcome(ClusterAccess(cast(FlowCluster, known), cluster, needs, existing))


def a_need(*operations: str, **changes: Any) -> Need:
    given: dict[str, Any] = {"resource": "TOPIC", "pattern": "literal", "name": "orders", **changes}
    return Need(USER, operations=operations, **given)


def codes(found: CheckOutcome) -> list[str]:
    return [finding.code for finding in found.findings]


def test_granted_permissions_pass_and_are_counted() -> None:
    found = judged(KnownAcls(READ), a_need("READ"))
    assert (found.verdict, found.counts) == (Verdict.PASS, {"needed": 1, "missing": 0})


def test_a_missing_permission_is_named_with_the_command_that_grants_it() -> None:
    found = judged(KnownAcls(READ), a_need("DESCRIBE_CONFIGS", "READ"))
    (finding,) = found.findings
    assert (found.verdict, finding.code) == (Verdict.FAIL, "acl-missing")
    assert finding.message == (
        "no ACL allows User:mirror DESCRIBE_CONFIGS on topic orders of useast. Remedy: kafka-acls.sh "
        "--bootstrap-server 127.0.0.1:9093 --command-config FILE --add --allow-principal User:mirror "
        "--operation DescribeConfigs --topic orders"
    )


@pytest.mark.parametrize(
    ("need", "end"),
    [
        pytest.param(
            a_need("READ", name="app-", resource="GROUP", pattern="prefixed"),
            "--operation Read --group app- --resource-pattern-type prefixed",
            id="groups by prefix",
        ),
        pytest.param(a_need("READ", name="*"), "--operation Read --topic '*'", id="every topic"),
        pytest.param(
            a_need("ALTER", name="kafka-cluster", resource="CLUSTER"), "--operation Alter --cluster", id="the cluster"
        ),
        pytest.param(
            a_need("WRITE", name="t", resource="TRANSACTIONAL_ID"),
            "--operation Write --transactional-id t",
            id="a transactional id",
        ),
    ],
)
def test_the_command_names_each_type_of_resource(need: Need, end: str) -> None:
    (finding,) = judged(KnownAcls(READ), need).findings
    assert finding.message.endswith(end)


def test_a_deny_acl_is_reported_as_denied() -> None:
    found = judged(KnownAcls(READ, READ._replace(permission="DENY")), a_need("READ"))
    assert (found.verdict, codes(found)) == (Verdict.FAIL, ["acl-denied"])


@pytest.mark.parametrize(
    ("known", "code"),
    [
        pytest.param(KnownAcls(refusal="not-authorized"), "acls-not-visible", id="the job may not look"),
        pytest.param(KnownAcls(), "principal-without-acls", id="a super user, or one by another name"),
    ],
)
def test_permissions_that_cannot_be_judged_are_counted_and_pass_only_if_accepted(known: KnownAcls, code: str) -> None:
    found = judged(known, a_need("READ"))
    assert (found.verdict, codes(found), found.coverage) == (
        Verdict.ERROR,
        [code],
        Coverage("permissions", 0, {code: 1}),
    )
    assert accepting(found, {code: "audited"}).verdict is Verdict.PASS


def test_without_an_authorizer_every_permission_counts_as_granted() -> None:
    found = judged(KnownAcls(refusal="authorizer-off"), a_need("READ"))
    assert (found.verdict, codes(found)) == (Verdict.PASS, ["authorizer-off"])


def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(ClusterError) as raised:
        judged(KnownAcls(refusal="unreachable"), a_need("READ"))
    assert raised.value.code == "unreachable"


def test_an_unknown_principal_is_reported() -> None:
    assert codes(judged(KnownAcls(READ))) == ["principal-unknown"]


def test_a_resource_without_acls_is_open_if_the_brokers_allow_it() -> None:
    found = judged(KnownAcls(READ, open_to_all=True), a_need("READ", name="payments"))
    assert (found.verdict, codes(found)) == (Verdict.PASS, ["open-to-all"])


def test_a_resource_with_another_users_acl_is_closed_even_if_brokers_allow_everyone() -> None:
    other = AclEntry("User:app", "TOPIC", "LITERAL", "payments", "READ")
    found = judged(KnownAcls(READ, other, open_to_all=True), a_need("READ", name="payments"))
    assert codes(found) == ["acl-missing"]


def test_acls_on_all_existing_topics_pass_in_place_of_a_wildcard() -> None:
    found = judged(KnownAcls(READ), a_need("READ", name="*"), TOPIC=["orders"])
    assert (found.verdict, codes(found)) == (Verdict.PASS, ["acl-narrower"])


def test_missing_permissions_after_the_first_20_are_only_counted() -> None:
    found = judged(KnownAcls(READ), a_need("READ", name="*"), TOPIC=[f"t{index:04}" for index in range(1000)])
    assert (len(found.findings), found.counts["missing"]) == (21, 1000)
    assert found.findings[-1].message == "ACLs are missing for 980 more resources"


def test_each_cluster_is_checked_for_its_own_acls_only() -> None:
    given = {"principal": USER, "resource": "group", "pattern": "literal", "name": "app", "operations": ["READ"]}
    acls = tuple(AclParameters.model_validate({**given, "cluster": side}) for side in ("source", "target"))
    assert needs_of(acls, "target") == (Need(USER, "GROUP", "literal", "app", ("READ",)),)


READY = Readiness(flow="orders", source="useast", target="uswest", applications=("User:shop",))
LACKING = Missing(kind="acl", text="User:shop lacks Read on group checkout-web", command="kafka-acls.sh …")
CANNOT = (
    "applications cannot all start on uswest: 1 ACL missing or different: User:shop lacks Read on group checkout-web"
)
UNJUDGED = "whether all applications can start on uswest is not judged: uswest shows no ACLs"


@pytest.mark.parametrize(
    ("missing", "not_judged", "said"),
    [
        pytest.param((), (), {}, id="nothing is missing"),
        pytest.param((LACKING,), (), {"applications-cannot-start": CANNOT}, id="an ACL is missing"),
        pytest.param((), ("uswest shows no ACLs",), {"applications-not-judged": UNJUDGED}, id="ACLs are not shown"),
        pytest.param(
            (LACKING,),
            ("uswest shows no ACLs",),
            {"applications-cannot-start": CANNOT, "applications-not-judged": UNJUDGED},
            id="both",
        ),
    ],
)
def test_what_applications_lack_is_noted_and_so_is_what_was_not_judged(
    missing: tuple[Missing, ...], not_judged: tuple[str, ...], said: dict[str, str]
) -> None:
    notes = list(application_notes(READY.model_copy(update={"missing": missing, "not_judged": not_judged})))
    assert {finding.code: finding.message for finding in notes} == said
    assert CheckOutcome(CheckName.ACCESS, "", {}, tuple(notes)).verdict is Verdict.PASS


def test_the_remedy_is_the_command_that_prints_what_adds_it() -> None:
    notes = application_notes(READY.model_copy(update={"missing": (LACKING,)}))
    (finding,) = with_remedies(CheckOutcome(CheckName.ACCESS, "", {}, tuple(notes)), a_flow(), "prod").findings
    assert finding.message == f"{CANNOT}. Remedy: before a failover, run what `replicate ready prod orders` prints"


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("count", "trust", "noted"),
    [
        pytest.param(2, {}, True, id="two certificates in one key"),
        pytest.param(1, {}, False, id="one certificate"),
        pytest.param(2, {"workersReadOthers": True}, False, id="workers read other keys"),
        pytest.param(2, {"format": "JKS", "password": {"env": "P"}}, False, id="a truststore, which has them all"),
    ],
)
def test_certificates_that_workers_do_not_use_are_noted_with_what_to_set(
    count: int, trust: dict[str, Any], noted: bool
) -> None:
    """Connectors can reach a broker whose certificate the second authority signed; workers cannot."""
    given = {"format": "PEM", "certificates": {"env": "CA"}, **trust}
    finding = cut_bundle(ClusterParameters.model_validate(a_cluster(trust=given)), CERTIFICATE * count)
    assert (finding is not None) is noted
    if finding is not None:
        assert (finding.code, finding.severity) == ("ca-bundle-cut", FindingSeverity.NOTE)
        assert "holds 2 certificates" in finding.message
        assert "set `pattern` beside `key`" in finding.message
