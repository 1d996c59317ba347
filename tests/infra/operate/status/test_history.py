"""`replicate status --history`: the newest verdicts come first, and missing ones are reported."""

import io
import json
from dataclasses import replace

from rich.console import Console

from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.published_verdict import History
from kafka_replication.components.contract.report import error, fail
from kafka_replication.infra.operate.status.history import (
    FlowHistory,
    HistoryDocument,
    StackHistory,
    flow_history,
    history_lines,
    print_histories,
)
from kafka_replication.spark.report.failover import past_verdict
from tests.spark.reports import flow, offsets, parity

OUTCOMES = (
    flow(),
    flow("orders", "a", "b", parity(fail("missing-records", "3"))),
    flow("orders", "a", "b", offsets(error("target-expired", "…"))),
)
VERDICTS = tuple(
    past_verdict(replace(each, checked_at=f"2026-01-0{day}T03:04:05+00:00")) for day, each in enumerate(OUTCOMES, 1)
)


def document(*flows: FlowHistory) -> HistoryDocument:
    return HistoryDocument(asked_at="2026-01-09T00:00:00+00:00", stacks=(StackHistory(stack="prod", flows=flows),))


def lines(flow: FlowHistory) -> list[str]:
    return [text for text, _ in history_lines(flow)]


def test_the_newest_verdicts_come_first_with_their_cost_and_findings() -> None:
    assert lines(flow_history("orders", History(VERDICTS), 9)) == [
        "2026-01-03T03:04:05+00:00 error (full), loses not proven, re-reads not proven, skips not proven: "
        "target-expired",
        "2026-01-02T03:04:05+00:00 fail (full), loses not proven, re-reads at most 14 (consumers that just move), "
        "skips not proven: missing-records",
        "2026-01-01T03:04:05+00:00 pass (full), loses 0.9 s, re-reads at most 14 (consumers that just move), skips 0",
    ]


def test_verdicts_that_are_not_listed_or_no_longer_kept_are_counted() -> None:
    found = flow_history("orders", History(VERDICTS, 40, ("noticed: …",)), 1)
    assert [each.time[:10] for each in found.verdicts] == ["2026-01-03"]
    assert lines(found)[1:] == ["and 2 older", "and 40 before these, which are no longer kept", "noticed: …"]
    assert document(found).exit_code == 2
    assert lines(flow_history("orders", History(), 5)) == ["the history holds no published validation"]


def test_a_flow_that_cannot_be_asked_says_why() -> None:
    found = flow_history("orders", NoAnswer("Kubernetes answers 403"), 5)
    assert lines(found) == ["could not be asked: Kubernetes answers 403"]
    assert document(found).exit_code == 2
    assert document(flow_history("orders", History(VERDICTS), 5)).exit_code == 0


def test_a_pipe_gets_the_stack_and_the_flow_on_each_line() -> None:
    out = io.StringIO()
    print_histories(document(flow_history("[orders]", History(VERDICTS), 2)), Console(file=out, width=40))
    said = ["prod [orders] 2026-01-03", "prod [orders] 2026-01-02", "prod [orders] and 1 olde"]
    assert [line[:24] for line in out.getvalue().splitlines()] == said
    found = json.loads(json.dumps(document(flow_history("orders", History(VERDICTS), 1)).document()))
    assert found["stacks"][0]["flows"][0]["verdicts"][0]["readsAgain"] is None
