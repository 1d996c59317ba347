"""The picture of the dashboard shows what was recorded, and a gap where no value was recorded."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tests.bench.dashboard_picture import picture, value_text
from tests.bench.dashboard_recording import STEP_SECONDS, Drawn, Panel, Recording

END = 1_800_000_000.0
_SVG = "{http://www.w3.org/2000/svg}"


def a_graph(answer: list[Drawn], unit: str = "none") -> Panel:
    document: dict[str, Any] = {
        "type": "timeseries",
        "title": "Failed tasks",
        "gridPos": {"x": 0, "y": 7, "w": 12, "h": 8},
        "targets": [{"legendFormat": "{{flow}} {{topic}}"}],
        "fieldConfig": {"defaults": {"unit": unit}},
    }
    return Panel(document, [answer])


def a_table(alerts: float) -> Panel:
    steps = [{"color": "green", "value": None}, {"color": "red", "value": 1}]
    properties = [{"id": "unit", "value": "none"}, {"id": "thresholds", "value": {"steps": steps}}]
    document: dict[str, Any] = {
        "type": "table",
        "title": "Every flow",
        "gridPos": {"x": 0, "y": 0, "w": 24, "h": 7},
        "fieldConfig": {"overrides": [{"matcher": {"options": "Alerts"}, "properties": properties}]},
    }
    return Panel(document, [[Drawn({"flow": "orders"}, [(END, alerts)])]])


def drawn(*panels: Panel) -> ET.Element:
    return ET.fromstring(picture(Recording("Kafka replication: local", END, STEP_SECONDS, list(panels))))


def words(of: ET.Element) -> list[str | None]:
    return [each.text for each in of.iter(f"{_SVG}text")]


def paths(of: ET.Element) -> list[str]:
    return [each.attrib["d"] for each in of.iter(f"{_SVG}path") if each.attrib["class"].startswith("line")]


def test_a_line_is_broken_where_a_value_is_missing() -> None:
    values = [(END - STEP_SECONDS * steps, float(steps)) for steps in (9, 8, 4, 3)]
    (path,) = paths(drawn(a_graph([Drawn({"flow": "orders", "topic": "a&b"}, values)])))
    assert (path.count("M"), path.count("L")) == (2, 2)


def test_a_series_is_named_in_the_legend() -> None:
    assert "orders a&b" in words(drawn(a_graph([Drawn({"flow": "orders", "topic": "a&b"}, [(END, 1.0)])])))


@pytest.mark.parametrize("values", [[], [(END, float("nan"))]], ids=["no values", "not a number"])
def test_a_panel_without_values_says_so(values: list[tuple[float, float]]) -> None:
    shown = drawn(a_graph([Drawn({}, values)]))
    assert "No data" in words(shown)
    assert paths(shown) == []


@pytest.mark.parametrize(("alerts", "colour"), [(0, "green"), (2, "red")])
def test_a_cell_has_the_colour_of_its_threshold(alerts: float, colour: str) -> None:
    shown = drawn(a_table(alerts))
    assert [each.attrib["class"] for each in shown.iter(f"{_SVG}rect")][2:] == [colour]
    assert {"orders", str(alerts)} <= set(words(shown))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (250, "ms", "250 ms"),
        (90_000, "ms", "1.5 min"),
        (172_800, "s", "2 d"),
        (0, "s", "0 s"),
        (12_345, "short", "12.3 K"),
        (0, "bool_yes_no", "No"),
    ],
)
def test_a_value_is_shown_with_its_unit(value: float, unit: str, text: str) -> None:
    assert value_text(value, unit) == text
