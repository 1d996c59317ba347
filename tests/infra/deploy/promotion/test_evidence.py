"""Evidence as it is recorded, and what is read from a cluster's objects."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import CheckOutcome, fail
from kafka_replication.infra.deploy.promotion.rule.evidence import (
    Evidence,
    FlowEvidence,
    StackCluster,
    evidence_config_map,
    evidence_of,
    known_state,
    proof_of,
    read_evidence,
    spec_writer,
)
from kafka_replication.infra.deploy.promotion.rule.rules import CheckResult, FlowProof, FlowState, StackState
from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.kubernetes.managed_fields import FieldOwner
from kafka_replication.infra.stack.settings import read_settings
from tests.infra.deploy.promotion.states import FLOW, MODEL, a_flow_state, a_proof, a_state, at
from tests.repository import STACKS

CHECKS = {"parity": CheckResult("pass", "3 of 3 equal")}


PUBLISHED = {"digest": FLOW, "verdict": "pass", "time": "2026-03-04T11:10:00+00:00", "report.json": '{"checks": []}'}


def a_flow_evidence(**overrides: Any) -> FlowEvidence:
    return FlowEvidence("mirror-orders", a_proof(checks=CHECKS, **overrides))


def an_evidence(**overrides: Any) -> Evidence:
    given: dict[str, Any] = {
        "stack": "one",
        "model_digest": MODEL,
        "deployed_at": at("11:00"),
        "validated_at": at("11:10"),
        "who": "ann",
        "flows": {"orders": a_flow_evidence()},
        "proven_since": at("11:10"),
    }
    return Evidence(**{**given, **overrides})


def test_evidence_is_recorded_as_a_labelled_config_map() -> None:
    assert evidence_config_map(an_evidence(allow_unproven="outage"), "evidence") == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "promotion-one",
            "namespace": "evidence",
            "labels": {"app.kubernetes.io/managed-by": "replication-promotion", "replication/verdict": "pass"},
        },
        "data": {
            "stack": "one",
            "modelDigest": MODEL,
            "verdict": "pass",
            "deployedAt": "2026-03-04T11:00:00+00:00",
            "validatedAt": "2026-03-04T11:10:00+00:00",
            "provenSince": "2026-03-04T11:10:00+00:00",
            "who": "ann",
            "allowUnproven": "outage",
            "flows.json": json.dumps(
                {
                    "orders": {
                        "namespace": "mirror-orders",
                        "digest": FLOW,
                        "verdict": "pass",
                        "validatedAt": "2026-03-04T11:10:00+00:00",
                        "checks": {"parity": {"verdict": "pass", "summary": "3 of 3 equal", "accepted": {}}},
                    }
                },
                indent=2,
            ),
        },
    }


@pytest.mark.parametrize(
    "evidence",
    [an_evidence(), an_evidence(allow_unproven="outage", proven_since=None)],
    ids=["proven", "deployed unproven"],
)
def test_evidence_is_read_as_it_was_written(evidence: Evidence) -> None:
    assert read_evidence(evidence_config_map(evidence, "evidence")["data"]) == evidence


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [(["pass", "pass"], "pass"), (["pass", "error"], "error"), (["error", "fail"], "fail"), ([], "error")],
)
def test_the_verdict_of_a_stack_is_the_worst_of_its_flows(verdicts: list[str], expected: str) -> None:
    flows = {str(index): a_flow_evidence(verdict=verdict) for index, verdict in enumerate(verdicts)}
    assert an_evidence(flows=flows).verdict == expected


def test_evidence_holds_the_validations_results() -> None:
    state = a_state(a_flow_state(proof=a_proof(checks=CHECKS, passing_since=at("11:10"))))
    assert evidence_of(state, "ann", at("11:00"), None) == an_evidence()


def test_evidence_keeps_the_start_of_a_soak_time() -> None:
    newer = a_proof(at=at("11:40"))
    found = evidence_of(a_state(a_flow_state(proof=newer), recorded_since=at("11:10")), "", NOW, None)
    assert (found.validated_at, found.proven_since) == (at("11:40"), at("11:10"))


def test_a_failure_is_recorded_and_ends_the_proof() -> None:
    found = evidence_of(a_state(a_flow_state(proof=a_proof(verdict="fail"))), "ann", NOW, None)
    assert (found.verdict, found.proven_since) == ("fail", None)


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param({"flows.json": "[]"}, id="a-list"),
        pytest.param({"flows.json": "{"}, id="not-json"),
        pytest.param({"flows.json": '{"orders": {}}'}, id="keys-missing"),
        pytest.param({"deployedAt": "2026-03-04T11:00:00"}, id="a-time-without-zone"),
        pytest.param({"validatedAt": "yesterday"}, id="not-a-time"),
    ],
)
def test_edited_evidence_is_refused_with_the_command_that_renews_it(
    monkeypatch: pytest.MonkeyPatch, edited: dict[str, str]
) -> None:
    data = {**evidence_config_map(an_evidence(), "evidence")["data"], **edited}
    with pytest.raises(CannotRunError, match="promote --to prod-us-west-2`") as caught:
        a_cluster_with(monkeypatch, data).evidence("evidence")
    assert caught.value.where == "stack prod-us-west-2, configmap evidence/promotion-prod-us-west-2"


def test_evidence_with_an_unknown_verdict_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = json.loads(evidence_config_map(an_evidence(), "evidence")["data"]["flows.json"])
    flows["orders"]["verdict"] = "passed"
    data = {**evidence_config_map(an_evidence(), "evidence")["data"], "flows.json": json.dumps(flows)}
    with pytest.raises(CannotRunError, match="the record cannot be read: `passed` is not a verdict"):
        a_cluster_with(monkeypatch, data).evidence("evidence")
    del data["flows.json"]
    with pytest.raises(CannotRunError, match=r"the record cannot be read: 'flows\.json' is missing"):
        a_cluster_with(monkeypatch, data).evidence("evidence")


@pytest.mark.parametrize(
    "edited",
    [{"verdict": "passed"}, {"time": "2026-03-04T11:10:00"}, {"report.json": '{"checks": {}}', "passingSince": "x"}],
    ids=["unknown-verdict", "a-time-without-zone", "not-a-time"],
)
def test_an_edited_validation_is_refused_with_the_command_that_renews_it(
    monkeypatch: pytest.MonkeyPatch, edited: dict[str, str]
) -> None:
    with pytest.raises(CannotRunError, match="validate prod-us-west-2 --publish`"):
        a_cluster_with(monkeypatch, {**PUBLISHED, **edited}).validation("orders", "mirror-orders")


@dataclass(frozen=True)
class Everywhere:
    """A cluster in which every object is a ConfigMap with this data."""

    data: dict[str, str]

    def get(self, _: Reference) -> Object:
        return {"data": self.data}


def a_cluster_with(monkeypatch: pytest.MonkeyPatch, data: dict[str, str]) -> StackCluster:
    """A cluster in which every ConfigMap holds `data`."""
    monkeypatch.setattr("kafka_replication.infra.kubernetes.access.api_client", lambda *_: Everywhere(data))
    return StackCluster(read_settings("prod-us-west-2", STACKS))


def an_entry(time: str, fields: str = "f:spec", manager: str = "pulumi-kubernetes", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "time": f"2026-03-04T{time}:00Z", "fieldsV1": {fields: {}}, **more}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([], FieldOwner("", "2026-03-04T10:00:00Z"), id="no writer recorded: its creation"),
        pytest.param([an_entry("11:00")], FieldOwner("pulumi-kubernetes", "2026-03-04T11:00:00Z"), id="Pulumi"),
        pytest.param(
            [an_entry("11:00"), an_entry("11:30", manager="kubectl-edit")],
            FieldOwner("kubectl-edit", "2026-03-04T11:30:00Z"),
            id="a manual edit",
        ),
        pytest.param(
            [an_entry("11:00"), an_entry("11:30", "f:status", subresource="status")],
            FieldOwner("pulumi-kubernetes", "2026-03-04T11:00:00Z"),
            id="a new status is no change",
        ),
        pytest.param(
            [an_entry("11:00"), an_entry("11:30", "f:metadata", manager="kubectl-annotate")],
            FieldOwner("pulumi-kubernetes", "2026-03-04T11:00:00Z"),
            id="an annotation is no change",
        ),
    ],
)
def test_only_a_change_of_the_spec_counts_as_a_change_of_an_object(
    entries: list[dict[str, Any]], expected: FieldOwner
) -> None:
    metadata = {"creationTimestamp": "2026-03-04T10:00:00Z", "managedFields": entries}
    assert spec_writer({"metadata": metadata}) == expected


class Listed:
    """A cluster that lists these objects of each kind."""

    def __init__(self, *items: Object) -> None:
        self.items = items

    def list_if_served(self, *_: str, **__: str) -> list[Object]:
        return list(self.items)


def test_of_two_changes_in_one_second_the_one_with_a_known_writer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times have whole seconds, and otherwise the order in which the API server lists objects would decide."""
    unknown = {"metadata": {"creationTimestamp": "2026-03-04T11:00:00Z"}}
    edit = {"metadata": {"creationTimestamp": "2026-03-04T10:00:00Z", "managedFields": [an_entry("11:00")]}}
    for listed in (Listed(unknown, edit), Listed(edit, unknown)):
        monkeypatch.setattr("kafka_replication.infra.kubernetes.access.api_client", lambda *_, it=listed: it)
        cluster = StackCluster(read_settings("prod-us-west-2", STACKS))
        assert cluster.last_change("mirror-orders") == FieldOwner("pulumi-kubernetes", "2026-03-04T11:00:00Z")


