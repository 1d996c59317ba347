"""`python -m tests.bench.beside`: the proof beside what people do without it, on the same records in one run.

1. `faults`: what each tool says of two flows without a fault and of five with one;
2. `cost`: time, processor time and memory of each for one large flow;
3. `rates`: the rate of the proof's comparison beside `kafka-consumer-perf-test`, and the same with more records;
4. `profile`: where its processor time goes;
5. `startup`: an empty Spark session beside the validation of a small flow.

`--write` puts the tables of this run into spark/NUMBERS.md. kcat has to be on the PATH, or be left out with `--tools`.
With `--before COMMIT`, `rates` and `profile` also measure that commit, in alternation. With `--quick-brokers`, the page
gets only the rates.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import artifacts
from kafka_replication.infra.validate.run import quick_start
from tests.bench.beside.scenes import CASES, forged
from tests.bench.beside.sizes import Sizes, compared
from tests.bench.beside.tools import NAMES, TOOLS
from tests.bench.mirror.page import machine
from tests.bench.size import brokers
from tests.bench.size_fill import Large
from tests.bench.size_run import Bench, Cost, measured
from tests.pages import put, table
from tests.repository import ROOT
from tests.spark.scenes import Scene

PAGE = ROOT / "spark" / "NUMBERS.md"
SHOWS = ("faults", "cost", "rates", "profile", "startup")
#: The machine's place in the page for tables that may be of another run than the others.
_MACHINES = {"rates": "machine-rates", "profile": "machine-rates"}
_QUICK_RATES = "quick rates"
_SESSION = (
    "from pyspark.sql import SparkSession; "
    "SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false').getOrCreate().range(1).count()"
)
_OWN_SESSION = """
import sys
from pathlib import Path
from kafka_replication.spark.read.sessions import SessionOptions, session
with session(SessionOptions(master="local[2]", jars_dir=Path(sys.argv[1]))) as spark:
    spark.range(1).count()
