"""`make faults`: makes faults on running flows, one after the other, and prints what the validation says of each.

It runs on a local stack of its own, with all example shapes deployed once. Faults in topics and groups do not disturb
each other, so one run of the job judges them together; a connector is stopped while everything else runs.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

# Read when infra.local.paths is imported: the faults' stack keeps its state, ports and processes to itself.
_OWN = Path(__file__).resolve().parents[2] / ".local" / "faults"
os.environ["REPLICATE_LOCAL"] = str(_OWN)
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

from confluent_kafka import KafkaException
from kubernetes.client import ApiException
from rich.console import Console

from components.contract.problems import CannotRunError
from components.contract.report import EXIT_CODES, Finding, FlowOutcome, Severity, Verdict, worst
from infra.local import stack
from infra.local.build import artifacts
from infra.local.example_traffic import LEDGER, ORDERS, SALES, STOCK, make_example_traffic
from infra.local.traffic import create_topics
from infra.machine.locks import exclusive
from infra.waiting import NotYetError, wait_for
from spark.sessions import SessionOptions, session
from tests.bench.fault_flows import FLOW_FAULTS, FlowFault, connector_faults
from tests.bench.fault_topics import COMMITTED, FAULTS, RECORDS, TopicFault
from tests.bench.fault_world import Place, World, delete_topics, expect_ends, write_stack
from tests.commits import commit
from tests.local.flows import ARRIVAL_SECONDS
from tests.local.observed import committed

_OTHER_RUN_SECONDS = 3600.0
_SEVERITIES = {Severity.FAIL: Verdict.FAIL, Severity.ERROR: Verdict.ERROR}


@dataclass(frozen=True)
class Row:
    """One line of the table. `wrong` says what is missing in what was found; empty if nothing is."""

    what: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    seconds: float
    wrong: str = ""

    @property
    def markdown(self) -> str:
        codes = ", ".join(dict.fromkeys(f"`{each.code}`" for each in self.findings)) or "none"
        words = "<br>".join(_shown(each.message) for each in self.findings)
        verdict = f"{EXIT_CODES[self.verdict]} {self.verdict.value}"
        return f"| {self.what} | {verdict} | {codes} | {words} | {self.seconds:.0f} |"


def _shown(message: str) -> str:
    return re.sub(r"\s+", " ", message).replace("|", "\\|").replace("<", "&lt;")


def row(what: str, findings: Iterable[Finding], seconds: float, codes: Sequence[str], words: Sequence[str]) -> Row:
    """The line of a fault; it is wrong if no finding has one of the codes with all the words and a remedy."""
    found = tuple(findings)
    verdict = worst(_SEVERITIES[each.severity] for each in found if each.severity in _SEVERITIES)
    named = [each for each in found if each.code in codes]
    wrong = ""
    if not codes:
        wrong = "" if verdict is Verdict.PASS else "a false alarm"
    elif not named:
        wrong = f"none of {', '.join(codes)} is found"
    elif missing := [word for word in words if not any(word in each.message for each in named)]:
        wrong = f"the words {missing} are missing"
    shown = tuple(sorted(found, key=lambda each: (each.code not in codes, each.severity is Severity.NOTE)))
    return Row(what, verdict, shown, seconds, wrong)


def findings_about(outcome: FlowOutcome, place: Place) -> Iterator[Finding]:
    """The findings that name the topic or the group of a fault."""
    pattern = re.compile(rf"(?<![\w-])(useast\.)?({re.escape(place.topic)}|{re.escape(place.group)})(?![\w]|-[a-z])")
    for check in outcome.checks:
        yield from (each for each in check.findings if pattern.search(each.message))


def topic_faults(world: World, faults: Sequence[TopicFault], console: Console) -> Iterator[Row]:
    """Make the faults in topics of their own and judge them together."""
    places = {fault.name: Place(world, fault.name, fault.group) for fault in faults}
    for config in (dict(each) for each in {tuple(fault.config.items()) for fault in faults}):
        create_topics(world.east, {places[each.name].topic: 1 for each in faults if each.config == config}, config)
    # In two steps, so that there is an offset sync in front of what the groups have committed.
    for part in (slice(0, COMMITTED - 10), slice(COMMITTED - 10, RECORDS)):
        for fault in faults:
            places[fault.name].write_rows(world.east, fault.rows(places[fault.name])[part])
        expect_ends(world.west, {place.remote: part.stop for place in places.values()})
    for place in places.values():
        commit(world.east, place.group, {(place.topic, 0): COMMITTED})
    for place in (places[fault.name] for fault in faults if "group-left-out" not in fault.codes):
        wait_for(f"{place.group} to be translated", partial(_expect_translated, place), ARRIVAL_SECONDS)
    with world.stopped("orders", ["orders-source"]):
        for fault in faults:
            if fault.stopped is not None:
                console.print(f"  {fault.name}: {fault.what}")
                fault.stopped(places[fault.name])
    for fault in faults:
        if fault.make is not None:
            console.print(f"  {fault.name}: {fault.what}")
            fault.make(places[fault.name])
    began = time.monotonic()
    outcome = world.validate("orders", 10)
    seconds = time.monotonic() - began
    for fault in faults:
        yield row(fault.what, findings_about(outcome, places[fault.name]), seconds, fault.codes, fault.words)
    delete_topics(world.east, [place.topic for place in places.values()])
    delete_topics(world.west, [place.remote for place in places.values()])


def flow_fault(world: World, fault: FlowFault, console: Console) -> Row:
    """Make the fault, judge its flow, and undo it."""
    console.print(f"  {fault.name}: {fault.what}")
    try:
        with fault.making(world):
            began = time.monotonic()
            outcome = world.validate(fault.flow, fault.catch_up_seconds)
            seconds = time.monotonic() - began
    except (CannotRunError, KafkaException, ApiException, AssertionError, KeyError) as error:
        console.print_exception()
        return Row(fault.what, Verdict.ERROR, (), 0, f"not made: {error}")
    found = [each for check in outcome.checks for each in check.findings if each.severity is not Severity.NOTE]
    if outcome.error is not None:
        found.append(outcome.error)
    return row(fault.what, found, seconds, fault.codes, fault.words)


def _expect_translated(place: Place) -> None:
    if not committed(place.world.west, place.group, place.remote):
        raise NotYetError("it has no offset on the target")


@contextmanager
def deployed(console: Console) -> Iterator[World]:
    """All shapes, deployed and working, until the body ends."""
    quiet = Console(quiet=True)
    stack.down(quiet, purge=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "stacks"
        write_stack(folder, {})
        try:
            world = World.of(stack.up(quiet), folder)
            traffic(world)
            console.print("deploying")
            with world.deployed.running():
                traffic(world)
                yield world
        finally:
            stack.down(quiet, purge=True)


def traffic(world: World, records: int = 60) -> None:
    """Records and commits in the topics of every shape."""
    for example in (ORDERS, SALES, STOCK, LEDGER):
        make_example_traffic(world.east, records, 1, example)
    make_example_traffic(world.west, records, 2, LEDGER)


def made(world: World, chosen: re.Pattern[str], console: Console, until: float) -> Iterator[Row]:
    """The chosen faults, one after the other, until a time of the monotonic clock."""
    yield from topic_faults(world, [each for each in FAULTS if chosen.search(each.name)], console)
    for fault in (*connector_faults(world), *FLOW_FAULTS):
        if chosen.search(fault.name) and time.monotonic() < until:
            yield flow_fault(world, fault, console)


def print_end(console: Console, rows: Sequence[Row], seconds: float) -> None:
    """How much was made under which load, and what is not found as it should be."""
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    console.print(f"{len(rows)} rows in {seconds:.0f} s, load average {load} on {os.cpu_count()} cores")
    for each in rows:
        if each.wrong:
            console.print(f"{each.what}: {each.wrong}", style="red", markup=False)


def main() -> int:
    """Make the chosen faults and print the table; 1 if one is not found as it should be, 2 if nothing could run."""
    parser = argparse.ArgumentParser(prog="make faults")
    parser.add_argument("--only", default="", help="a regular expression for the names of faults")
    parser.add_argument("--minutes", type=float, default=25, help="make no further fault after this time")
    given = parser.parse_args()
    chosen = re.compile(given.only)
    console = Console(stderr=True, highlight=False)
    began = time.monotonic()
    rows: list[Row] = []
    try:
        built = artifacts.ensure(console)
        os.environ |= {"JAVA_HOME": str(built.jdk.home), "REPLICATE_SPARK_JARS": str(built.spark_lib)}
        with (
            exclusive(_OWN / "faults.lock", console, "running the faults", _OTHER_RUN_SECONDS),
            session(SessionOptions(master="local[2]", jars_dir=built.spark_lib)),
            deployed(console) as world,
        ):
            print("| fault | exit code | findings | words | s |\n| --- | --- | --- | --- | --- |", flush=True)
            for each in made(world, chosen, console, began + 60 * given.minutes):
                print(each.markdown, flush=True)
                rows.append(each)
    except CannotRunError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    finally:
        print_end(console, rows, time.monotonic() - began)
    return 1 if any(each.wrong for each in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
