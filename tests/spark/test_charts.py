"""Charts of latency and lag over time show what the validations measured, with a gap where they measured nothing."""

import re
from dataclasses import replace

import pytest

from kafka_replication.components.contract.published_verdict import History, PastVerdict
from kafka_replication.components.contract.report import CheckName, error
from kafka_replication.spark.report.charts import HEIGHT, WIDTH, Chart, charts, nice_step
from kafka_replication.spark.report.failover import past_verdict
from kafka_replication.spark.report.page import page
from tests.spark.reports import a_report, flow
from tests.spark.test_page import HOSTILE, Parsed

DAYS = [f"2026-01-0{day}T00:00:00+00:00" for day in range(1, 5)]


def measured(at: str, median: int | None, behind: int = 0) -> PastVerdict:
    if median is None:
        return past_verdict(flow("orders", "a", "b", failure=error("unreachable", "…"))).model_copy(update={"time": at})
    verdict = past_verdict(replace(flow(), checked_at=at))
    counts = {
        CheckName.HEARTBEATS: {"latencyP50Ms": median, "latencyMaxMs": 2 * median},
        CheckName.CONNECTORS: {"offsetsBehind": behind},
        CheckName.OFFSETS: {"readAgain": 0},
    }
    checks = {name: verdict.checks[name].model_copy(update={"counts": each}) for name, each in counts.items()}
    return verdict.model_copy(update={"checks": checks})


def chart_titled(title: str, found: tuple[Chart, ...]) -> Chart:
    return next(each for each in found if each.title.startswith(title))


def test_a_line_goes_through_every_value_and_breaks_where_one_is_missing() -> None:
    values = (100, 200, None, 400)
    latency = chart_titled("Latency", charts([measured(at, value) for at, value in zip(DAYS, values, strict=True)]))
    longest, median = latency.lines
    assert (longest.name, median.name) == ("longest", "median")
    assert [path.count(" L") for path in median.paths] == [1, 0]
    assert [each.words for each in median.dots] == [
        "2026-01-01 00:00:00 UTC, median: 100 ms",
        "2026-01-02 00:00:00 UTC, median: 200 ms",
        "2026-01-04 00:00:00 UTC, median: 400 ms",
    ]
    first, second, last = median.dots
    assert second.x - first.x == pytest.approx((last.x - first.x) / 3, abs=0.1)
    assert latency.bottom - second.y == pytest.approx((latency.bottom - last.y) / 2, abs=0.1)
    assert [tick.label for tick in latency.up] == ["0 ms", "500 ms", "1,000 ms"]
    assert "median from 100 to 400 ms, last 400 ms" in latency.words


def test_every_value_is_inside_the_chart() -> None:
    spread = [
        measured(at, value, behind) for at, value, behind in zip(DAYS, (1, 9_999, 3, -5), (0, 0, 0, 0), strict=True)
    ]
    for chart in charts(spread, [(0, 100), (1_000, 90)]):
        for dot in (dot for line in chart.lines for dot in line.dots):
            assert chart.left <= dot.x <= chart.right <= WIDTH
            assert 0 <= dot.y <= chart.bottom <= HEIGHT


def test_there_is_no_chart_of_a_single_value() -> None:
    assert charts([measured(DAYS[0], 100)], [(0, 100)]) == ()
    assert charts([measured(DAYS[0], 100)] * 2) == ()
    assert [each.title for each in charts([], [(0, 5), (1_000, 7)])] == [
        "Heartbeats that arrived during this validation"
    ]


@pytest.mark.parametrize(("least", "step"), [(0, 1), (-3, 1), (1, 1), (1.1, 2), (210, 250), (0.03, 0.05), (1000, 1000)])
def test_the_numbers_of_an_axis_are_round(least: float, step: float) -> None:
    assert nice_step(least) == pytest.approx(step)


def test_the_page_shows_the_history_newest_first_and_what_is_missing_from_it() -> None:
    past = [measured(at, value) for at, value in zip(DAYS, (100, 200, None, 400), strict=True)]
    this = replace(flow(), checked_at="2026-01-09T00:00:00+00:00")
    history = History(tuple(past), 3, (f"noticed: {HOSTILE}",))
    parsed = Parsed(page(a_report(this), {"orders": history}))
    text = parsed.text
    assert re.findall(r"(2026-01-0\d) 00:00:00 UTC ?. (pass|error)", text) == [
        ("2026-01-09", "pass"),
        ("2026-01-04", "pass"),
        ("2026-01-03", "error"),
        ("2026-01-02", "pass"),
        ("2026-01-01", "pass"),
    ]
    assert "3 verdicts before these are no longer kept." in text
    assert f"noticed: {HOSTILE}" in text
    assert "orders over time" in text
    assert not {"script", "img"} & {tag for tag, _ in parsed.tags}


def test_a_run_that_is_already_in_the_history_is_listed_once_and_has_no_charts_yet() -> None:
    this = replace(flow(), checked_at="2026-01-09T00:00:00+00:00")
    once = Parsed(page(a_report(this), {"orders": History((past_verdict(this),))})).text
    assert len(re.findall("2026-01-09 00:00:00 UTC ?✓ pass", once)) == 1
    assert "There are no charts over time yet" in once
    assert "There are no charts over time yet" not in Parsed(page(a_report())).text


def test_each_chart_says_what_its_own_dots_are() -> None:
    """After one validation there is only the chart of its heartbeats."""
    beats = [(0, 5), (1_000, 7)]
    assert [chart.dots for chart in charts([], beats)] == ["heartbeat"]
    both = charts([measured(at, 5) for at in DAYS], beats)
    assert {chart.dots for chart in both[:-1]} == {"validation"}
    assert both[-1].dots == "heartbeat"


def test_the_page_of_one_validation_does_not_call_its_heartbeats_validations() -> None:
    checks = (replace(check, beats=((0, 5), (1_000, 7))) for check in flow().checks)
    beating = tuple(check if check.name == CheckName.HEARTBEATS else replace(check, beats=()) for check in checks)
    text = Parsed(page(a_report(replace(flow(), checks=beating)))).text
    assert "Heartbeats that arrived during this validation. Each dot is a heartbeat." in text
    assert "Each dot is a validation" not in text
    assert "a validation did not measure this" not in text
