"""What the newest published validation found is drift, too."""

import json

import pytest

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.report import CheckOutcome, error, fail, note
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.review.comparison import Drift
from kafka_replication.infra.review.drift import by_flow, topic_drift


def published(report: str, verdict: str = "pass") -> Manifest:
    metadata = {"name": "orders-validation", "namespace": "mirror-orders"}
    data = {"verdict": verdict, "digest": "sha256:0", "time": "2026-01-02T00:00:00+00:00", "report.json": report}
    return {"metadata": metadata, "data": data}


def test_a_topic_created_by_hand_is_reported_as_the_validation_found_it() -> None:
    findings = tuple(note(code, f"{code} of useast.x. Remedy: look") for code in ("foreign-topic", "group-active"))
    report = json.dumps({"checks": [CheckOutcome("parity", "", {}, findings).document()]})
    flows = {"orders": "mirror-orders", "never-validated": "mirror-never"}
    (drift,) = topic_drift("test", by_flow(flows, [published(report)]))
    assert (drift.code, drift.flow) == ("foreign-topic", "orders")
    assert drift.what == "foreign-topic of useast.x (seen by the validation of 2026-01-02T00:00:00+00:00)"
    assert "replicate validate test --publish" in drift.remedy


@pytest.mark.parametrize(
    ("checks", "what"),
    [
        pytest.param(
            [CheckOutcome("parity", "", {}, (error("compacted", "…"), note("n", "…")))],
            "the newest published validation could not check everything: parity (compacted)",
            id="a check",
        ),
        pytest.param([], "the newest published validation could not run", id="the whole flow"),
    ],
)
def test_a_validation_that_could_not_check_everything_is_drift(checks: list[CheckOutcome], what: str) -> None:
    report = json.dumps({"checks": [check.document() for check in checks]})
    (drift,) = topic_drift("test", {"orders": published(report, "error")})
    assert (drift.severity, drift.code, drift.what) == (Impact.NONE, "validation-unproven", what)


def test_a_failed_validation_is_drift_and_names_the_failed_checks() -> None:
    checks = [
        CheckOutcome("heartbeats-arrive", "", {}, (fail("heartbeat-stale", "…"),)),
        CheckOutcome("parity", "", {}, (fail("missing-records", "…"), fail("missing-records", "…"), note("n", "…"))),
        CheckOutcome("access", "", {}, (note("n", "…"),)),
    ]
    report = json.dumps({"checks": [check.document() for check in checks]})
    (drift,) = topic_drift("test", {"orders": published(report, "fail")})
    assert drift == Drift(
        Impact.DATA,
        "validation-failed",
        "orders",
        "ConfigMap mirror-orders/orders-validation",
        "the newest published validation failed: heartbeats-arrive (heartbeat-stale); parity (missing-records)",
        "the validation job",
        "2026-01-02T00:00:00+00:00",
        "`replicate validate test --flow orders --publish` says what to do, and replaces this verdict.",
    )


def test_a_validation_report_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(CannotRunError, match="cannot be read"):
        list(topic_drift("test", {"orders": published("{}")}))
