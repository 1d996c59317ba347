"""Latency and lag of a flow over time, as lines in an SVG. Pure; the template draws what is computed here."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from components.contract.published_verdict import PastVerdict
from components.contract.report import CheckName

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
    """One chart. `words` describe it for readers who cannot see it."""

    title: str
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
class Series:
    """Values by time in seconds since 1970; None where a validation did not measure it."""

    name: str
    style: str
    values: Sequence[tuple[float, float | None]]


def charts(verdicts: Sequence[PastVerdict], beats: Sequence[tuple[int, int]] = ()) -> tuple[Chart, ...]:
    """Charts of a flow's `verdicts`, oldest first, that have at least two values at different times.

    `beats` are the heartbeats that arrived during this run: when they were emitted (ms since 1970), and their latency.
    """
    arrived = [(at / 1000, float(latency)) for at, latency in beats]
    found = (
        _chart(
            "Latency of heartbeats",
            " ms",
            (
                Series("longest", "second", _values(verdicts, CheckName.HEARTBEATS, "latencyMaxMs")),
                Series("median", "first", _values(verdicts, CheckName.HEARTBEATS, "latencyP50Ms")),
            ),
        ),
        _chart(
            "Offsets behind, according to the offsets that connectors had stored",
            "",
            (Series("at most", "first", _values(verdicts, CheckName.MOVES, "offsetsBehind")),),
        ),
        _chart(
            "Records that groups would have read again",
            "",
            (Series("at most", "first", _values(verdicts, CheckName.OFFSETS, "readAgain")),),
        ),
        _chart("Heartbeats that arrived during this validation", " ms", (Series("latency", "first", arrived),)),
    )
    return tuple(each for each in found if each is not None)


def _values(verdicts: Sequence[PastVerdict], check: str, count: str) -> list[tuple[float, float | None]]:
    return [(each.seconds, each.count(check, count)) for each in verdicts]


def _chart(title: str, unit: str, given: Sequence[Series]) -> Chart | None:
    known = [(at, value) for each in given for at, value in each.values if value is not None]
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

    lines = tuple(_line(each, unit, x, y) for each in given)
    up = tuple(Tick(y(step * at), f"{step * at:,g}{unit}") for at in range(round(top / step) + 1))
    across = (Tick(x(first), _when(first)), Tick(x(last), _when(last)))
    return Chart(title, _words(title, unit, given, first, last), lines, across, up)


def _line(given: Series, unit: str, x: Callable[[float], float], y: Callable[[float], float]) -> Line:
    paths = []
    for there, values in groupby(given.values, lambda each: each[1] is not None):
        if there:
            paths.append("M" + " L".join(f"{x(at)} {y(value)}" for at, value in values if value is not None))
    dots = tuple(
        Dot(x(at), y(value), f"{_when(at)}, {given.name}: {value:,g}{unit}")
        for at, value in given.values
        if value is not None
    )
    return Line(given.name, given.style, tuple(paths), dots)


def nice_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `least`; 1 if that is not positive."""
    if least <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in _STEPS if power * each >= least * (1 - 1e-9))


def _words(title: str, unit: str, given: Sequence[Series], first: float, last: float) -> str:
    said = []
    for each in given:
        values = [value for _, value in each.values if value is not None]
        if values:
            said.append(f"{each.name} from {min(values):,g} to {max(values):,g}{unit}, last {values[-1]:,g}{unit}")
    return f"{title} from {_when(first)} to {_when(last)}: {'; '.join(said)}"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
