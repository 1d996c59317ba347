"""Least access, for real: flows run with nothing but the ACLs that are derived for them.

When one is revoked, the validation reports it by name. Most resources would not show it: they stay Ready.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kafka_replication.components.contract.parameters import FlowParameters, Parameters
from kafka_replication.components.contract.report import CheckName, CheckOutcome, FindingSeverity, FlowOutcome, Verdict
from kafka_replication.components.kafka.acls import CLUSTER_NAME
from kafka_replication.components.render.flow_acls import Acl, flow_acls, merged_acls
from kafka_replication.infra.local.acls import apply_acls, bindings
from kafka_replication.infra.local.endpoints import ADMIN, MIRROR, VALIDATOR, Region
from kafka_replication.infra.local.traffic import create_topics, end_offsets, produce
from kafka_replication.infra.machine.waiting import wait_for
from kafka_replication.infra.review.acls import acl_commands, stack_acls
from kafka_replication.spark.checks import access
from kafka_replication.spark.command_line import chosen_flows
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.flows import open_flow
from kafka_replication.spark.read.sessions import SessionOptions, spark_jvm
from tests.infra.kafka_tools import run_lines
from tests.local.flows import ARRIVAL_SECONDS, Deployed, check_named, outcome_text, source_acls
from tests.local.observed import expect_records

SECONDS = 60
USER = f"User:{MIRROR}"
VALIDATION_USER = f"User:{VALIDATOR}"
STAND_IN = "User:stand-in"


@dataclass(frozen=True)
class Taken:
    """One operation that is revoked from the flow `orders` on `cluster`."""

    cluster: str
    name: str
    operation: str
    resource: str = "topic"


def printed(deployed: Deployed) -> tuple[Acl, ...]:
    """What `replicate acls` prints, and the ACLs for the source of `ledger`, which is useast under another alias."""
    return merged_acls([*stack_acls(deployed.settings), *source_acls(deployed.flow("ledger"), "useast")])


def granted(region: Region, principal: str = USER) -> list[AclBinding]:
    admin = AdminClient(region.client_config(ADMIN))
    any_name: Any = None  # Its stubs know no wildcard.
    every = AclBindingFilter(
        ResourceType.ANY,
        any_name,
        ResourcePatternType.ANY,
        principal,
        any_name,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return list(admin.describe_acls(every, request_timeout=SECONDS).result(SECONDS))


def revoke(region: Region, *bound: AclBinding) -> None:
    exactly = [
        AclBindingFilter(
            *(each.restype, each.name, each.resource_pattern_type, each.principal),
            *(each.host, each.operation, each.permission_type),
        )
        for each in bound
    ]
    admin = AdminClient(region.client_config(ADMIN))
    for future in admin.delete_acls(exactly, request_timeout=SECONDS).values() if exactly else ():
        assert len(future.result(SECONDS)) == 1


@pytest.fixture(scope="module")
def least_access(deployed: Deployed) -> Deployed:
    """The deployed flows. Their users and the validation's user have only the ACLs that `replicate acls` prints."""
    wanted = printed(deployed)
    for region in deployed.endpoints.regions.values():
        apply_acls(region, wanted)
        for user in (USER, VALIDATION_USER):
            of_user = [acl for acl in wanted if (acl.cluster, acl.principal) == (region.alias, user)]
            needed = {binding for acl in of_user for binding in bindings(acl)}
            revoke(region, *(set(granted(region, user)) - needed))
            assert set(granted(region, user)) == needed != set()
    return deployed


@contextmanager
def without(region: Region, taken: Taken, principal: str = USER) -> Iterator[None]:
    """Revoke an operation from a user while the body runs."""
    kind, operation = ResourceType[taken.resource.upper()], AclOperation[taken.operation]
    matching = [
        each
        for each in granted(region, principal)
        if (each.restype, each.name, each.operation) == (kind, taken.name, operation)
    ]
    assert len(matching) == 1, f"{taken}: {matching}"
    revoke(region, *matching)
    try:
        yield
    finally:
        admin = AdminClient(region.client_config(ADMIN))
        for future in admin.create_acls(matching, request_timeout=SECONDS).values():
            future.result(SECONDS)


