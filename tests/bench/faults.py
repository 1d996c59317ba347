"""`make faults`: makes faults on running flows, one after the other, and prints what the validation reports for each.

It runs on a local stack of its own, with every shape deployed once. Each fault is made alone, judged by the job, and
undone. Each row is kept in `.local/faults/rows.jsonl` as soon as it is known; `--write` puts the table of all kept
rows into spark/FAULTS.md. `--clean` makes no fault, and counts alarms instead (tests/bench/fault_clean.py).
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

# Read when infra.local.paths is imported: the faults' stack keeps its state, ports and processes to itself.
_ROOT = Path(__file__).resolve().parents[2]
_OWN = _ROOT / ".local" / "faults"
os.environ["REPLICATE_LOCAL"] = str(_OWN)
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
# Compiling the queries of short jobs costs more than it gains.
os.environ["PYSPARK_SUBMIT_ARGS"] = (
    "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN pyspark-shell"
)

from confluent_kafka import KafkaException
from kubernetes.client import ApiException
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.infra.local import artifacts
from kafka_replication.infra.machine.waiting import DeadlineError, exclusive
from kafka_replication.spark.read.sessions import SessionOptions, session
from tests.bench.fault_clean import BESIDE, FLOW, clean_runs
from tests.bench.fault_clusters import CLUSTER_FAULTS
from tests.bench.fault_connectors import CONNECTOR_FAULTS, stopped_connectors
from tests.bench.fault_groups import GROUP_FAULTS
from tests.bench.fault_makers import two_of_each
from tests.bench.fault_oddities import ODDITIES
from tests.bench.fault_page import VARIANTS, line, write_table
from tests.bench.fault_places import EVERY, Place, prepare
from tests.bench.fault_records import RECORD_FAULTS
from tests.bench.fault_rows import Fault, Row, append, compared, judged, not_made, read
from tests.bench.fault_semantics import LASTING_FAULTS, SEMANTIC_FAULTS
from tests.bench.fault_shapes import shape_faults
from tests.bench.fault_stack import Variant, World, deployed
from tests.bench.fault_transforms import TRANSFORM_FAULTS

_OTHER_RUN_SECONDS = 3600.0
_ROWS = _OWN / "rows.jsonl"
_NOT_MADE = (CannotRunError, RefusedError, DeadlineError, KafkaException, ApiException, AssertionError, KeyError)


def made(world: World, faults: Sequence[Fault], together: int, console: Console) -> Iterator[Row]:
    """Make the faults, each alone or together with others that have their own topics; then judge and undo them."""
    alike: dict[object, list[Fault]] = {}
    for fault in faults:
        alone = together == 1 or not fault.prepares or fault.only is not None
        alike.setdefault(fault.name if alone else (fault.flow, fault.stops), []).append(fault)
    for group in alike.values():
        for first in range(0, len(group), together):
            batch = {each: Place(world, each.name, each.shape, each.ending) for each in group[first : first + together]}
            try:
                yield from _judged_together(world, batch)
            except _NOT_MADE as error:
                console.print_exception(max_frames=6)
                yield from (not_made(each, place, error) for each, place in batch.items())


def _judged_together(world: World, batch: Mapping[Fault, Place]) -> Iterator[Row]:
    prepared = {fault: place for fault, place in batch.items() if fault.prepares}
    prepare(
        list(prepared.values()),
        {place.topic: two_of_each(place) if fault.keyed else place.rows(EVERY) for fault, place in prepared.items()},
        {place.topic: fault.config for fault, place in prepared.items()},
    )
    fault = next(iter(batch))
    with ExitStack() as undone:
        with world.source_stopped(fault.flow) if fault.stops else nullcontext():
            for each, place in batch.items():
                undone.enter_context(each.making(world, place))
        looked_at = [each.looked_at(place) for each, place in batch.items()]
        only = {key: tuple(chain.from_iterable(each[key] for each in looked_at)) for key in looked_at[0]}
        began = time.monotonic()
        outcome = world.validate(fault.flow, max(each.catch_up_seconds for each in batch), only)
        seconds = time.monotonic() - began
    for each, place in batch.items():
        if each.prepares or each.owns:
            place.remove()
        yield judged(each, place, outcome, seconds, [other for other in batch.values() if other is not place])


def chosen(world: World, pattern: str, missing: bool) -> list[Fault]:
    """The faults whose names match; if only missing ones are wanted, those without a row."""
    made_before = [each for each in read(_ROWS) if each.made and each.variant == str(world.variant)]
    known = {each.name for each in made_before} if missing else set()
    beside = [] if world.variant.only else stopped_connectors(world)
    every = [*beside, *faults_of(world.variant)]
    return [each for each in every if re.search(pattern, each.name) and each.name not in known]


def faults_of(variant: Variant) -> list[Fault]:
    """The faults that can be made on all flows, and those of one flow, which are made once."""
    common = (*RECORD_FAULTS, *GROUP_FAULTS, *ODDITIES, *SEMANTIC_FAULTS)
    once = (*common, *CONNECTOR_FAULTS, *TRANSFORM_FAULTS, *CLUSTER_FAULTS, *LASTING_FAULTS)
    every = [*shape_faults(variant), *(once if variant.plain else ())]
    return [each for each in every if each.flow.startswith(variant.only or "")]


def write(rows: Sequence[Row]) -> None:
    """Put the tables of these rows into the job's page, compared with what is expected now."""
    known = {(str(each), fault.name): (fault, each) for each in VARIANTS for fault in faults_of(each)}
    found = [compared(row, *known[row.variant, row.name]) if (row.variant, row.name) in known else row for row in rows]
    write_table(_ROOT / "spark" / "FAULTS.md", found, datetime.now(UTC).strftime("%d %B %Y"))