class EditedMeanwhile(StackCluster):
    """A cluster in which somebody edits a flow right after its proof was read."""

    def __init__(self) -> None:
        self.edited = False

    def validation(self, flow: str, namespace: str) -> FlowProof | None:  # noqa: ARG002
        self.edited = True
        return a_proof()

    def last_change(self, namespace: str) -> FieldOwner | None:  # noqa: ARG002
        return (
            FieldOwner("kubectl-edit", "2026-03-04T11:30:00Z")
            if self.edited
            else FieldOwner("", "2026-03-04T11:00:00Z")
        )

    def evidence(self, namespace: str) -> Evidence | None:  # noqa: ARG002
        return None


def test_a_change_after_the_proof_was_read_still_counts() -> None:
    """Otherwise the proof would also hold for what it has not seen."""
    state = StackState("prod-us-west-2", MODEL, (FlowState("orders", "mirror-orders", FLOW),))
    known = known_state(read_settings("prod-us-west-2", STACKS), state, None, EditedMeanwhile())
    (flow,) = known.flows
    assert (flow.proof, flow.changed_at, flow.changed_by) == (a_proof(), at("11:30"), "kubectl-edit")


def test_a_published_validation_names_the_checks_that_did_not_pass() -> None:
    outcomes = [
        CheckOutcome("parity", "3 missing", {}, (fail("missing-records", "orders: 3 records are missing", 3),)),
        CheckOutcome("access", "0 missing", {}),
    ]
    report = json.dumps({"checks": [check.document() for check in outcomes]})
    data = {"digest": FLOW, "verdict": "fail", "time": "2026-03-04T11:10:00+00:00", "report.json": report}
    checks = {"parity": CheckResult("fail", "3 missing"), "access": CheckResult("pass", "0 missing")}
    assert proof_of(data) == a_proof(verdict="fail", checks=checks)


def test_a_published_validation_says_since_when_it_has_passed() -> None:
    time = "2026-03-04T11:10:00+00:00"
    data = {"digest": FLOW, "verdict": "pass", "time": time, "passingSince": "2026-03-04T10:00:00+00:00"}
    found = proof_of({**data, "report.json": json.dumps({"checks": []})})
    assert found == a_proof(passing_since=at("10:00"))


NOW = at("11:50")
