"""The tables of the validation job's bench: ratios within one run, and the figures behind them."""

from collections.abc import Mapping, Sequence
from statistics import mean

from rich.console import Console
from rich.table import Table

from tests.bench.size_run import CORES, DRIVER_MEMORY, Cost


def table(title: str, *columns: str) -> Table:
    found = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        found.add_column(column, justify="right" if number else "left")
    return found


def print_long(console: Console, rates: Sequence[float], costs: Mapping[str, Cost]) -> None:
    """`rates` are those of kafka-consumer-perf-test, before and after the job."""
    small, large, rate = costs["small full"], costs["large full"], mean(rates)
    both = large.read / large.reading
    shown = table(
        f"A full validation of {large.read:,.0f} records of both sides, {CORES} cores", "what", "figure", "ratio"
    )
    shown.add_row("kafka-consumer-perf-test, records/s, mean of both sides", f"{rate:,.0f}", "1.00")
    shown.add_row("parity, records/s, both sides together", f"{both:,.0f}", f"{both / rate:.2f}")
    for size, cost in (("a tenth", small), ("all", large)):
        ratio = cost.peak_mib / small.peak_mib
        shown.add_row(
            f"{size}: peak memory of the job, MiB (driver {DRIVER_MEMORY})", f"{cost.peak_mib:,.0f}", f"{ratio:.2f}"
        )
        offsets = cost.counts("offsets-translate")
        shown.add_row(f"{size}: records read to prove {offsets['proven']} offsets", f"{offsets['recordsRead']}", "")
    console.print(shown)
    _costs(console, {"a tenth": small, "all": large})


def print_depths(console: Console, costs: Mapping[str, Cost]) -> None:
    shown = table("Depths: ratios", "what", "beside", "seconds", "processor seconds", "reading", "records read")
    for what, one, other in (
        ("quick of all", "large quick", "small quick"),
        ("quick of all", "large quick", "large full"),
        ("incremental, after 1 % more", "incremental", "large full"),
    ):
        here, there = costs[one], costs[other]
        ratios = here.seconds / there.seconds, here.processor / there.processor
        reading = f"{here.reading / there.reading:.3f}" if here.reading and there.reading else ""
        shown.add_row(what, other, *(f"{ratio:.3f}" for ratio in ratios), reading, f"{here.read / there.read:.3f}")
    console.print(shown)
    _costs(console, costs)
    _steps(console, costs["incremental"])


def print_workers(console: Console, one: Cost, two: Cost) -> None:
    shown = table(
        "Workers of a standalone master", "what", "seconds", "times as fast", "parity reads, s", "times as fast"
    )
    shown.add_row("one worker", f"{one.seconds:.1f}", "1.00", f"{one.reading:.1f}", "1.00")
    ratios = one.seconds / two.seconds, one.reading / two.reading
    shown.add_row("two workers", f"{two.seconds:.1f}", f"{ratios[0]:.2f}", f"{two.reading:.1f}", f"{ratios[1]:.2f}")
    console.print(shown)
    _costs(console, {"one worker": one, "two workers": two})


def print_wide(console: Console, partitions: int, groups: int, costs: Mapping[str, Cost]) -> None:
    console.print(f"{partitions:,} partitions, {groups:,} groups, a driver of {DRIVER_MEMORY}; and half of each")
    shown = table("All beside half", "depth", "seconds", "processor seconds", "peak memory")
    for depth in ("full", "quick"):
        half, whole = costs[f"half {depth}"], costs[f"all {depth}"]
        ratios = whole.seconds / half.seconds, whole.processor / half.processor, whole.peak_mib / half.peak_mib
        shown.add_row(depth, *(f"{ratio:.2f}" for ratio in ratios))
    console.print(shown)
    _costs(console, costs)
    _steps(console, costs["all full"])


def print_example(console: Console, costs: Sequence[Cost]) -> None:
    _costs(console, {f"run {number}": each for number, each in enumerate(costs, 1)})
    _steps(console, costs[-1])


def _costs(console: Console, costs: Mapping[str, Cost]) -> None:
    shown = table(
        "Each run", "run", "seconds", "job's processor s", "brokers' processor s", "peak MiB", "parity reads, s"
    )
    for name, each in costs.items():
        seconds = each.reading
        figures = (each.seconds, each.processor, each.brokers, each.peak_mib)
        shown.add_row(name, *(f"{figure:,.1f}" for figure in figures), f"{seconds:.1f}" if seconds else "")
    console.print(shown)


def _steps(console: Console, cost: Cost) -> None:
    shown = table("Where the time goes", "step", "seconds")
    for (what, began), (_, ended) in zip(cost.steps, cost.steps[1:], strict=False):
        shown.add_row(what, f"{ended - began:.1f}")
    console.print(shown)
