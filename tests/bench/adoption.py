"""Adopts what runs from plain YAML while 2,000 records a second are replicated, and counts the effects.

What restarts is compared with what the plan of `replicate adopt` announced. Each row is kept at once, with the time of
every command from the YAML to a verdict; `--write` puts the tables into the page of the commands.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException
from rich.console import Console

from kafka_replication.infra.local import stack
from kafka_replication.infra.local.traffic import consume_to
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.adoption_page import Row, keep, read, tasks_started, write_tables
from tests.bench.adoption_traffic import PLACES, Traffic, drained
from tests.bench.adoption_watch import Phase, Watcher, announced
from tests.bench.adoption_world import CONTEXT, World, apply, arrivals, arrived, declare_a_flow, document, remove, shell
from tests.repository import ROOT

_SETTLE_SECONDS = 180.0
#: The number of records of each partition that a group consumes.
CONSUMED = 50
GROUP = "checkout-web"
_VERDICT = re.compile(r"^(\w+) in [\d.]+ s$", re.MULTILINE)
_LOGINS = ("--validation-login", "logins.yaml")


@dataclass(frozen=True)
class Shape:
    """What runs: the file that describes it, the number of its connectors, and the name of its replication.

    `verdict` also runs and times every command from the YAML to a verdict. `moved` is a KafkaMirrorMaker2
    that becomes a flow.
    """

    what: str
    file: str
    connectors: int
    replication: str
    verdict: bool = False
    moved: str | None = None


SHAPES = (
    Shape("KafkaConnect with three KafkaConnectors", "flow", 3, "repl-uswest"),
    Shape("KafkaMirrorMaker2 that becomes a flow", "mirror_maker2", 2, "mm2", verdict=True, moved="kafka/mm2"),
)


@dataclass
class Run:
    """The adoption of one shape: its commands, and what began while each of them ran."""

    world: World
    watcher: Watcher
    phases: list[Phase] = field(default_factory=list)
    commands: dict[str, float] = field(default_factory=dict)
    verdicts: list[str] = field(default_factory=list)

    def replicate(self, *words: str, within: str = "mirrors", shown: bool = False) -> None:
        proves = words[0] == "validate"
        with self.watcher.phase(words[0]) as phase:
            ran = self.world.replicate(*words, within=within, refused=proves)
        if proves:
            self.verdicts += _VERDICT.findall(ran.output)
        print(f"$ replicate {' '.join(words)}\n{ran.output}{ran.errors}", flush=True)
        self.phases += phase
        if shown:
            self.commands[f"replicate {words[0]}"] = ran.seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=Path, default=ROOT / ".local" / "adoption.jsonl", help="file that keeps the rows"
    )
    parser.add_argument("--rate", type=float, default=2000, help="records a second")
    parser.add_argument("--only", action="append", default=[], metavar="FILE", help="adopt only this shape")
    parser.add_argument("--write", action="store_true", help="write the rows of the file into the page, and end")
    given = parser.parse_args()
    if given.write:
        write_tables(read(given.rows))
        return 0
    if "REPLICATE_LOCAL" not in os.environ:
        parser.error("set REPLICATE_LOCAL to a folder for a local stack of its own, which is removed at the end")
    clean = True
    for shape in (each for each in SHAPES if each.file in (given.only or [each.file])):
        # Each shape has its own topics: records that an earlier shape replicated would be there already.
        endpoints = stack.up(Console())
        try:
            with tempfile.TemporaryDirectory() as folder, shell(endpoints, Path(folder)) as world:
                row = adopted(world, shape, given.rate)
            keep(given.rows, row)
            clean = clean and row.is_clean
        finally:
            stack.down(Console(), purge=True)
    return 0 if clean else 1


def adopted(world: World, shape: Shape, rate: float) -> Row:
    """Apply the YAML of a shape, adopt it under traffic, count, and delete what was adopted."""
    resources = apply(world, shape.file, shape.connectors)
    try:
        client, traffic = arrivals(world), Traffic(world.endpoints, rate)
        with traffic.running():
            _settle(world, client)
            with Watcher(partial(arrived, client)).running() as watcher:
                run = Run(world, watcher)
                row = _carried_out(run, shape, rate)
        counted = drained(world.endpoints)
        return Row(
            **{**row, "records": traffic.sent, "twice": counted.twice, "missing": counted.missing},
            commands=run.commands,
        )
    finally:
        if (world.folder / "mirrors").exists():
            world.replicate("destroy", "prod", "--yes", within="mirrors", refused=True)
        remove(world, resources)


def _settle(world: World, client: Consumer) -> None:
    """Wait until records cross, a group has consumed some, and every connector has a task."""
    wait_for("records to cross", partial(_expect_arrivals, client), _SETTLE_SECONDS)
    consume_to(world.endpoints.regions["useast"], GROUP, dict.fromkeys(PLACES, CONSUMED))
    wait_for("tasks of every connector", partial(_expect_tasks, world), _SETTLE_SECONDS)


def _carried_out(run: Run, shape: Shape, rate: float) -> dict[str, Any]:
    """Import, prove, adopt and prove again; returns the row without the counts of records."""
    run.replicate("import", "--context", CONTEXT, "--out", "mirrors", *_LOGINS, within=".")
    if shape.verdict:
        _to_a_verdict(run, shape)
    else:
        run.replicate("validate", "prod", "--declared")
    running = run.world.connectors()
    words: tuple[str, ...] = ("adopt", "prod")
    if shape.moved is not None:
        declare_a_flow(run.world, "mirrors", shape.replication)
        words = (*words, "--from", shape.moved)
    plan = document(run.world.replicate(*words, "--json", within="mirrors", refused=True))
    agreements = sorted({each["agreement"] for each in plan["refusals"]})
    run.replicate(*words, "--yes", *(word for each in agreements for word in ("--agree", each)))
    run.replicate("validate", "prod")
    proven = f"{run.verdicts[0]}, {run.verdicts[-1]}"
    return {"what": shape.what, "rate": rate, "proven": proven, **_restarts(run.phases, plan, running)}


def _to_a_verdict(run: Run, shape: Shape) -> None:
    """The commands of the page, in its order, in a project of their own."""
    run.replicate("import", "running.yaml", "--out", "verdict", "--context", CONTEXT, *_LOGINS, within=".", shown=True)
    for words in (
        ("check",),
        ("explain", "prod", shape.replication),
        ("acls", "prod"),
        ("runbook", "prod"),
        ("render", "prod", "--out", "rendered/prod"),
        ("validate", "prod", "--declared", "--html", "report.html"),
    ):
        run.replicate(*words, within="verdict", shown=True)


def _restarts(phases: Sequence[Phase], plan: Mapping[str, Any], running: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What restarted besides what was announced. In a move, tasks of the mirror end and those of the flow start."""
    allowed = announced(plan, list(running))
    moved = tuple(f"{each['mirror']}." for each in plan["moves"])
    started = tasks_started(phases)
    of = {task: connector for connector, tasks in running.items() for task in tasks}
    (adopting,) = (each for each in phases if each.name == "adopt")
    return {
        "announced": sum(connector in allowed or connector.startswith(moved) for connector in of.values()),
        "restarted": sum(connector in allowed and started[task] > 0 for task, connector in of.items())
        + (len(started.keys() - of.keys()) if moved else 0),
        "others": tuple(sorted(task for task, connector in of.items() if started[task] > allowed[connector])),
        "pause_seconds": adopting.pause_seconds,
    }


def _expect_arrivals(client: Consumer) -> None:
    try:
        found = arrived(client)
    except KafkaException as error:
        raise NotYetError(str(error)) from error
    if found < CONSUMED * len(PLACES):
        raise NotYetError(f"{found} records have crossed")


def _expect_tasks(world: World) -> None:
    """Raise NotYetError while a connector has no task, as a checkpoint connector without groups."""
    if without := sorted(name for name, tasks in world.connectors().items() if not tasks):
        raise NotYetError(f"{without} have no task")


if __name__ == "__main__":
    sys.exit(main())
