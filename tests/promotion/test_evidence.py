"""Evidence as it is kept, and what is read of a cluster's answers."""

import json
from dataclasses import replace
from typing import Any

import pytest
from kubernetes import client

from infra.errors import CannotRunError
from infra.promotion import cluster as cluster_module
from infra.promotion.cluster import Change, StackCluster, Validation, spec_change, validation_of
from infra.promotion.evidence import Evidence, FlowEvidence, evidence_config_map, read_evidence
from infra.promotion.rules import StackState
from infra.promotion.state import DeployedFlow, Seen, evidence_of
from infra.settings import read_settings
from tests.promotion.states import FLOW, MODEL, a_flow_state, a_proof, a_state, at

SUMMARY = {"parity": "3 of 3 equal"}


PUBLISHED = {"digest": FLOW, "verdict": "pass", "time": "2026-03-04T11:10:00+00:00", "report.json": '{"checks": []}'}


def a_flow_evidence(**overrides: Any) -> FlowEvidence:
    given = {"namespace": "mirror-orders", "digest": FLOW, "verdict": "pass", "validated_at": at("11:10")}
    return FlowEvidence(**{**given, "checks": {"parity": "pass"}, "summaries": SUMMARY, **overrides})


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


def test_evidence_is_kept_as_a_labelled_config_map() -> None:
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
                        "checks": {"parity": {"verdict": "pass", "summary": "3 of 3 equal"}},
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


def seen(state: StackState, **proof: Any) -> Seen:
    validation = Validation(a_proof(**proof), {"parity": "pass"}, SUMMARY)
    return Seen(state, {"orders": validation}, {"orders": DeployedFlow("mirror-orders", FLOW)}, None)


def test_evidence_says_what_was_seen() -> None:
    assert evidence_of(seen(a_state()), "ann", at("11:00"), None) == an_evidence()


def test_evidence_keeps_when_a_soak_time_began() -> None:
    newer = a_proof(at=at("11:40"))
    found = evidence_of(
        seen(a_state(a_flow_state(proof=newer), recorded_since=at("11:10")), at=at("11:40")), "", NOW, None
    )
    assert (found.validated_at, found.proven_since) == (at("11:40"), at("11:10"))


def test_what_failed_is_recorded_and_proves_nothing_since() -> None:
    failed = seen(a_state(a_flow_state(proof=a_proof(verdict="fail"))), verdict="fail")
    found = evidence_of(failed, "ann", NOW, None)
    assert (found.verdict, found.proven_since) == ("fail", None)


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param({"flows.json": "[]"}, id="a-list"),
        pytest.param({"flows.json": "{"}, id="no-json"),
        pytest.param({"flows.json": '{"orders": {}}'}, id="keys-missing"),
        pytest.param({"deployedAt": "2026-03-04T11:00:00"}, id="a-time-without-zone"),
        pytest.param({"validatedAt": "yesterday"}, id="no-time"),
    ],
)
def test_evidence_that_was_edited_is_told_with_how_to_renew_it(
    monkeypatch: pytest.MonkeyPatch, edited: dict[str, str]
) -> None:
    data = {**evidence_config_map(an_evidence(), "evidence")["data"], **edited}
    with pytest.raises(CannotRunError, match="promote --to prod-us-west-2`") as caught:
        a_cluster_with(monkeypatch, data).evidence("evidence")
    assert caught.value.where == "stack prod-us-west-2, configmap evidence/promotion-prod-us-west-2"


def test_a_verdict_of_another_word_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = json.loads(evidence_config_map(an_evidence(), "evidence")["data"]["flows.json"])
    flows["orders"]["verdict"] = "passed"
    data = {**evidence_config_map(an_evidence(), "evidence")["data"], "flows.json": json.dumps(flows)}
    with pytest.raises(CannotRunError, match="`passed` is no verdict"):
        a_cluster_with(monkeypatch, data).evidence("evidence")


@pytest.mark.parametrize(
    "edited",
    [{"verdict": "passed"}, {"time": "2026-03-04T11:10:00"}, {"report.json": '{"checks": {}}', "passingSince": "x"}],
    ids=["another-word", "a-time-without-zone", "no-time"],
)
def test_a_published_validation_that_was_edited_is_told_with_how_to_renew_it(
    monkeypatch: pytest.MonkeyPatch, edited: dict[str, str]
) -> None:
    with pytest.raises(CannotRunError, match="validate prod-us-west-2 --publish`"):
        a_cluster_with(monkeypatch, {**PUBLISHED, **edited}).validation("orders", "mirror-orders")


def a_cluster_with(monkeypatch: pytest.MonkeyPatch, data: dict[str, str]) -> StackCluster:
    """A cluster in which every ConfigMap holds `data`."""
    monkeypatch.setattr(cluster_module, "api_client", lambda _: client.ApiClient())
    monkeypatch.setattr(
        client.CoreV1Api, "read_namespaced_config_map", lambda *_, **__: client.V1ConfigMap(data=data), raising=True
    )
    return StackCluster(read_settings("prod-us-west-2"))


def an_entry(time: str, fields: str = "f:spec", manager: str = "pulumi-kubernetes", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "time": f"2026-03-04T{time}:00Z", "fieldsV1": {fields: {}}, **more}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([], Change(at("10:00"), ""), id="nobody is noted: its creation"),
        pytest.param([an_entry("11:00")], Change(at("11:00"), "pulumi-kubernetes"), id="Pulumi"),
        pytest.param(
            [an_entry("11:00"), an_entry("11:30", manager="kubectl-edit")],
            Change(at("11:30"), "kubectl-edit"),
            id="a hand",
        ),
        pytest.param(
            [an_entry("11:00"), an_entry("11:30", "f:status", subresource="status")],
            Change(at("11:00"), "pulumi-kubernetes"),
            id="a status is no change",
        ),
        pytest.param(
            [an_entry("11:00"), an_entry("11:30", "f:metadata", manager="kubectl-annotate")],
            Change(at("11:00"), "pulumi-kubernetes"),
            id="an annotation is no change",
        ),
    ],
)
def test_the_last_change_of_an_object_is_that_of_its_spec(entries: list[dict[str, Any]], expected: Change) -> None:
    assert spec_change({"creationTimestamp": "2026-03-04T10:00:00Z", "managedFields": entries}) == expected


def test_a_published_validation_is_read_with_what_did_not_pass() -> None:
    checks = [
        {"name": "parity", "verdict": "fail", "summary": "3 missing"},
        {"name": "access", "verdict": "pass", "summary": "0 missing"},
    ]
    report = json.dumps({"checks": checks})
    data = {"digest": FLOW, "verdict": "fail", "time": "2026-03-04T11:10:00+00:00", "report.json": report}
    found = validation_of(data)
    assert found.proof == replace(a_proof(), verdict="fail", not_passed=("parity",))
    assert found.summaries == {"parity": "3 missing", "access": "0 missing"}


def test_a_published_validation_says_since_when_it_passes() -> None:
    time = "2026-03-04T11:10:00+00:00"
    data = {"digest": FLOW, "verdict": "pass", "time": time, "passingSince": "2026-03-04T10:00:00+00:00"}
    found = validation_of({**data, "report.json": json.dumps({"checks": []})})
    assert found.proof == a_proof(passing_since=at("10:00"))


NOW = at("11:50")
