"""A verdict of any size fits into a ConfigMap, and its readers find what was published."""

import base64
import random
from dataclasses import replace
from datetime import datetime

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.published_verdict import (
    BINARY,
    LEFT_OUT,
    PACKED,
    entries,
    read_history,
    read_topic_ids,
    read_verdict,
    verdict_data,
)
from kafka_replication.components.contract.report import (
    CheckName,
    CheckOutcome,
    Depth,
    Finding,
    FindingSeverity,
    FlowOutcome,
    Verdict,
    error,
    fail,
)
from kafka_replication.infra.deploy.promotion.rule.evidence import proof_of
from kafka_replication.infra.deploy.promotion.rule.rules import FlowState, StackState, reasons_against
from kafka_replication.infra.review.drift import topic_drift
from kafka_replication.spark.report.publish import config_map, stays
from tests.spark.reports import flow, heartbeats, offsets, parity

MEBIBYTE = 1024 * 1024
REMEDY = "Remedy: let the group consume on useast up to the checkpoint. Otherwise it may skip the records in between"


def findings(groups: int, partitions: int) -> tuple[Finding, ...]:
    """One failure for each group and partition, at offsets that do not repeat."""
    offset = random.Random(1).randrange
    sentence = "group checkout-{:03} on orders-{}: the checkpoint {} is ahead of the committed offset {}. " + REMEDY
    return tuple(
        fail("checkpoint-ahead", sentence.format(group, partition, offset(10**9), offset(10**9)))
        for group in range(groups)
        for partition in range(partitions)
    )


def noise(count: int) -> tuple[Finding, ...]:
    """Failures whose messages cannot be compressed."""
    given = random.Random(1)
    return tuple(fail("checkpoint-ahead", given.randbytes(450).hex()) for _ in range(count))


def outcome(*found: Finding) -> FlowOutcome:
    check = replace(offsets(), findings=found)
    return replace(flow("orders", "useast", "uswest", check), topic_ids={"useast": {"orders": "Zz"}})


def size(data: dict[str, str]) -> int:
    """What Kubernetes counts: the text of data and the bytes of binaryData."""
    return sum(len(base64.b64decode(value)) if key in BINARY else len(value.encode()) for key, value in data.items())


def test_fifty_thousand_findings_fit_into_the_config_map_and_are_read_back() -> None:
    """500 groups on 100 partitions: over 14 MB as JSON."""
    big = outcome(*findings(500, 100))
    data = verdict_data(big, None)
    assert size(data) < MEBIBYTE
    assert read_verdict(data).checks[3].findings == big.checks[3].findings
    assert read_topic_ids(data) == {"useast": {"orders": "Zz"}}
    assert data["checks"].splitlines()[3].startswith("offsets-translate: fail, ")


def test_findings_that_do_not_fit_are_counted_and_every_code_is_kept() -> None:
    accepted = replace(error("target-expired", "…"), severity=FindingSeverity.ACCEPTED, accepted="why")
    big = outcome(*noise(3_000), accepted, error("no-offset-sync", "x" * 5_000))
    data = verdict_data(big, None)
    assert size(data) < MEBIBYTE
    check = read_verdict(data).checks[3]
    assert check.verdict is Verdict.FAIL
    assert check.accepted == {"target-expired": "why"}
    assert [each.code for each in check.findings[100:]] == ["target-expired", "no-offset-sync", LEFT_OUT]
    assert check.findings[101].message.endswith("x … (4000 more characters)")
    assert check.findings[-1].count == 2_900
    assert check.findings[-1].message.startswith(
        "2900 findings did not fit into the published verdict: 2900 checkpoint-ahead."
    )


def test_topic_ids_are_left_out_if_the_findings_need_their_space() -> None:
    given = random.Random(1)
    ids = {alias: {given.randbytes(100).hex(): given.randbytes(11).hex() for _ in range(5_000)} for alias in "ab"}
    data = verdict_data(replace(outcome(*noise(3)), topic_ids=ids), None)
    assert size(data) < MEBIBYTE
    assert read_verdict(data).checks[3].findings[0].code == "checkpoint-ahead"
    assert read_topic_ids(data) == {}