"""
_RUNS = 3


def main(argv: list[str] | None = None) -> int:
    """Run the bench and print its tables; 2 if it could not run."""
    arguments = parser().parse_args(argv)
    if arguments.quick_brokers:
        arguments.shows = ["rates"]
    console = Console(stderr=True, highlight=False)
    try:
        with brokers(console, compiled=not arguments.quick_brokers) as endpoints:
            bench = Bench(endpoints, artifacts.ensure(console), console)
            for name, text in _tables(bench, arguments):
                print(f"{name}\n{text}\n", flush=True)
                if not arguments.write:
                    continue
                where = f"{machine()}, {datetime.now(UTC).date()}, load average {os.getloadavg()[0]:.0f}."
                if name == _QUICK_RATES:
                    put(PAGE, name, f"Measured on {where}\n\n{text}")
                else:
                    put(PAGE, name, text)
                    put(PAGE, _MACHINES.get(name, "machine"), where)
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m tests.bench.beside", description=__doc__.splitlines()[0])
    arguments.add_argument("--shows", nargs="+", choices=SHOWS, default=SHOWS, help="what to measure (default: all)")
    arguments.add_argument("--tools", nargs="+", choices=TOOLS, default=tuple(TOOLS), help="which tools (default: all)")
    arguments.add_argument("--records", type=int, default=2_000_000, help="of the large flow (default: 2,000,000)")
    arguments.add_argument("--bytes", type=int, default=200, help="of each of them (default: 200)")
    arguments.add_argument(
        "--quick-brokers",
        action="store_true",
        help="only the rates, with brokers that have the JVM's first compiler only",
    )
    arguments.add_argument("--before", metavar="COMMIT", help="measure the rates of this commit as well")
    arguments.add_argument("--turns", type=int, default=2, help="of each size; the best counts (default: 2)")
    arguments.add_argument("--write", action="store_true", help="write the tables into spark/NUMBERS.md")
    return arguments


def _tables(bench: Bench, arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    run_id = f"{int(time.time()) % 100_000}"
    small = Scene(bench.endpoints, f"small-{run_id}").replicate(records=1_000, partitions=6)
    small.translate(f"{small.name}-group", 500, 491)
    bench.validated(small)  # The JVM writes its class archive in the first run.
    if "faults" in arguments.shows:
        yield "faults", _faults(bench, f"beside-{run_id}", arguments)
    if "startup" in arguments.shows:
        yield "startup", _startup(bench, small)
    if {"cost", "rates", "profile"} & set(arguments.shows):
        large = Large(Scene(bench.endpoints, f"large-{run_id}"), arguments.bytes)
        bench.console.print(f"writing {arguments.records:,} records of {arguments.bytes} bytes to both sides")
        large.grow(arguments.records)
        large.commit()
        if "cost" in arguments.shows:
            yield "cost", _costs(bench, large, arguments)
        if {"rates", "profile"} & set(arguments.shows):
            sizes = Sizes()
            with compared(bench, arguments.before) as benches:
                sizes.measure(benches, large, arguments.turns, parts="profile" in arguments.shows)
            yield _QUICK_RATES if arguments.quick_brokers else "rates", sizes.rates()
            if "profile" in arguments.shows:
                yield "profile", sizes.by_part(2 * large.records)


def _faults(bench: Bench, name: str, arguments: argparse.Namespace) -> str:
    rows = []
    for case_name, case in CASES.items():
        scene = Scene(bench.endpoints, f"{name}-{case_name}")
        forged(scene, case)
        rows.append([case.what])
        for tool in arguments.tools:
            bench.console.print(f"{case.what}: {tool}")
            rows[-1].append(TOOLS[tool](bench, scene)[1])
    return table(["records", *(NAMES[tool] for tool in arguments.tools)], rows)


def _costs(bench: Bench, large: Large, arguments: argparse.Namespace) -> str:
    head = ("tool", "says", "seconds", "processor s", "brokers, processor s", "peak MiB", "records/s of both sides")
    rows = []
    for tool in arguments.tools:
        bench.console.print(f"{large.records:,} records: {tool}")
        cost, says = TOOLS[tool](bench, large.scene)
        rows.append((NAMES[tool], says, *_figures(cost), f"{2 * large.records / cost.seconds:,.0f}"))
        if tool == "proof" and cost.reading:
            rows.append(
                ("its comparison alone", "", f"{cost.reading:.1f}", "", "", "", f"{cost.read / cost.reading:,.0f}")
            )
    return table(head, rows)


def _figures(cost: Cost) -> tuple[str, ...]:
    return tuple(f"{figure:,.1f}" for figure in (cost.seconds, cost.processor, cost.brokers, cost.peak_mib))


def _startup(bench: Bench, small: Scene) -> str:
    built = bench.built
    plain = {**os.environ, "JAVA_HOME": str(built.jdk.home), "SPARK_LOCAL_IP": "127.0.0.1"}
    archived = plain | quick_start(built.jdk, built.spark_lib)
    session = [sys.executable, "-c", _SESSION]
    own = [sys.executable, "-c", _OWN_SESSION, str(built.spark_lib)]
    rows = []
    runs: list[tuple[str, Callable[[], Cost]]] = [
        ("`java -version`", lambda: measured([str(built.jdk.java), "-version"], plain)[0]),
        ("an empty Spark session that counts one row", lambda: measured(session, plain)[0]),
        ("the same in the session of this project", lambda: measured(own, archived)[0]),
        ("`replicate validate` of six partitions of 1,000 records", lambda: bench.validated(small)),
    ]
    for name, run in runs:
        costs = [run() for _ in range(_RUNS)]
        best = min(costs, key=lambda cost: cost.seconds)
        rows.append(
            (name, f"{best.seconds:.1f}", f"{max(each.seconds for each in costs):.1f}", f"{best.processor:.1f}")
        )
    return table(("what", "seconds, best of three", "worst", "processor s"), rows)


if __name__ == "__main__":
    sys.exit(main())
