"""What the bench prints, and what it writes into the page of numbers."""

import math
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from kafka_replication.components.kafka.throughput import Case, Cost, Measured, Measurements
from tests.bench.mirror.cells import asked, prediction
from tests.bench.mirror.fit import predicted, whole_cost
from tests.pages import put, table
from tests.repository import ROOT

PAGE, PLOT = ROOT / "infra" / "NUMBERS.md", ROOT / "infra" / "images" / "round-trip.svg"


def machine() -> str:
    """Return what it was measured on."""
    model = next((line.split(":", 1)[1].strip() for line in _cpu_info() if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores of {model or platform.machine()}, {platform.system()}"


def _cpu_info() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text().splitlines() if file.exists() else []


_HEAD = ("settings", "round trip", "tasks", "partitions", "record")


def sections(measured: Measurements) -> dict[str, str]:
    """Return the tables of the page by their names, and what they were measured on."""
    held_back = set(measured.held_back) | {case for _, case in asked(measured)}
    plain = [case for case in measured.cells if not case.pace and case not in held_back]
    trips = [case for case in plain if over_round_trips(case)]
    spent = whole_cost(measured.cells)

    def predicted_rate(case: Case) -> float:
        return predicted(case, measured.fitted, spent, measured.cores)

    def rates(chosen: Iterable[Case]) -> str:
        head = (*_HEAD, "MB/s", "model", "limit", "records/s", "worker, s per GB", "brokers, s per GB")
        return table(head, [rate_row(case, measured.cells[case]) for case in chosen])

    def rate_row(case: Case, got: Measured) -> tuple[str, ...]:
        costs = (seconds / (got.records * case.record_bytes / 1e9) for seconds in (got.worker_cpu, got.brokers_cpu))
        limit = prediction(case, measured.fitted)
        shown = limit.limit if limit.rate <= predicted_rate(case) else "this machine"
        return (
            *_cell(case),
            f"{got.rate(case) / 1e6:.1f}",
            # How much processor time the brokers need with TLS or transactions is not in the model.
            *(("", "") if case.tls or case.exactly_once else (f"{predicted_rate(case) / 1e6:.1f}", shown)),
            f"{got.records / got.seconds:,.0f}",
            *(f"{each:.1f}" for each in costs),
        )

    return {
        "machine": f"{measured.machine}, Kafka {measured.versions['kafka']}, Java {measured.versions['java']}, "
        f"{measured.date}.",
        "round trips": rates(trips),
        "tasks": rates(case for case in plain if case.round_trip_ms and case not in trips),
        "costs": rates(case for case in plain if not case.round_trip_ms and case not in trips),
        "latency": _known(
            (*_HEAD, "MB/s", "p50", "p99"),
            [
                (*_cell(case), f"{case.pace / 1e6:.1f}", f"{got.p50_ms:.0f} ms", f"{got.p99_ms:.0f} ms")
                for case, got in measured.cells.items()
                if case.pace
            ],
        ),
        "held back": _known(
            (*_HEAD, "MB/s", "model", "error"),
            [_compared(case, measured.cells[case], predicted_rate(case)) for case in measured.held_back],
        ),
        "sizes": _known(
            ("asked", *_HEAD, "measured MB/s"),
            [
                (f"{question.bytes_per_second / 1e6:g} MB/s", *_cell(case), f"{got.rate(case) / 1e6:.1f}")
                for question, case in asked(measured)
                if (got := measured.cells.get(case))
            ],
        ),
        "model": _model(measured),
    }


def _known(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(head, rows) if rows else "Nothing was measured yet."


def _cell(case: Case) -> tuple[str, ...]:
    more = [word for word, given in (("TLS", case.tls), ("exactly once", case.exactly_once)) if given]
    to = "" if case.far == "source" or not case.round_trip_ms else ", to the target"
    to += f", {case.link / 1e6:g} MB/s" if case.link else ""
    sizes = f"{case.tasks}", f"{case.partitions}", f"{case.record_bytes:,} B"
    return ", ".join([case.settings, *more]), f"{case.round_trip_ms} ms{to}", *sizes


def _compared(case: Case, got: Measured, rate: float) -> tuple[str, ...]:
    return *_cell(case), f"{got.rate(case) / 1e6:.1f}", f"{rate / 1e6:.1f}", f"{rate / got.rate(case) - 1:+.0%}"


def _model(measured: Measurements) -> str:
    fitted = measured.fitted
    costs = [
        (kind, *(f"{part:.1f}" for cost in (task, fitted.worker[kind], fitted.brokers[kind]) for part in _parts(cost)))
        for kind, task in fitted.task.items()
    ]
    head = (
        "settings",
        "task, µs a record",
        "task, ns a byte",
        "worker, processor µs a record",
        "worker, processor ns a byte",
        "brokers, processor µs a record",
        "brokers, processor ns a byte",
    )
    worker, brokers = fitted.of_worker, fitted.of_brokers
    return "\n".join(
        [
            table(head, costs),
            "",
            f"A fetch takes {fitted.fetch_ms:g} ms and an acknowledgement {fitted.acknowledge_ms:g} ms besides the "
            f"round trip. With TLS, a worker needs {worker.tls:.2f} times as much processor time, and the brokers "
            f"{brokers.tls:.2f} times; with exactly once, {worker.exactly_once:.2f} and {brokers.exactly_once:.2f} "
            "times.",
        ]
    )


def _parts(cost: Cost) -> tuple[float, float]:
    return cost.per_record * 1e6, cost.per_byte * 1e9


def over_round_trips(cell: Case) -> bool:
    return cell.partitions == cell.tasks == 1 and cell.far == "source"


def write(measured: Measurements) -> None:
    """Write the tables and the plot."""
    for name, text in sections(measured).items():
        put(PAGE, name, text)
    PLOT.write_text(plot(measured), encoding="utf-8")


_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 320, 60, 40
#: Bytes a second at the bottom and at the top of the plot, whose scale is logarithmic: four decades.
_LOW, _DECADES = 1e5, 4
_COLOURS = {"kafka": "#c2410c", "throughput": "#0f766e"}


def plot(measured: Measurements) -> str:
    """Return an SVG of the rate over the round trip, measured (points) and by the model (lines)."""
    spent = whole_cost(measured.cells)
    drawn: list[str] = []
    for decade in range(_DECADES + 1):
        y = _y(_LOW * 10**decade)
        drawn.append(f'<line x1="{_LEFT}" y1="{y:.0f}" x2="{_WIDTH}" y2="{y:.0f}" stroke="#ccc"/>')
        drawn.append(f'<text x="4" y="{y + 4:.0f}">{_LOW * 10**decade / 1e6:g} MB/s</text>')
    cells = {cell: got for cell, got in measured.cells.items() if over_round_trips(cell) and not cell.pace}
    trips = sorted({cell.round_trip_ms for cell in cells})
    drawn += [f'<text x="{_x(ms) - 12:.0f}" y="{_HEIGHT - 12}">{ms} ms</text>' for ms in trips]
    for number, (settings, colour) in enumerate(_COLOURS.items()):
        ours = sorted((cell.round_trip_ms, cell, got) for cell, got in cells.items() if cell.settings == settings)
        drawn += [
            f'<circle cx="{_x(ms):.0f}" cy="{_y(got.rate(cell)):.0f}" r="5" fill="{colour}"/>' for ms, cell, got in ours
        ]
        line = _path((ms, predicted(cell, measured.fitted, spent, measured.cores)) for ms, cell, _ in ours)
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