def test_a_small_verdict_is_published_as_plain_text() -> None:
    published = config_map(outcome())
    assert published.data is not None
    assert published.data["report.json"].startswith("{\n")
    assert PACKED not in (published.binary_data or {})


def test_promotion_drift_and_the_next_run_read_the_packed_report() -> None:
    foreign = tuple(fail("foreign-topic", f"t{each:05}: nobody replicates it. {REMEDY}") for each in range(3_000))
    published = config_map(flow("orders", "a", "b", parity(*foreign)))
    assert published.data is not None
    assert PACKED not in published.data
    assert published.binary_data is not None
    body = {
        "metadata": {"name": "orders-validation", "namespace": "ns"},
        "data": published.data,
        "binaryData": published.binary_data,
    }
    assert proof_of(entries(body)).checks[CheckName.PARITY].verdict == "fail"
    assert len(list(topic_drift("prod", {"orders": body}))) == 3_001
    again = config_map(flow("orders", "a", "b"), entries(body))
    assert PACKED not in (again.binary_data or {})


@pytest.mark.parametrize("packed", ["!", "aGVsbG8=", base64.b64encode(b"\x1f\x8b\x08\x00").decode()])
def test_a_damaged_packed_report_is_refused(packed: str) -> None:
    with pytest.raises(ValueError, match="not compressed JSON"):
        read_verdict({"verdict": "pass", "digest": "d", "time": "t", PACKED: packed})