@pytest.fixture(scope="module")
def orders(least_access: Deployed) -> FlowParameters:
    """The parameters of the flow `orders`."""
    (parameters,) = chosen_flows(Parameters.model_validate(least_access.document), "orders")
    return parameters


@pytest.fixture(scope="module")
def stand_in(least_access: Deployed, orders: FlowParameters) -> FlowParameters:
    """The parameters of `orders` for another user with the same ACLs.

    A connector that loses an ACL fails if it happens to need it at that moment, and stays failed for a while.
    """
    acls = [replace(acl, principal=STAND_IN) for acl in flow_acls(least_access.flow())]
    for region in least_access.endpoints.regions.values():
        apply_acls(region, acls)
    needed = tuple(acl.model_copy(update={"principal": STAND_IN}) for acl in orders.acls or ())
    return orders.model_copy(update={"acls": needed})


def access_of(deployed: Deployed, parameters: FlowParameters) -> CheckOutcome:
    """The outcome of the access check alone."""
    with (
        spark_jvm(SessionOptions()) as spark,
        open_flow(parameters, spark, resolver(deployed.endpoints.kubeconfig), lambda _: None) as flow,
    ):
        return access.check_access(flow)


@pytest.fixture(scope="module")
def outcomes(least_access: Deployed) -> dict[str, FlowOutcome]:
    """Both flows, each validated once."""
    # A new topic needs rights that existing topics do not: to create a remote topic and to add partitions.
    source, target = (least_access.endpoints.regions[alias] for alias in ("useast", "uswest"))
    create_topics(source, {"payments-least": 2})
    produce(source, "payments-least", 40, seed=1)
    wait_for("payments-least to arrive", lambda: expect_records(target, "useast.payments-least", 40), ARRIVAL_SECONDS)
    assert sum(end_offsets(target, ["useast.payments-least"]).values()) == 40
    return {flow: least_access.validate(flow) for flow in ("orders", "ledger")}


@pytest.mark.parametrize("flow", ["orders", "ledger"], ids=["default policy", "identity policy"])
def test_a_flow_runs_and_is_proven_with_nothing_but_the_printed_acls(
    outcomes: dict[str, FlowOutcome], flow: str
) -> None:
    outcome = outcomes[flow]
    assert outcome.verdict is Verdict.PASS, outcome_text(outcome)
    looked = check_named(outcome, CheckName.ACCESS)
    assert looked.counts["missing"] == 0
    assert {finding.severity for finding in looked.findings} <= {FindingSeverity.NOTE}
    assert looked.counts["needed"] >= 30


def test_the_checks_of_a_healthy_flow_count_records_and_groups(outcomes: dict[str, FlowOutcome]) -> None:
    outcome = outcomes["orders"]
    assert {check.name for check in outcome.checks} >= {"heartbeats-arrive", "offsets-translate", "parity"}
    parity = check_named(outcome, "parity")
    assert parity.counts["sourceRecords"] == parity.counts["targetRecords"] >= 3600
    assert check_named(outcome, "offsets-translate").counts["proven"] > 0


def test_identity_policy_over_mutual_tls_replicates_under_the_same_names(outcomes: dict[str, FlowOutcome]) -> None:
    assert check_named(outcomes["ledger"], "parity").counts["targetRecords"] == 500
    assert check_named(outcomes["ledger"], "offsets-translate").counts["proven"] == 2


