"""Coverage: a check passes only if everything that it claims was judged, or the topology accepts what was not."""

import pytest

from kafka_replication.components.contract.published_verdict import read_verdict, verdict_data
from kafka_replication.components.contract.remedies import REMEDIES, with_remedies
from kafka_replication.components.contract.report import (
    ACCEPTABLE,
    CheckName,
    CheckOutcome,
    Coverage,
    Finding,
    FlowOutcome,
    Verdict,
    accepting,
    error,
    fail,
)
from kafka_replication.infra.deploy.promotion.rule.evidence import proof_of
from kafka_replication.spark.report.printing import report_text
from tests.spark.documents import a_flow
from tests.spark.test_remedies import codes_in_the_checks
from tests.spark.test_report import a_report

EXPIRED = error("target-expired", "group checkout-a on orders-0: the target no longer holds offset 5")
UNPROVEN = Coverage("committed offsets", 3, {"target-expired": 1})


def an_outcome(*findings: Finding, coverage: Coverage = UNPROVEN) -> CheckOutcome:
    return CheckOutcome(CheckName.OFFSETS, "3 of 4 offsets", {}, findings, coverage=coverage)


def a_flow_outcome(check: CheckOutcome) -> FlowOutcome:
    time = "2026-01-02T03:04:05+00:00"
    return FlowOutcome("orders", "ns", "sha256:0f", "useast", "uswest", "default", time, (check,))


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        pytest.param(an_outcome(EXPIRED), Verdict.ERROR, id="with a finding that says why"),
        pytest.param(an_outcome(), Verdict.ERROR, id="without a finding"),
        pytest.param(an_outcome(fail("f", "…")), Verdict.FAIL, id="with a failure"),
        pytest.param(an_outcome(coverage=Coverage("offsets", 4, {"target-expired": 0})), Verdict.PASS, id="all judged"),
        pytest.param(accepting(an_outcome(EXPIRED), {"target-expired": "known"}), Verdict.PASS, id="accepted"),
        pytest.param(
            accepting(an_outcome(EXPIRED), {"source-expired": "known"}), Verdict.ERROR, id="another finding accepted"
        ),
        pytest.param(
            accepting(an_outcome(fail("missing-records", "…")), {"missing-records": "known"}),
            Verdict.FAIL,
            id="a finding that cannot be accepted",
        ),
    ],
)
def test_a_check_passes_only_if_everything_was_judged_or_the_rest_is_accepted(
    outcome: CheckOutcome, verdict: Verdict
) -> None:
    assert outcome.verdict is verdict


def test_the_report_shows_what_was_not_judged_and_why_it_is_accepted() -> None:
    check = accepting(an_outcome(EXPIRED), {"target-expired": "retention is shorter there"})
    text = report_text(a_report(a_flow_outcome(check)))
    assert "judged 3 of 4 committed offsets; not judged: 1 target-expired" in text
    assert "no longer holds offset 5. Accepted: retention is shorter there" in text


def test_a_remedy_shared_by_several_findings_is_printed_once() -> None:
    places = ("orders-0", "orders-1", "orders-2")
    outcome = an_outcome(*(fail("checkpoint-past-end", f"web on {each}: past the end") for each in places))
    outcome = with_remedies(outcome, a_flow(), "prod")
    text = report_text(a_report(a_flow_outcome(outcome)))
    assert all(f"checkpoint-past-end: web on {each}: past the end." in text for each in places)
    assert text.count("Remedy: do not let groups start on") == 1
    assert "Remedy: " in next(line for line in text.splitlines() if "orders-2" in line)


def test_the_published_verdict_and_its_proof_hold_the_reason_for_accepting_a_finding() -> None:
    check = accepting(an_outcome(EXPIRED), {"target-expired": "retention is shorter there"})
    data = verdict_data(a_flow_outcome(check), None)
    assert read_verdict(data).checks == (check,)
    assert proof_of(data).checks[CheckName.OFFSETS].accepted == {"target-expired": "retention is shorter there"}


def test_a_finding_that_can_be_accepted_says_how() -> None:
    (finding,) = with_remedies(an_outcome(EXPIRED), a_flow(), "prod").findings
    assert finding.message.endswith(
        ". If you know that these groups have nothing left to read before the target's first record, say so in the "
        "replication: `validation: {accept: [{finding: target-expired, reason: …}]}`"
    )


def test_every_finding_that_can_be_accepted_is_one_of_the_job() -> None:
    assert ACCEPTABLE.keys() < REMEDIES.keys()


def test_only_errors_can_be_accepted() -> None:
    """Accepting a note, or a finding that fails a check, would have no effect."""
    makers = codes_in_the_checks()
    assert {makers[code] for code in ACCEPTABLE} == {"error"}