def print_end(console: Console, rows: Sequence[Row], seconds: float) -> None:
    """Print how many faults were made under which load, and which were not reported as expected."""
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    console.print(f"{len(rows)} rows in {seconds:.0f} s, load average {load} on {os.cpu_count()} cores")
    for each in rows:
        if each.wrong:
            console.print(f"{each.variant} {each.name}: {each.wrong}", style="red", markup=False)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make faults")
    parser.add_argument("--only", default="", help="a regular expression for the names of faults")
    parser.add_argument("--missing", action="store_true", help="only faults without a row that was kept")
    parser.add_argument("--keep", action="store_true", help="leave the stack running, and use the one that a run left")
    parser.add_argument("--together", type=int, default=1, help="faults of topics that one run of the job judges")
    parser.add_argument("--policy", choices=["default", "identity"], default="default")
    parser.add_argument("--exactly-once", action="store_true")
    parser.add_argument("--flow", default="", help="deploy only this replication, and make only faults in it")
    parser.add_argument("--clean", type=int, default=0, metavar="RUNS", help="no fault: validate so often under load")
    parser.add_argument("--write", action="store_true", help="only write the table of the rows that were kept")
    return parser.parse_args()


def print_clean(world: World, runs: int) -> int:
    """Print each run as it ends; 1 if there was an alarm."""
    found = []
    for each in clean_runs(world, runs):
        print(each.lines, flush=True)
        found.append(each)
    alarmed = sum(bool(each.alarms) for each in found)
    print(f"{len(found)} clean runs, {alarmed} with an alarm")
    return 1 if alarmed else 0


def main() -> int:
    """Make the chosen faults and print the table; 1 if one is not reported as expected, 2 if nothing could run."""
    given = parsed()
    if given.write:
        write(read(_ROWS))
        return 0
    console = Console(stderr=True, highlight=False, width=200)
    began = time.monotonic()
    rows: list[Row] = []
    flows = (FLOW, BESIDE) if given.clean else (given.flow,) if given.flow else ()
    variant = Variant(given.policy, given.exactly_once, flows)
    try:
        built = artifacts.ensure(console)
        os.environ |= {"JAVA_HOME": str(built.jdk.home), "REPLICATE_SPARK_JARS": str(built.spark_lib)}
        if given.clean:
            # Its topics are long, so compiled queries are faster, and it runs long enough to gain from the JVM's
            # second compiler, without which TLS and SHA-512 take most of a run.
            for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS"):
                os.environ.pop(name, None)
        with (
            exclusive(_OWN / "faults.lock", console, "running the faults", _OTHER_RUN_SECONDS),
            session(SessionOptions(master="local[2]", jars_dir=built.spark_lib)),
            deployed(_OWN, variant, console, keep=given.keep) as world,
        ):
            if given.clean:
                return print_clean(world, given.clean)
            for each in made(world, chosen(world, given.only, given.missing), given.together, console):
                append(_ROWS, each)
                rows.append(each)
                print(f"{line(each)} {each.seconds} s\n{each.wrong}".strip(), flush=True)
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    finally:
        print_end(console, rows, time.monotonic() - began)
    return 1 if any(each.wrong for each in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
