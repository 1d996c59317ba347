"""The full comparison of two sizes of one flow, now and as an earlier commit does it, in alternation."""

import io
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.beside.samples import profiled
from tests.bench.beside.tools import only_count
from tests.bench.size_fill import Large
from tests.bench.size_perf import perf_test
from tests.bench.size_run import Bench, Cost
from tests.pages import table
from tests.repository import ROOT

NOW, COUNTING = "now", "only counting"
GROWTH = 2


@contextmanager
def compared(bench: Bench, before: str | None) -> Iterator[Mapping[str, Bench]]:
    """Provide the bench of this checkout, and that of the commit `before`, by the names that the tables give them."""
    if before is None:
        yield {NOW: bench}
        return
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", before], capture_output=True, check=True).stdout
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        yield {"before": replace(bench, tree=Path(folder)), NOW: bench}


@dataclass
class Sizes:
    """What was measured of each size, by its records on one side and by the version's name."""

    costs: dict[tuple[int, str], list[Cost]] = field(default_factory=dict)
    perf: dict[int, tuple[float, Cost]] = field(default_factory=dict)
    parts: dict[str, dict[str, float]] = field(default_factory=dict)

    def measure(self, benches: Mapping[str, Bench], large: Large, turns: int, *, parts: bool) -> None:
        """Measure the flow as large as it is now, and then with more records."""
        now = benches[NOW]
        for size in (large.records, large.records * GROWTH):
            if size > large.records:
                large.grow(size - large.records)
                large.commit()
            for _ in range(turns):
                for name, bench in benches.items():
                    self.costs.setdefault((size, name), []).append(bench.validated(large.scene))
            now.console.print(f"{size:,} records: only counting them")
            self.costs[size, COUNTING] = [only_count(now, large.scene)]
            self.perf[size] = perf_test(large.scene.source, large.scene.name, size, now)
        for name, bench in benches.items() if parts else ():
            now.console.print(f"{large.records:,} records, {name}: with the flight recorder")
            self.parts[name] = profiled(bench, large.scene)

    def rates(self) -> str:
        """Return the table of rates, for each size the turn with the least processor time.

        A rate in seconds is over the time in which parity reads, to which the start of Spark belongs; a core-second is
        the processor time of the whole process and of the brokers.
        """
        head = ("records of a side", "version", "processor s", "brokers, processor s", "peak MiB", "records/s", "ratio",
                "records a core-second", "ratio")  # fmt: skip
        rows = []
        for size, (perf, cost) in self.perf.items():
            each = size / (cost.processor + cost.brokers)
            rows.append((f"{size:,}", "`kafka-consumer-perf-test` of the source", *_costs(cost), f"{perf:,.0f}", "1",
                         f"{each:,.0f}", "1"))  # fmt: skip
            for name in [name for at, name in self.costs if at == size]:
                cost = min(self.costs[size, name], key=lambda one: one.processor)
                # To count them takes the whole run.
                rate = 2 * size / cost.reading if cost.flow else 0
                in_seconds = (f"{rate:,.0f}", f"{rate / perf:.2f}") if rate else ("", "")
                both = 2 * size / (cost.processor + cost.brokers)
                rows.append((f"{size:,}", name, *_costs(cost), *in_seconds, f"{both:,.0f}", f"{both / each:.2f}"))
        return table(head, rows)

    def by_part(self, records: int) -> str:
        """Return the table of parts; `records` are those of both sides."""
        parts = sorted(self.parts[NOW], key=lambda part: -self.parts[NOW][part])
        totals = {name: {**seconds, "all": sum(seconds.values())} for name, seconds in self.parts.items()}
        rows = [
            (part, *(f"{seconds.get(part, 0):.1f}" for seconds in totals.values()),
             *(f"{seconds.get(part, 0) / records * 1e6:.2f}" for seconds in totals.values()))
            for part in (*parts, "all")
        ]  # fmt: skip
        head = ("part", *(f"{name}: processor s" for name in totals), *(f"{name}: µs of a record" for name in totals))
        return table(head, rows)


def _costs(cost: Cost) -> tuple[str, ...]:
    return f"{cost.processor:.1f}", f"{cost.brokers:.1f}", f"{cost.peak_mib:,.0f}"
