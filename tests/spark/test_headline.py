"""The headline of a report: the figures of a failover now, only if all of them are proven, or why they are not."""

from dataclasses import replace

import pytest

from kafka_replication.components.contract.remedies import MARK
from kafka_replication.components.contract.report import (
    CheckName,
    CheckOutcome,
    Finding,
    FindingSeverity,
    FlowOutcome,
    error,
    fail,
    note,
)
from kafka_replication.spark.report import failover
from kafka_replication.spark.report.failover import failovers, headline
from kafka_replication.spark.report.page import page
from tests.spark.reports import a_report, flow, group, heartbeats, offsets, parity, troubled
from tests.spark.test_page import Parsed

BOTH = "re-reads 0 (`replicate failover`) or at most 14 (consumers that just move)"


def guarded(aside: int) -> CheckOutcome:
    """The parity of a flow with a loop guard, whose target has `aside` records of its own."""
    return replace(parity(), counts={**parity().counts, "setAsideOnTarget": aside})


@pytest.mark.parametrize(
    ("flows", "line"),
    [
        pytest.param((flow(),), f"loses 0.9 s, {BOTH}, skips 0", id="everything passes"),
        pytest.param(
            (
                flow(),
                flow("more", "useast", "uswest", heartbeats(longest=2000), offsets(groups=(group("a", again=3),))),
            ),
            "loses 2.3 s, re-reads 0 (`replicate failover`) or at most 17 (consumers that just move), skips 0",
            id="the slowest flow counts, and all groups",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(Finding("no-offset-sync", FindingSeverity.ACCEPTED, "…", 1, "why"))),),
            f"loses 0.9 s, {BOTH}, skips 0, if the accepted findings are right",
            id="a finding is accepted",
        ),
        pytest.param(
            (flow("orders", "a", "b", parity(fail("missing-records", "…"))),),
            "not proven, because parity fails on orders (missing-records)",
            id="a failure",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(error("target-expired", "…"))),),
            "not proven, because offsets-translate could not be judged on orders (target-expired)",
            id="something was not judged",
        ),
        pytest.param(
            (flow(), flow("ledger", "uswest", "useast", failure=error("unreachable", "…"))),
            "not proven, because ledger could not be checked (unreachable)",
            id="one cluster cannot be reached",
        ),
        pytest.param(
            (flow("orders", "a", "b", heartbeats(observed=0)),),
            "not proven, because no heartbeat of orders arrived while the job was observing heartbeats",
            id="no latency was measured",
        ),
        pytest.param(
            (flow("orders", "a", "b", heartbeats(note("heartbeats-of-workers", "…"))),),
            "not proven, because the heartbeats of orders are written on b, so they do not show the delay from a",
            id="the heartbeats do not cross",
        ),
        pytest.param(
            (flow("orders", "a", "b", heartbeats(note("heartbeats-shared", "…"))),),
            "not proven, because other flows replicate the same heartbeats as orders, so they do not show its delay",
            id="the heartbeats may be another flow's",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(note("group-before-the-start", "…", 4950))),),
            "not proven, because groups of orders have offsets from before the flow's start (group-before-the-start)",
            id="a group is before the start",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(note("group-active", "…"))),),
            "not proven, because groups of orders already consume on b (group-active)",
            id="a group consumes on the target",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(note("group-offsets-not-copied", "…"))),),
            "not proven, because orders does not copy group offsets to b (group-offsets-not-copied)",
            id="no group has an offset on the target",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(note("own-records-not-judged", "…"))),),
            "not proven, because groups of orders may skip records on b that did not come through orders "
            "(own-records-not-judged)",
            id="the target may have records of its own",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(note("own-records-not-judged", "…")), guarded(aside=3)),),
            "not proven, because groups of orders may skip records on b that did not come through orders "
            "(own-records-not-judged)",
            id="the target has records of its own",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(note("own-records-not-judged", "…")), guarded(aside=0)),),
            f"loses 0.9 s, {BOTH}, skips 0",
            id="the target has no record of its own",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(note("group-excluded", "…"))),),
            f"loses 0.9 s, {BOTH}, skips 0, if the accepted findings are right",
            id="the topology leaves a group out",
        ),
        pytest.param(
            (flow("orders", "a", "b", CheckOutcome(CheckName.OFFSETS, "", {"committedOffsets": 0})),),
            "not proven, because no group of orders has committed an offset yet",
            id="no committed offset",
        ),
        pytest.param(
            (flow("orders", "a", "b", CheckOutcome(CheckName.PARITY, "", {"sourceRecords": 0})),),
            "not proven, because orders had no record to compare",
            id="no record to compare",
        ),
        pytest.param((), "not proven, because the report holds no flow", id="no flow"),
        pytest.param(
            (flow("orders", "a", "b", parity(note("duplicated-records", "…"))),),
            "loses 0.9 s, re-reads at most 14, skips 0",
            id="records were sent twice, which a group may read again from any position",
        ),
        pytest.param(
            (flow("orders", "a", "b", replace(offsets(), counts={**offsets().counts, "exactPositions": 0})),),
            "loses 0.9 s, re-reads at most 14, skips 0",
            id="transforms change records, so a failover compares none",
        ),
        pytest.param(
            (flow("orders", "a", "b", offsets(groups=(group("a"),))),),
            "loses 0.9 s, re-reads 0, skips 0",
            id="every group is translated exactly",
        ),
    ],
)
def test_the_headline_gives_figures_only_if_all_of_them_are_proven(flows: tuple[FlowOutcome, ...], line: str) -> None:
    assert headline(a_report(*flows)) == f"Fail over now: {line}"


@pytest.mark.parametrize("name", [*failover._FOR_LOSS, *failover._FOR_SKIPPING])
def test_a_check_that_did_not_run_proves_nothing(name: CheckName) -> None:
    without = replace(flow(), checks=tuple(each for each in flow().checks if each.name != name))
    assert headline(a_report(without)) == f"Fail over now: not proven, because {name} did not run on orders"
    explained = replace(without, not_run={name: "a reason"})
    assert headline(a_report(explained)) == f"Fail over now: not proven, because {name} did not run on orders: a reason"


def test_the_headline_names_the_checked_flows_if_the_stack_has_others() -> None:
    report = replace(a_report(flow("orders"), flow("ledger", "uswest", "useast")), not_validated=("catalogue",))
    assert headline(report) == (
        "Fail over orders, ledger now: loses 0.9 s, re-reads 0 (`replicate failover`) or at most 28 (consumers that "
        "just move), skips 0"
    )
    assert "The job was not asked to check catalogue." in Parsed(page(report)).text


def test_a_job_that_could_not_run_proves_nothing() -> None:
    report = a_report(failure=error("spark-lost", f"Spark's JVM ended. {MARK}raise --driver-memory"))
    assert headline(report) == "Fail over now: not proven, because the job could not run (spark-lost)"
    assert "Next: raise --driver-memory" in Parsed(page(report)).text


def test_a_proven_direction_keeps_its_figures_if_another_direction_is_not_proven() -> None:
    orders, apac, ledger = failovers(troubled())
    assert [(name, str(figure)) for name, figure in ledger.figures] == [
        ("loses", "0.9 s"),
        ("re-reads by `replicate failover`", "0"),
        ("if consumers just move, at most", "2"),
        ("skips", "0"),
    ]
    assert ledger.accepted == ("no-offset-sync",)
    assert [str(figure) for _, figure in orders.figures] == ["not proven"] * 3
    assert apac.why == ("catalogue could not be checked (unreachable)",)
