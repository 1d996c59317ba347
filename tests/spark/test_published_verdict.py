"""A verdict of any size fits into a ConfigMap, and whoever reads it finds what was published."""

import base64
import random
from dataclasses import replace

import pytest

from components.contract.problems import CannotRunError
from components.contract.published_verdict import LEFT_OUT, PACKED, entries, read_topic_ids, read_verdict, verdict_data
from components.contract.report import CheckName, Finding, FlowOutcome, Severity, Verdict, error, fail
from infra.promotion.rule.cluster import proof_of
from infra.review.topic_drift import topic_drift
from spark.report.publish import config_map
from tests.spark.reports import flow, offsets, parity

MEBIBYTE = 1024 * 1024
REMEDY = "Remedy: let the group consume on useast up to the checkpoint, or expect it to skip those records on uswest"


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
    """Failures whose messages nothing compresses."""
    given = random.Random(1)
    return tuple(fail("checkpoint-ahead", given.randbytes(450).hex()) for _ in range(count))


def outcome(*found: Finding) -> FlowOutcome:
    check = replace(offsets(), findings=found)
    return replace(flow("orders", "useast", "uswest", check), topic_ids={"useast": {"orders": "Zz"}})


def size(data: dict[str, str]) -> int:
    """What Kubernetes counts: the text of data and the bytes of binaryData."""
    return sum(len(base64.b64decode(value)) if key == PACKED else len(value.encode()) for key, value in data.items())


def test_fifty_thousand_findings_fit_and_all_come_back() -> None:
    """500 groups on 100 partitions: over 14 MB as JSON."""
    big = outcome(*findings(500, 100))
    data = verdict_data(big, None)
    assert size(data) < MEBIBYTE
    assert read_verdict(data).checks[3].findings == big.checks[3].findings
    assert read_topic_ids(data) == {"useast": {"orders": "Zz"}}
    assert data["checks"].splitlines()[3].startswith("offsets-translate: fail, ")


def test_what_does_not_fit_even_so_is_counted_and_no_code_is_lost() -> None:
    accepted = replace(error("target-expired", "…"), severity=Severity.ACCEPTED, accepted="why")
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


def test_the_ids_of_topics_give_way_to_the_findings() -> None:
    given = random.Random(1)
    ids = {alias: {given.randbytes(100).hex(): given.randbytes(11).hex() for _ in range(5_000)} for alias in "ab"}
    data = verdict_data(replace(outcome(*noise(3)), topic_ids=ids), None)
    assert size(data) < MEBIBYTE
    assert read_verdict(data).checks[3].findings[0].code == "checkpoint-ahead"
    assert read_topic_ids(data) == {}


def test_a_small_verdict_is_plain_text_as_before() -> None:
    published = config_map(outcome())
    assert published.data is not None
    assert published.data["report.json"].startswith("{\n")
    assert published.binary_data is None


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
    assert again.binary_data is None


@pytest.mark.parametrize("packed", ["!", "aGVsbG8=", base64.b64encode(b"\x1f\x8b\x08\x00").decode()])
def test_a_packed_report_that_was_damaged_is_said_to_be_unreadable(packed: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be unpacked|Expecting value"):
        read_verdict({"verdict": "pass", "digest": "d", "time": "t", PACKED: packed})


@pytest.mark.parametrize("report", ['{"checks": ["x"]}', '{"checks": [{"coverage": "x"}]}', '{"checks": [[]]}'])
def test_a_report_of_another_form_is_refused(report: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read_verdict({"verdict": "pass", "digest": "d", "time": "t", "report.json": report})


def test_a_quick_verdict_in_its_place_is_refused() -> None:
    with pytest.raises(ValueError, match="the verdict is partial, which is never published"):
        read_verdict(verdict_data(outcome(), None) | {"verdict": "partial"})
    quick = replace(parity(), left_out="not compared: all")
    data = verdict_data(flow("orders", "a", "b", quick), None) | {"verdict": "pass"}
    with pytest.raises(ValueError, match="the checks of the report say partial"):
        read_verdict(data)


@pytest.mark.parametrize("finding", [fail("missing-records", "3"), error("compacted", "…")], ids=["fail", "error"])
def test_a_pass_that_the_checks_contradict_is_no_pass(finding: Finding) -> None:
    data = verdict_data(outcome(finding), None) | {"verdict": "pass"}
    words = f"the verdict is pass, but the checks of the report say {finding.severity}"
    with pytest.raises(ValueError, match=words):
        read_verdict(data)
    body = {"metadata": {"name": "orders-validation", "namespace": "ns"}, "data": data}
    with pytest.raises(CannotRunError, match=f"verdict-unreadable: .*{words}"):
        list(topic_drift("prod", {"orders": body}))
