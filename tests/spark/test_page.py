"""The page of a report says all that the report says and loads nothing, and names from a cluster cannot change it."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import chain, pairwise
from pathlib import Path

import pytest

from kafka_replication.components.contract.remedies import MARK
from kafka_replication.components.contract.report import (
    ROWS,
    CheckName,
    CheckOutcome,
    Finding,
    Report,
    error,
    fail,
    note,
)
from kafka_replication.spark.report import failover
from kafka_replication.spark.report.charts import flow_map
from kafka_replication.spark.report.page import page
from tests.spark.reports import a_report, flow, group, offsets, parity, proven, topic, troubled

_VOID = {"meta", "link", "br", "img", "hr", "input"}
_DRAWN = {"line", "rect", "path", "circle"}
CSS = (Path(failover.__file__).parent / "page.css").read_text()
HOSTILE = '<script>alert(1)</script><img src=//evil.example onerror="x()">\'"&amp;{{ 7 * 7 }}'


@dataclass
class Parsed(HTMLParser):
    """The page as a strict reader sees it: each tag must be closed by its own end tag."""

    source: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _DRAWN, tag
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).replace("\u00a0", " ").split())

    def values(self, attribute: str) -> list[str]:
        return [str(attributes[attribute]) for _, attributes in self.tags if attribute in attributes]


def findings(report: Report) -> Iterator[Finding]:
    for each in report.flows:
        yield from chain.from_iterable(check.findings for check in each.checks)
        if each.error is not None:
            yield each.error


@pytest.mark.parametrize("report", [proven(), troubled()], ids=["proven", "troubled"])
def test_the_page_shows_every_flow_with_its_verdict_and_every_finding_with_its_remedy(report: Report) -> None:
    text = Parsed(page(report)).text
    for finding in findings(report):
        for part in finding.message.split(MARK):
            assert part.replace("`", "").strip() in text
        assert finding.code in text
        assert finding.accepted is None or f"Accepted, because: {finding.accepted}" in text
    for each in report.flows:
        assert f"{each.name}: {each.verdict}" in text
        for check in each.checks:
            assert check.summary in text
    assert text.split("UTC in 31 s ")[1].startswith("Fail over now: ")


def test_the_page_lists_what_was_not_judged_and_which_checks_do_not_apply() -> None:
    pair = replace(flow(), not_run={"offsets-translate": "offsets of a pair are not translated"})
    text = Parsed(page(a_report(pair, *troubled().flows))).text
    assert "orders, offsets-translate: does not apply: offsets of a pair are not translated" in text
    assert "orders, offsets-translate: 1 of 14 committed offsets (target-expired)" in text
    assert "catalogue: nothing (unreachable)" in text


@pytest.mark.parametrize(
    "report",
    [proven(), troubled(), a_report(), a_report(failure=error("spark-lost", "…")), a_report(flow("o", "a", "a"))],
    ids=["proven", "troubled", "no flow", "no Spark", "one cluster"],
)
def test_the_page_is_well_formed_and_loads_nothing(report: Report) -> None:
    parsed = Parsed(page(report))
    ids, links = Counter(parsed.values("id")), parsed.values("href")
    assert set(ids.values()) == {1}
    assert {each.removeprefix("#") for each in links} <= set(ids)
    assert all(each.startswith("#") for each in links)
    assert set(parsed.values("aria-labelledby")) <= set(ids)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in parsed.tags}
    assert not parsed.values("src")
    assert "url(" not in CSS
    assert "@import" not in CSS
    assert parsed.values("content").count("default-src 'none'; style-src 'unsafe-inline'") == 1


def test_the_page_is_usable_by_keyboard_and_screen_reader() -> None:
    parsed = Parsed(page(troubled()))
    assert parsed.tags[[tag for tag, _ in parsed.tags].index("body") + 1] == ("a", {"class": "skip", "href": "#main"})
    assert all("scope" in attributes for tag, attributes in parsed.tags if tag == "th")
    assert all("aria-label" in each or "aria-hidden" in each for tag, each in parsed.tags if tag == "svg")
    scrolled = [each for _, each in parsed.tags if "scroll" in (each.get("class") or "").split()]
    assert scrolled
    assert all(each["tabindex"] == "0" and ("aria-label" in each or "aria-labelledby" in each) for each in scrolled)
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_names_from_a_cluster_are_escaped_and_never_become_html() -> None:
    finding = fail("missing-records", f"{HOSTILE}: 3 records. {MARK}look at `{HOSTILE}`")
    check = CheckOutcome(CheckName.ACCESS, HOSTILE, {}, (finding, note("n", HOSTILE)), ({HOSTILE: HOSTILE},))
    hostile = replace(
        flow(
            HOSTILE,
            HOSTILE,
            HOSTILE + "2",
            check,
            offsets(groups=(group(HOSTILE),)),
            parity(topics=(topic(HOSTILE, 1),)),
        ),
        advice=(HOSTILE,),
        not_run={HOSTILE: HOSTILE},
    )
    report = replace(a_report(hostile), stack=HOSTILE)
    parsed, plain = Parsed(page(report)), Parsed(page(a_report(hostile)))
    assert not {"script", "img"} & {tag for tag, _ in parsed.tags}
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith("on")]
    assert parsed.text.count(HOSTILE) > 12
    assert [tag for tag, _ in parsed.tags] == [tag for tag, _ in plain.tags]
    assert " 49" not in parsed.text


def test_a_name_with_control_characters_cannot_reverse_or_hide_the_text_beside_it() -> None:
    """`\\u202e` shows what follows from right to left; a lone surrogate could not even be written to a file."""
    html = page(a_report(flow("orders", "a", "b", offsets(groups=(group("web\u202eevil\x00\udc80"),)))))
    assert "web\\u202eevil\\x00\\udc80" in html
    html.encode()


def test_only_the_worst_of_many_groups_are_shown_and_the_rest_are_counted() -> None:
    many = tuple(group(f"g{each:04}", again=each) for each in range(2_000))
    lost = tuple(fail("missing-records", f"t{each:04}: 1 record") for each in range(300))
    report = a_report(flow("orders", "a", "b", offsets(groups=many), parity(*lost)))
    text = Parsed(page(report)).text
    assert "g1999" in text
    assert "g1949" not in text
    assert f"and {2_000 - ROWS} more groups" in text
    assert "t0049: 1 record" in text
    assert "t0050" not in text
    assert f"and {300 - ROWS} more findings of this kind" in text
    assert len(page(report)) < 100_000


def test_failures_are_shown_before_errors() -> None:
    html = page(a_report(flow("orders", "a", "b", offsets(error("target-expired", "…")), parity(fail("missing", "…")))))
    assert html.index("</span> fail</span> missing") < html.index("</span> error</span> target-expired")


def _colors(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{3,6})", block))


def _luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(each * 2 for each in color[1:])
    linear = []
    for at in (0, 2, 4):
        share = int(digits[at : at + 2], 16) / 255
        linear.append(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_text_has_enough_contrast_in_each_scheme_and_on_paper() -> None:
    """4.5 to 1 is what WCAG 2.2 asks of text at level AA."""
    schemes = [_colors(block) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)]
    assert len(schemes) == 3
    for colors in schemes:
        for name in ("ink", "quiet", "link", "pass", "fail", "error"):
            for ground in ("paper", "raised"):
                light, dark = sorted((_luminance(colors[name]), _luminance(colors[ground])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground, colors[name])


def test_the_map_has_room_for_every_name() -> None:
    drawn = flow_map((flow("a-flow-with-a-rather-long-name" * 2, "useast", "uswest"), flow("back", "uswest", "useast")))
    first, second = drawn.arrows
    assert first.end - first.start > 7 * len(first.flow.name)
    assert (second.start, second.end) == (first.end, first.start)
    assert all(each.box / 2 <= each.x <= drawn.width - each.box / 2 for each in drawn.lines)
    assert first.y < second.y < drawn.height
