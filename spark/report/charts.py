"""Latency and lag of a flow over time, and the map of its clusters, as lines for the page's SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Literal

from kafka_replication.components.contract.published_verdict import PastVerdict
from kafka_replication.components.contract.report import CheckName, FlowOutcome, Verdict

#: In units of the SVG; the numbers of the axes stand left of and below the plot.
WIDTH, HEIGHT = 640, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 12, 10, 24
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Dot:
    """A value in the chart, and its words."""

    x: float
    y: float
    words: str


@dataclass(frozen=True)
class Line:
    """A series: its `paths` are broken where a value is missing."""

    name: str
    style: str
    paths: tuple[str, ...]
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """One chart. `dots` says what each dot is, and `words` describe the chart for readers who cannot see it."""

    title: str
    dots: Literal["validation", "heartbeat"]
    words: str
    lines: tuple[Line, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


@dataclass(frozen=True)
class ChartSeries:
    """Values by time in seconds since 1970; None where a validation did not measure it."""

    name: str
    style: str
    values: Sequence[tuple[float, float | None]]


def charts(verdicts: Sequence[PastVerdict], beats: Sequence[tuple[int, int]] = ()) -> tuple[Chart, ...]:
    """Return the charts of a flow's `verdicts`, oldest first, that have at least two values at different times.

    `beats` are the heartbeats that arrived during this run: when they were emitted (ms since 1970), and their latency.
    """

    def series(name: str, style: str, check: str, count: str) -> ChartSeries:
        return ChartSeries(name, style, [(verdict.seconds, verdict.count(check, count)) for verdict in verdicts])

    longest = series("longest", "second", CheckName.HEARTBEATS, "latencyMaxMs")
    median = series("median", "first", CheckName.HEARTBEATS, "latencyP50Ms")
    behind = series("at most", "first", CheckName.CONNECTORS, "offsetsBehind")
    again = series("at most", "first", CheckName.OFFSETS, "readAgain")
    arrived = ChartSeries("latency", "first", [(at / 1000, float(latency)) for at, latency in beats])
    drawn = (
        _chart("Latency of heartbeats", " ms", (longest, median)),
        _chart("Offsets behind, according to the offsets that connectors had stored", "", (behind,)),
        _chart("Records that groups would have read again", "", (again,)),
        _chart("Heartbeats that arrived during this validation", " ms", (arrived,), "heartbeat"),
    )
    return tuple(chart for chart in drawn if chart is not None)


def _chart(
    title: str, unit: str, given: Sequence[ChartSeries], dots: Literal["validation", "heartbeat"] = "validation"
) -> Chart | None:
    known = [(at, value) for line in given for at, value in line.values if value is not None]
    times = [at for at, _ in known]
    if len(set(times)) < 2:
        return None
    first, last = min(times), max(times)
    step = nice_step(max(value for _, value in known) / 3)
    top = step * max(1, math.ceil(max(value for _, value in known) / step))

    def x(at: float) -> float:
        return round(_LEFT + (at - first) / (last - first) * (WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - _BOTTOM - max(0.0, value) / top * (HEIGHT - _TOP - _BOTTOM), 1)

    lines = tuple(_line(line, unit, x, y) for line in given)
    up = tuple(Tick(y(step * at), f"{step * at:,g}{unit}") for at in range(round(top / step) + 1))
    across = (Tick(x(first), _when(first)), Tick(x(last), _when(last)))
    return Chart(title, dots, _words(title, unit, given, first, last), lines, across, up)


def _line(given: ChartSeries, unit: str, x: Callable[[float], float], y: Callable[[float], float]) -> Line:
    paths = []
    for there, values in groupby(given.values, lambda point: point[1] is not None):
        if there:
            paths.append("M" + " L".join(f"{x(at)} {y(value)}" for at, value in values if value is not None))
    dots = tuple(
        Dot(x(at), y(value), f"{_when(at)}, {given.name}: {value:,g}{unit}")
        for at, value in given.values
        if value is not None
    )
    return Line(given.name, given.style, tuple(paths), dots)


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is not below `least`; 1 if that is not positive."""
    if least <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * step for step in _STEPS if power * step >= least * (1 - 1e-9))


def _words(title: str, unit: str, given: Sequence[ChartSeries], first: float, last: float) -> str:
    parts = []
    for line in given:
        values = [value for _, value in line.values if value is not None]
        if values:
            parts.append(f"{line.name} from {min(values):,g} to {max(values):,g}{unit}, last {values[-1]:,g}{unit}")
    return f"{title} from {_when(first)} to {_when(last)}: {'; '.join(parts)}"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


_CHARACTER, _ROW, _MAP_TOP, _MARGIN = 7.6, 58, 58, 74
_NARROWEST = 216


@dataclass(frozen=True)
class MapLine:
    """A cluster at `x`; `box` is the width of its name's box. All lengths are in units of the drawing."""

    name: str
    x: float
    box: float


@dataclass(frozen=True)
class Arrow:
    """A flow from `start` to `end` at the height `y`. `checks` names the checks that did not pass."""

    flow: FlowOutcome
    start: float
    end: float
    y: float
    checks: str

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2

    @property
    def tip(self) -> float:
        """Return where the shaft ends, so that the head ends at the cluster's line."""
        return self.end - 9 if self.end > self.start else self.end + 9


@dataclass(frozen=True)
class FlowMap:
    width: float
    height: float
    lines: tuple[MapLine, ...]
    arrows: tuple[Arrow, ...]


def flow_map(flows: tuple[FlowOutcome, ...]) -> FlowMap:
    """Return the clusters from left to right in the order in which the flows name them, flows from top to bottom."""
    names = list(dict.fromkeys(alias for flow in flows for alias in (flow.source, flow.target)))
    labels = [max(len(flow.name) + 10, len(_checks(flow))) for flow in flows]
    box = max((len(name) for name in names), default=0) * _CHARACTER + 28
    step = max(_NARROWEST, box + 24, *(label * _CHARACTER + 24 for label in labels)) if labels else _NARROWEST
    margin = max(_MARGIN, box / 2 + 4)
    at = {name: margin + index * step for index, name in enumerate(names)}
    arrows = [
        Arrow(flow, at[flow.source], at[flow.target], _MAP_TOP + 30 + index * _ROW, _checks(flow))
        for index, flow in enumerate(flows)
    ]
    return FlowMap(
        2 * margin + step * max(0, len(names) - 1),
        _MAP_TOP + 20 + _ROW * len(flows),
        tuple(MapLine(name, x, box) for name, x in at.items()),
        tuple(arrows),
    )


def _checks(flow: FlowOutcome) -> str:
    if flow.error is not None:
        return flow.error.code
    return ", ".join(check.name for check in flow.checks if check.verdict is not Verdict.PASS)
