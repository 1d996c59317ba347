"""Draws a recorded dashboard as one SVG for the README: Grafana cannot run here. Pure.

Panels are where the dashboard's grid puts them, without the gaps that Grafana closes too.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from kafka_replication.spark.report.charts import nice_step
from tests.bench.dashboard_recording import Drawn, Panel, Recording

_COLUMN, _UNIT, _GAP, _HEADER = 42.0, 22.0, 8.0, 34.0
_LEFT, _RIGHT, _TOP = 52.0, 12.0, 30.0
_LETTER, _LEGEND_LINE, _LEGEND_LINES = 5.6, 14.0, 3
_FLOW_WIDTH, _CELL, _LINE = 118.0, 21.0, 12.0
#: Grafana's classic palette, for both schemes.
_COLOURS = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642")
_NICE_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21_600, 43_200, 86_400)
_STYLE = """
 svg { --page: #f4f5f5; --panel: #fff; --edge: #e3e4e6; --text: #24292e; --soft: #5f6b76; --grid: #e8e9eb }
 @media (prefers-color-scheme: dark) {
  svg { --page: #111217; --panel: #181b1f; --edge: #2c3036; --text: #d8d9da; --soft: #9aa2ab; --grid: #282c32 }
 }
 text { font: 11px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--text) }
 .page { fill: var(--page) } .panel { fill: var(--panel); stroke: var(--edge) }
 .title { font-weight: 600; font-size: 12px } .head { font-weight: 600; font-size: 15px }
 .soft { fill: var(--soft); font-size: 10px } .e { text-anchor: end } .m { text-anchor: middle }
 .grid { stroke: var(--grid) } .line { fill: none; stroke-width: 1.4; stroke-linejoin: round }
 .green { fill: #2b8a4b } .red { fill: #c4313f } .on { fill: #fff }
"""
_YEAR = 31_536_000
_LONGER = ((_YEAR, "years"), (86_400, "d"), (3600, "h"), (60, "min"))
#: The first and the last time, and the step between two values.
_Span = tuple[float, float, float]
_NAME = re.compile(r"{{\s*(\w+)\s*}}")


def picture(recording: Recording) -> str:
    """The dashboard as an SVG that follows the reader's light or dark scheme."""
    width, places = 24 * _COLUMN + 2 * _GAP, _places(recording.panels)
    height = _HEADER + _UNIT * max(top + panel.document["gridPos"]["h"] for panel, top in places) + _GAP
    parts = [_text(_GAP + 4, 22, recording.title, "head"), _text(width - _GAP - 4, 22, _span(recording), "soft e")]
    step = recording.step_seconds
    span = (min(recording.begin, recording.end - step), recording.end, step)
    for panel, top in places:
        at = panel.document["gridPos"]
        left, upper = _GAP + at["x"] * _COLUMN, _HEADER + top * _UNIT
        parts += _panel(panel, left + 2, upper + 2, at["w"] * _COLUMN - 4, at["h"] * _UNIT - 4, span)
    box = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-label='
    colours = "".join(f" .s{n} {{ stroke: {each} }} .f{n} {{ fill: {each} }}\n" for n, each in enumerate(_COLOURS))
    begin = f'{box}"{escape(recording.title)}">\n<style>{_STYLE}{colours}</style>'
    page = f'<rect class="page" width="{width:g}" height="{height:g}"/>'
    return "\n".join([begin, page, *parts, "</svg>"]) + "\n"


def _span(recording: Recording) -> str:
    end = datetime.fromtimestamp(recording.end, UTC)
    return f"{(recording.end - recording.begin) / 60:.0f} minutes until {end:%d %B %Y, %H:%M} UTC"


def _places(panels: Sequence[Panel]) -> list[tuple[Panel, int]]:
    """Each panel with its top in grid units: directly below the panels above it."""
    bottoms, found = [0] * 24, []
    for panel in sorted(panels, key=lambda each: (each.document["gridPos"]["y"], each.document["gridPos"]["x"])):
        at = panel.document["gridPos"]
        columns = slice(at["x"], at["x"] + at["w"])
        top = max(bottoms[columns])
        bottoms[columns] = [top + at["h"]] * at["w"]
        found.append((panel, top))
    return found


def _panel(panel: Panel, left: float, top: float, width: float, height: float, span: _Span) -> Iterator[str]:
    title = panel.document["title"]
    if panel.document["type"] == "row":
        yield _text(left + 2, top + 13, title, "title")
        return
    yield f'<rect class="panel" x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="2"/>'
    yield _text(left + 8, top + 17, title, "title")
    if panel.document["type"] == "table":
        yield from _table(panel, left, top + _TOP, width)
    else:
        yield from _graph(panel, left, top, width, height, span)


def _graph(panel: Panel, left: float, top: float, width: float, height: float, span: _Span) -> Iterator[str]:
    drawn = [each for answer in panel.answers for each in answer]
    values = [value for each in drawn for _, value in each.values if math.isfinite(value)]
    if not values:
        yield _text(left + width / 2, top + height / 2, "No data", "soft m")
        return
    unit = panel.document["fieldConfig"]["defaults"]["unit"]
    legend = _legend(panel, drawn, width - 20)
    bottom, right = top + height - 18 - _LEGEND_LINE * len(legend), left + width - _RIGHT
    step = _step(max(values), unit)
    highest, upper = step * max(1, math.ceil(max(values) / step)), top + _TOP
    for number in range(round(highest / step) + 1):
        y = round(bottom - number * step / highest * (bottom - upper), 1)
        yield f'<path class="grid" d="M{left + _LEFT:g} {y:g}H{right:g}"/>'
        yield _text(left + _LEFT - 6, y + 3.5, value_text(number * step, unit), "soft e")
    begin, end, step_seconds = span
    for share in (0, 1 / 3, 2 / 3, 1):
        x = left + _LEFT + share * (right - left - _LEFT)
        when = datetime.fromtimestamp(begin + share * (end - begin), UTC)
        yield _text(x, bottom + 12, f"{when:%H:%M}", ("soft", "soft m", "soft m", "soft e")[round(3 * share)])
    for number, each in enumerate(drawn):
        points = [
            (
                left + _LEFT + (at - begin) / (end - begin) * (right - left - _LEFT),
                bottom - min(max(value, 0), highest) / highest * (bottom - upper),
                at,
            )
            for at, value in each.values
            if math.isfinite(value)
        ]
        yield f'<path class="line s{number % len(_COLOURS)}" d="{_path(points, step_seconds)}"/>'
    for line, entries in enumerate(legend):
        yield from _entries(entries, left + 10, bottom + 27 + _LEGEND_LINE * line)


def _path(points: Sequence[tuple[float, float, float]], step_seconds: float) -> str:
    """Lines through points, with a gap where a value is missing. The third coordinate of a point is its time."""
    words = []
    for number, (x, y, at) in enumerate(points):
        missing = number == 0 or at - points[number - 1][2] > 1.5 * step_seconds
        more = number + 1 < len(points) and points[number + 1][2] - at <= 1.5 * step_seconds
        level = not missing and more and f"{points[number - 1][1]:.1f}" == f"{y:.1f}" == f"{points[number + 1][1]:.1f}"
        if level:
            continue
        words.append(f"{'M' if missing else 'L'}{x:.1f} {y:.1f}")
        if missing and not more:
            words.append("h1")
    return "".join(words)


def _legend(panel: Panel, drawn: Sequence[Drawn], width: float) -> list[list[tuple[int, str]]]:
    """The names of the series by line, as many as fit; the last item is the number of those that do not fit."""
    form = panel.document["targets"][0]["legendFormat"]
    lines: list[list[tuple[int, str]]] = [[]]
    room = width
    for number, each in enumerate(drawn):
        name = _NAME.sub(lambda found, labels=each.labels: labels.get(found[1], ""), form).strip()  # type: ignore[misc]
        needed = _wide(name)
        if needed > room and lines[-1]:
            if len(lines) == _LEGEND_LINES:
                lines[-1][-1] = (-1, f"and {len(drawn) - number + 1} more")
                break
            lines.append([])
            room = width
        lines[-1].append((number, name))
        room -= needed
    return lines


def _wide(name: str) -> float:
    return 26 + _LETTER * len(name)


def _entries(entries: Sequence[tuple[int, str]], left: float, y: float) -> Iterator[str]:
    for number, name in entries:
        if number >= 0:
            yield f'<rect class="f{number % len(_COLOURS)}" x="{left:g}" y="{y - 5:g}" width="11" height="3"/>'
        yield _text(left + (15 if number >= 0 else 0), y, name, "soft")
        left += _wide(name)


def _table(panel: Panel, left: float, top: float, width: float) -> Iterator[str]:
    columns = panel.document["fieldConfig"]["overrides"]
    rows: dict[str, dict[str, float]] = {}
    for column, answer in zip(columns, panel.answers, strict=True):
        for each in answer:
            rows.setdefault(each.labels["flow"], {})[column["matcher"]["options"]] = each.values[-1][1]
    each_width = (width - _FLOW_WIDTH - 10) / len(columns)
    yield _text(left + 10, top + 2 * _LINE, "Flow", "soft")
    for number, column in enumerate(columns):
        x = left + _FLOW_WIDTH + (number + 0.5) * each_width
        words = _wrapped(column["matcher"]["options"], each_width)
        for line, word in enumerate(words):
            yield _text(x, top + (3 + line - len(words)) * _LINE, word, "soft m")
    for line, (flow, cells) in enumerate(sorted(rows.items())):
        y = top + 2 * _LINE + 8 + line * _CELL
        yield f'<path class="grid" d="M{left + 8:g} {y:g}H{left + width - 8:g}"/>'
        yield _text(left + 10, y + 14, flow)
        for number, column in enumerate(columns):
            x = left + _FLOW_WIDTH + number * each_width
            yield from _cell(column["properties"], cells.get(column["matcher"]["options"]), x, y, each_width)


def _cell(
    properties: Sequence[Mapping[str, Any]], value: float | None, x: float, y: float, width: float
) -> Iterator[str]:
    if value is None:
        return
    known = {each["id"]: each["value"] for each in properties}
    colour = ""
    for step in known.get("thresholds", {}).get("steps", ()):
        if step["value"] is None or value >= step["value"]:
            colour = step["color"]
    if colour:
        inner = f'x="{x + 2:g}" y="{y + 2:g}" width="{width - 4:g}" height="{_CELL - 4:g}"'
        yield f'<rect class="{colour}" {inner} rx="2"/>'
    yield _text(x + width / 2, y + 14, value_text(value, known["unit"]), "m on" if colour else "m")


def _wrapped(words: str, width: float) -> list[str]:
    lines: list[str] = []
    for word in words.split():
        if lines and _LETTER * (len(lines[-1]) + len(word) + 1) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _step(highest: float, unit: str) -> float:
    """The distance between two grid lines."""
    third = highest / 3
    if unit == "ms" and highest >= 1000:
        return 1000 * _step(highest / 1000, "s")
    if unit == "s":
        size = _YEAR if highest > 2 * _YEAR else 86_400
        return next((float(each) for each in _NICE_SECONDS if each >= third), size * nice_step(third / size))
    return max(nice_step(third), 1) if unit == "none" else nice_step(third)


def value_text(value: float, unit: str) -> str:
    """A value as Grafana writes it in this unit."""
    if unit == "bool_yes_no":
        return "Yes" if value else "No"
    if unit == "ms":
        return _short(value) + " ms" if abs(value) < 1000 else value_text(value / 1000, "s")
    if unit == "s":
        size, name = next((each for each in _LONGER if abs(value) >= each[0]), (1, "s"))
        return f"{_short(value / size)} {name}"
    return _short(value)


def _short(value: float) -> str:
    for size, name in ((1e6, " M"), (1e3, " K")):
        if abs(value) >= size:
            return f"{value / size:.3g}{name}"
    return f"{value:.3g}"


def _text(x: float, y: float, words: str, style: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text{named} x="{x:g}" y="{y:g}">{escape(words)}</text>'
