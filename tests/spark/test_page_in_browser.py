"""The page in a real browser: at three widths, in both schemes, and by keyboard alone."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from kafka_replication.components.contract.published_verdict import History
from kafka_replication.components.contract.report import CheckName, FlowOutcome, Report
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.spark.report.failover import past_verdict
from kafka_replication.spark.report.page import page
from tests.spark.browser import Browser, running
from tests.spark.reports import TIME, flow, group, heartbeats, offsets, troubled

pytestmark = pytest.mark.process

SECONDS = 20
BEAT_MS = round(datetime.fromisoformat(TIME).timestamp() * 1000)
WIDTHS = (360, 768, 1280)
PAPER = {"light": "rgb(252, 252, 250)", "dark": "rgb(21, 23, 26)"}
TAB, ENTER, RIGHT = ("Tab", 9), ("Enter", 13, "\r"), ("ArrowRight", 39)
#: What the keyboard must reach, in the order of the page. The content of a closed section is left out.
REACHABLE = """[...document.querySelectorAll('a[href], summary, [tabindex="0"]')]
    .filter(each => !each.closest('details:not([open]) > :not(summary)'))"""


def with_history(report: Report) -> tuple[Report, dict[str, History]]:
    """The report with heartbeats, and fifteen earlier verdicts of each flow."""
    found = []
    for each in report.flows:
        checks = (
            replace(check, beats=tuple((BEAT_MS + 1_000 * at, 280 + at * 37 % 90) for at in range(5)))
            if check.name == CheckName.HEARTBEATS
            else check
            for check in each.checks
        )
        found.append(replace(each, checks=tuple(checks)))
    return replace(report, flows=tuple(found)), {each.name: earlier(each) for each in found}


def earlier(outcome: FlowOutcome) -> History:
    """Fifteen verdicts of a flow whose latency and lag vary, and which could not be checked once."""
    found = []
    for day in range(1, 16):
        past = past_verdict(replace(flow(outcome.name), checked_at=f"2026-11-{day:02}T03:04:05+00:00"))
        counts = {
            CheckName.HEARTBEATS: {"latencyP50Ms": 300 + day * 37 % 90, "latencyMaxMs": 500 + day * 61 % 190},
            CheckName.CONNECTORS: {"offsetsBehind": day * 43 % 120},
            CheckName.OFFSETS: {"readAgain": 14 + day * 7 % 11},
        }
        measured = {name: past.checks[name].model_copy(update={"counts": each}) for name, each in counts.items()}
        found.append(past.model_copy(update={"checks": {} if day == 6 else past.checks | measured}))
    return History(tuple(found))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it, including a group whose name is too long for a phone."""
    report = troubled()
    crowded = flow("crowded", "useast", "uswest", offsets(groups=(group("g" * 200),)), heartbeats())
    found, histories = with_history(replace(report, flows=(*report.flows, crowded)))
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page(found, histories))
    return file


@pytest.mark.parametrize("scheme", PAPER)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_every_width_in_both_schemes_and_loads_nothing(
    browser: Browser, file: Path, width: int, scheme: str
) -> None:
    browser.events.clear()
    browser.open(file, width, scheme)
    assert browser.value("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]
    wide = browser.value("document.documentElement.scrollWidth")
    assert wide <= width, f"{wide} pixels are wider than a window of {width}"
    # Only a region that scrolls by itself may have content beyond the edge of the window.
    beyond = browser.value(
        "[...document.querySelectorAll('main *, header *')].filter(each => !each.closest('.scroll, .skip') && "
        "each.getBoundingClientRect().right > innerWidth + 1).map(each => each.outerHTML.slice(0, 80))"
    )
    assert beyond == []
    small = browser.value(
        "[...document.querySelectorAll('p, li, td, th, summary')].filter(each => "
        "parseFloat(getComputedStyle(each).fontSize) < 12).length"
    )
    assert small == 0
    requests = [each for each in browser.events if each.get("method") == "Network.requestWillBeSent"]
    assert [each["params"]["request"]["url"] for each in requests] == [file.as_uri()]
    errors = [each for each in browser.events if each.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert errors == []


@pytest.mark.parametrize("width", WIDTHS)
def test_every_control_is_reached_by_keyboard_and_shows_its_focus(browser: Browser, file: Path, width: int) -> None:
    browser.events.clear()
    browser.open(file, width, "light")
    count = browser.value(f"(window.wanted = {REACHABLE}).length")
    assert count > 20
    browser.press(*TAB)
    assert browser.value("document.activeElement.className") == "skip"
    assert browser.value("document.activeElement.getBoundingClientRect().left") >= 0
    for number in range(count):
        assert browser.value("wanted.indexOf(document.activeElement)") == number
        # The map's arrows are links in an SVG, which browsers outline themselves.
        shown = browser.value("getComputedStyle(document.activeElement).outlineStyle !== 'none'")
        assert shown, browser.value("document.activeElement.outerHTML")[:100]
        browser.press(*TAB)


def test_keys_skip_to_the_findings_open_closed_sections_and_scroll_wide_tables(browser: Browser, file: Path) -> None:
    browser.events.clear()
    browser.open(file, WIDTHS[0], "dark")
    browser.press(*TAB)
    browser.press(*ENTER)
    assert browser.value("location.hash") == "#main"
    browser.press(*TAB)
    assert browser.value("document.getElementById('main').contains(document.activeElement)")

    browser.value("document.querySelector('#history ~ details summary, details summary').focus()")
    assert not browser.value("document.activeElement.parentElement.open")
    browser.press(*ENTER)
    assert browser.value("document.activeElement.parentElement.open")

    browser.value("(window.wide = document.querySelector('[aria-label=\"History of orders\"]')).focus()")
    assert browser.value("wide.scrollWidth > wide.clientWidth")
    browser.press(*RIGHT)

    def scrolled() -> None:
        if not browser.value("wide.scrollLeft"):
            raise NotYetError("it stands at its left end")

    wait_for("the table to scroll", scrolled, SECONDS, interval_seconds=0.05)