@pytest.mark.parametrize(
    "taken",
    [
        pytest.param(Taken("useast", "payments-", "READ"), id="topics that are then silently left out"),
        pytest.param(Taken("useast", "orders", "READ"), id="a topic whose polls then fail"),
        pytest.param(Taken("useast", "orders", "DESCRIBE_CONFIGS"), id="a topic that then stops every refresh"),
        pytest.param(Taken("uswest", "useast.checkpoints.internal", "READ"), id="checkpoints that then stop"),
        pytest.param(Taken("uswest", "useast.orders", "ALTER"), id="partitions that then never appear"),
        pytest.param(Taken("useast", "checkout-", "DESCRIBE", "group"), id="groups that are then silently left out"),
        pytest.param(
            Taken("uswest", "mirror-orders-offsets-internal", "READ"),
            id="the workers' offsets, without which they hang",
        ),
        pytest.param(Taken("useast", "heartbeats", "WRITE"), id="heartbeats that are then never sent"),
        pytest.param(Taken("useast", "mm2-offset-syncs.uswest.internal", "WRITE"), id="offset syncs that then stop"),
        pytest.param(Taken("uswest", "mirror-orders", "READ", "group"), id="the workers' own group"),
    ],
)
def test_a_revoked_permission_is_reported_by_name(
    least_access: Deployed, stand_in: FlowParameters, taken: Taken
) -> None:
    region = least_access.endpoints.regions[taken.cluster]
    with without(region, taken, STAND_IN):
        found = access_of(least_access, stand_in)
    missed = [finding for finding in found.findings if finding.code == "acl-missing"]
    assert found.verdict is Verdict.FAIL
    text = "\n".join(finding.message for finding in missed)
    assert f"{STAND_IN} {taken.operation} on {taken.resource} {taken.name}" in text, text
    assert f" of {taken.cluster}" in text
    assert f"--{taken.resource} {taken.name}" in text


def test_a_missing_permission_alone_fails_the_whole_validation(least_access: Deployed) -> None:
    """All replicated records are still there, so no other check can see what is wrong."""
    with without(least_access.endpoints.regions["uswest"], Taken("uswest", "useast.orders", "ALTER")):
        outcome = least_access.validate("orders")
    assert outcome.verdict is Verdict.FAIL
    assert [check.name for check in outcome.checks if check.verdict is not Verdict.PASS] == [CheckName.ACCESS], (
        outcome_text(outcome)
    )


def test_a_validator_that_may_not_see_acls_reports_an_error(least_access: Deployed, orders: FlowParameters) -> None:
    taken = Taken("uswest", "kafka-cluster", "DESCRIBE", "broker")
    region = least_access.endpoints.regions["uswest"]
    with without(region, taken, VALIDATION_USER):
        found = access_of(least_access, orders)
    by_code = {finding.code: finding.message for finding in found.findings}
    assert (found.verdict, by_code.keys() >= {"acls-not-visible"}) == (Verdict.ERROR, True)
    assert "is not judged: Kafka cluster uswest: ACLs could not be asked" in by_code["applications-not-judged"]


GRANTED = "User:granted"


def test_the_printed_commands_grant_the_derived_acls(deployed: Deployed, tmp_path: Path) -> None:
    """Runs one printed command for each type of resource and pattern with Kafka's own tool."""
    region = deployed.endpoints.regions["useast"]
    acls = [
        Acl("useast", GRANTED, "cluster", "literal", CLUSTER_NAME, ("DESCRIBE",)),
        Acl("useast", GRANTED, "group", "prefixed", "some-", ("READ",)),
        Acl("useast", GRANTED, "topic", "literal", "*", ("DESCRIBE_CONFIGS", "READ")),
        Acl("useast", GRANTED, "transactional_id", "literal", "some", ("WRITE",)),
    ]
    try:
        run_lines(region, list(acl_commands(acls, deployed.settings.topology)), tmp_path)
        assert set(granted(region, GRANTED)) == {binding for acl in acls for binding in bindings(acl)}
    finally:
        revoke(region, *granted(region, GRANTED))
