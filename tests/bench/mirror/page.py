"""What the bench prints, and what it writes into the page of numbers."""

import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.mirror.cells import Cell
from tests.pages import put, table
from tests.repository import ROOT

PAGE, PLOT = ROOT / "infra" / "NUMBERS.md", ROOT / "infra" / "images" / "round-trip.svg"


@dataclass(frozen=True)
class Measured:
    """What one cell carried between two looks at the target: records in `seconds`, and processor seconds."""

    records: int
    seconds: float
    worker_cpu: float
    brokers_cpu: float
    proxy_cpu: float
    worker_mib: float

    def rate(self, cell: Cell) -> float:
        """Return the bytes of values a second."""
        return self.records * cell.record_bytes / self.seconds

    def per_gb(self, seconds: float, cell: Cell) -> str:
        return f"{seconds / (self.records * cell.record_bytes / 1e9):.1f}"


Results = Mapping[Cell, Measured]


def machine() -> str:
    """Return what it was measured on."""
    model = next((line.split(":", 1)[1].strip() for line in _cpu_info() if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores of {model or platform.machine()}, {platform.system()}"


def _cpu_info() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text().splitlines() if file.exists() else []


def rows(results: Results, chosen: Callable[[Cell], bool]) -> str:
    """Return a table of the chosen cells."""
    head = (
        *("settings", "round trip", "tasks", "partitions", "record", "MB/s", "formula", "records/s"),
        *("worker, s per GB", "brokers, s per GB"),
    )
    return table(head, [_row(cell, got) for cell, got in results.items() if chosen(cell)])


def _row(cell: Cell, got: Measured) -> tuple[str, ...]:
    more = [word for word, given in (("TLS", cell.tls), ("exactly once", cell.exactly_once)) if given]
    to = "" if cell.far == "source" or not cell.round_trip_ms else ", to the target"
    return (
        ", ".join([cell.settings, *more]),
        f"{cell.round_trip_ms} ms{to}",
        f"{cell.tasks}",
        f"{cell.partitions}",
        f"{cell.record_bytes:,} B",
        f"{got.rate(cell) / 1e6:.1f}",
        "" if cell.ceiling is None else f"{cell.ceiling / 1e6:.1f}",
        f"{got.records / got.seconds:,.0f}",
        got.per_gb(got.worker_cpu, cell),
        got.per_gb(got.brokers_cpu, cell),
    )


def over_round_trips(cell: Cell) -> bool:
    return cell.partitions == cell.tasks == 1 and cell.far == "source"


SECTIONS: Mapping[str, Callable[[Cell], bool]] = {
    "round trips": over_round_trips,
    "tasks": lambda cell: bool(cell.round_trip_ms) and not over_round_trips(cell),
    "costs": lambda cell: not cell.round_trip_ms and not over_round_trips(cell),
}


def write(results: Results) -> None:
    """Write the tables and the plot."""
    for name, chosen in SECTIONS.items():
        put(PAGE, name, rows(results, chosen))
    put(PAGE, "machine", f"{machine()}, {datetime.now(UTC).date()}.")
    PLOT.write_text(plot(results), encoding="utf-8")


_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 320, 60, 40
#: Bytes a second at the bottom and at the top of the plot, whose scale is logarithmic: four decades.
_LOW, _DECADES = 1e5, 4
_COLOURS = {"kafka": "#c2410c", "throughput": "#0f766e"}


def plot(results: Results) -> str:
    """Return an SVG of the rate over the round trip, measured (points) and by the formula (lines)."""
    drawn: list[str] = []
    for decade in range(_DECADES + 1):
        y = _y(_LOW * 10**decade)
        drawn.append(f'<line x1="{_LEFT}" y1="{y:.0f}" x2="{_WIDTH}" y2="{y:.0f}" stroke="#ccc"/>')
        drawn.append(f'<text x="4" y="{y + 4:.0f}">{_LOW * 10**decade / 1e6:g} MB/s</text>')
    cells = {cell: got for cell, got in results.items() if over_round_trips(cell) and not cell.tls}
    trips = sorted({cell.round_trip_ms for cell in cells})
    drawn += [f'<text x="{_x(ms) - 12:.0f}" y="{_HEIGHT - 12}">{ms} ms</text>' for ms in trips]
    for number, (settings, colour) in enumerate(_COLOURS.items()):
        ours = sorted((cell.round_trip_ms, cell, got) for cell, got in cells.items() if cell.settings == settings)
        drawn += [
            f'<circle cx="{_x(ms):.0f}" cy="{_y(got.rate(cell)):.0f}" r="5" fill="{colour}"/>' for ms, cell, got in ours
        ]
        line = _path((ms, cell.ceiling) for ms, cell, _ in ours if cell.ceiling)
        drawn.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-dasharray="4"/>')
        drawn.append(f'<text x="{_WIDTH - 130}" y="{20 + 16 * number}" fill="{colour}">{settings}</text>')
    style = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(drawn)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" {style}>\n{body}\n</svg>\n'


def _path(points: Iterable[tuple[int, float]]) -> str:
    return " ".join(f"{_x(ms):.0f},{_y(rate):.0f}" for ms, rate in points)


def _x(milliseconds: float) -> float:
    return _LEFT + 20 + milliseconds / 150 * (_WIDTH - _LEFT - 60)


def _y(rate: float) -> float:
    share = math.log10(max(rate, _LOW) / _LOW) / _DECADES
    return (_HEIGHT - _BOTTOM) - min(1.0, share) * (_HEIGHT - _BOTTOM - 10)