@pytest.mark.parametrize(
    "report",
    [
        '{"checks": ["x"]}',
        '{"checks": [{"coverage": "x"}]}',
        '{"checks": [[]]}',
        # A pass that does not say what was not judged.
        '{"checks": [{"name": "parity", "summary": "", "counts": {}, "coverage": {"unit": "topics", "judged": 1}}]}',
    ],
)
def test_a_report_of_the_wrong_form_is_refused(report: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_verdict({"verdict": "pass", "digest": "d", "time": "t", "report.json": report})


def test_a_published_quick_verdict_is_refused() -> None:
    with pytest.raises(ValueError, match="the verdict is partial, which is never published"):
        read_verdict(verdict_data(outcome(), None) | {"verdict": "partial"})
    quick = replace(parity(), left_out="not compared: all")
    data = verdict_data(flow("orders", "a", "b", quick), None) | {"verdict": "pass"}
    with pytest.raises(ValueError, match="the checks of the report say partial"):
        read_verdict(data)


@pytest.mark.parametrize("finding", [fail("missing-records", "3"), error("compacted", "…")], ids=["fail", "error"])
def test_a_published_pass_that_its_checks_contradict_is_refused(finding: Finding) -> None:
    data = verdict_data(outcome(finding), None) | {"verdict": "pass"}
    words = f"the verdict is pass, but the checks of the report say {finding.severity}"
    with pytest.raises(ValueError, match=words):
        read_verdict(data)
    body = {"metadata": {"name": "orders-validation", "namespace": "ns"}, "data": data}
    with pytest.raises(CannotRunError, match=f"verdict-unreadable: .*{words}"):
        list(topic_drift("prod", {"orders": body}))


EARLY, CHANGED, LATE = (f"2026-01-02T03:{minute}:00+00:00" for minute in ("04", "09", "14"))
FAILED = parity(fail("missing-records", "3"))


def a_run(began: str, ended: str, *instead: CheckOutcome, digest: str = "sha256:0f") -> FlowOutcome:
    return replace(flow("orders", "useast", "uswest", *instead), began_at=began, checked_at=ended, digest=digest)


#: It continued from what was proven when it began.
INCREMENTAL = replace(a_run(CHANGED, LATE), depth=Depth.INCREMENTAL)


def published(*runs: FlowOutcome) -> dict[str, str]:
    """The entries after these runs have published, one after the other."""
    found: dict[str, str] = {}
    for run in runs:
        written = config_map(run, found)
        found = entries({"data": written.data, "binaryData": written.binary_data})
    return found


def test_a_run_that_began_before_a_change_is_stale_after_it() -> None:
    """It read some of the records before the change; only its end is later."""
    proof = proof_of(published(a_run(EARLY, LATE)))
    changed = datetime.fromisoformat(CHANGED)
    state = FlowState("orders", "mirror-orders", proof.digest, changed, proof)
    assert proof.at == datetime.fromisoformat(EARLY)
    assert [each.code for each in reasons_against(StackState("one", "m", (state,)), "m")] == ["predecessor-stale"]
    assert proof.passing_since == proof.at, "nor does its soak time begin after the change"


def test_a_verdict_of_an_earlier_release_without_a_start_is_dated_by_its_end() -> None:
    assert proof_of(published(a_run("", LATE))).at == datetime.fromisoformat(LATE)


@pytest.mark.parametrize(
    ("first", "second", "newest"),
    [
        pytest.param(a_run(CHANGED, CHANGED, FAILED), a_run(EARLY, LATE), "fail", id="a pass hides no failure"),
        pytest.param(a_run(EARLY, LATE, FAILED), INCREMENTAL, "fail", id="an incremental pass hides no failure"),
        pytest.param(
            a_run(EARLY, LATE, FAILED), a_run(CHANGED, LATE), "pass", id="a full pass that began later counts"
        ),
        pytest.param(a_run(EARLY, CHANGED), INCREMENTAL, "pass", id="an incremental pass follows a pass"),
        pytest.param(a_run(CHANGED, CHANGED), a_run(EARLY, LATE, FAILED), "fail", id="a failure replaces a pass"),
        pytest.param(a_run(EARLY, EARLY, FAILED), a_run(CHANGED, LATE), "pass", id="repaired between the runs"),
        pytest.param(a_run(EARLY, "9999-01-01T00:00:00+00:00", FAILED), a_run(EARLY, LATE), "pass", id="wrong clock"),
        pytest.param(
            a_run(CHANGED, CHANGED),
            a_run(EARLY, LATE, FAILED, digest="sha256:0e"),
            "pass",
            id="failure of the earlier model",
        ),
        pytest.param(
            a_run(EARLY, LATE, FAILED, digest="sha256:0e"),
            a_run(CHANGED, LATE),
            "pass",
            id="the run of the earlier model ended first",
        ),
    ],
)
def test_two_overlapping_runs_publish_the_verdict_that_counts_as_newest(
    first: FlowOutcome, second: FlowOutcome, newest: str
) -> None:
    found = published(first, second)
    assert found["verdict"] == newest
    assert read_verdict(found).verdict == newest
    assert len(read_history(found).verdicts) == 2, "both are in the history"


def test_of_two_equal_verdicts_the_one_that_began_later_stays() -> None:
    """Otherwise a slow run that began before the deployment would make the proof stale again."""
    assert published(a_run(CHANGED, CHANGED), a_run(EARLY, LATE))["began"] == CHANGED
    assert published(a_run(EARLY, LATE), a_run(CHANGED, LATE))["began"] == CHANGED
    assert published(a_run(CHANGED, CHANGED, FAILED), a_run(EARLY, LATE, FAILED))["began"] == CHANGED


def test_an_incremental_failure_does_not_replace_the_failure_of_a_full_run() -> None:
    """The next incremental validation would continue from records that the full run found wrong."""
    other = replace(INCREMENTAL, checks=(*INCREMENTAL.checks[:1], heartbeats(fail("heartbeats-stopped", "…"))))
    assert published(a_run(EARLY, LATE, FAILED), other)["began"] == EARLY


@pytest.mark.parametrize("damage", [{"time": ""}, {"time": "2026-01-02T03:14:00"}, {"began": "yesterday"}])
def test_a_published_verdict_with_an_unreadable_time_does_not_stay(damage: dict[str, str]) -> None:
    assert stays(published(a_run(EARLY, LATE, FAILED)), INCREMENTAL)
    assert not stays({**published(a_run(EARLY, LATE, FAILED)), **damage}, INCREMENTAL)
