"""The commands `replicate local up|down|status|traffic|demo`."""

import json
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafka_replication.components.contract.exported_series import ADDRESS
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC
from kafka_replication.infra.commands.console import out, say
from kafka_replication.infra.commands.options import InProject, Json, chosen_project
from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.local.endpoints import REGIONS, Endpoints, Region, load_endpoints
from kafka_replication.infra.local.parts.control_plane import KUBE_APISERVER
from kafka_replication.infra.local.stack import MemoryWatch, PartStatus
from kafka_replication.infra.local.traffic import (
    LEDGER,
    ORDERS,
    SALES,
    STOCK,
    Example,
    end_offsets,
    make_example_traffic,
)
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.yaml_files import shown

MIB = 1024 * 1024

local = typer.Typer(
    name="local",
    help="The local stack: a Kubernetes API, two Kafka regions and Strimzi's stand-in, all on 127.0.0.1.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@local.callback()
def enter(context: typer.Context) -> None:
    if "REPLICATE_LOCAL" not in os.environ:
        chosen_project(context)


class Shape(StrEnum):
    """Kinds of replication with an example stack."""

    FLOW = "flow"
    PAIR = "pair"
    SPLIT = "split"
    MIRROR_MAKER2 = "mirrormaker2"


@local.command()
def up(
    monitoring: Annotated[
        bool, typer.Option("--monitoring", help="Also start Prometheus, which watches what `monitoring` declares.")
    ] = False,
) -> None:
    """Start the local stack: build what is missing, and start what is not running.

    The first time it may build Go programs and fetch jars, which takes minutes; after that it takes seconds.
    `--monitoring` also works while the stack runs. Prometheus must be on PATH.

    Example: `replicate local up`
    """
    endpoints = stack.up(out, monitoring=monitoring)
    for region in endpoints.regions.values():
        out.print(f"  {region.alias} listens on {region.bootstrap_servers}")
    for line in (*monitoring_lines(), *kubectl_lines(endpoints.kubeconfig)):
        say(f"  {line}")


@local.command()
def down(
    purge: Annotated[bool, typer.Option("--purge", help="Also delete data, logs, certificates and passwords.")] = False,
) -> None:
    """Stop every process that `up` started, and no others. Data stays for the next `up`.

    Example: `replicate local down --purge`
    """
    stack.down(out, purge=purge)


@local.command()
def status(as_json: Json = False) -> None:
    """Show whether each part runs, with its process, ports and memory, and how to use kubectl with the stack.

    The exit code is 1 if a part does not run.

    Example: `replicate local status --json`
    """
    parts = stack.status()
    if as_json:
        document = {"parts": [part.document() for part in parts], "kubeconfig": str(paths.kubeconfig())}
        typer.echo(json.dumps(document, indent=2))
    else:
        out.print(status_table(parts))
        for line in (*monitoring_lines(), *next_lines(parts, paths.kubeconfig())):
            say(f"  {line}")
    if not all(part.running and part.ready for part in parts):
        raise typer.Exit(1)


@local.command()
def traffic(
    region: Annotated[str, typer.Option(help="Region to produce to.")] = "useast",
    records: Annotated[int, typer.Option(min=1, help="Number of records for each topic.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the random records; the same seed produces the same records.")] = 1,
) -> None:
    """Produce records to the example topics, and let consumer groups read some of them.

    Example: `replicate local traffic --region useast --records 2000`
    """
    if region not in REGIONS:
        raise typer.BadParameter(f"{region} is not one of {', '.join(REGIONS)}", param_hint="--region")
    endpoints = load_endpoints([region])
    with out.status(f"producing to {region}"):
        made = make_example_traffic(endpoints.regions[region], records, seed)
    out.print(f"  {sum(made.produced.values())} records in {len(made.produced)} partitions on {region}")
    for group, offsets in made.committed.items():
        out.print(f"  group {group} committed {sum(offsets.values())} records of its topics")


@local.command()
def demo(
    project: InProject, shape: Annotated[Shape, typer.Argument(help="Example stack to deploy.")] = Shape.FLOW
) -> None:
    """Set up the local stack, make traffic, deploy an example stack, and prove that it replicates.

    Example: `replicate local demo pair`
    """
    raise typer.Exit(run_demo(DEMOS[shape], project.stacks, out))


def next_lines(parts: Sequence[PartStatus], kubeconfig: Path) -> list[str]:
    """Return the next commands: how to start what is down, and how kubectl reaches the API server if it is ready."""
    down = [part.name for part in parts if not part.ready]
    start = [f"replicate local up    # starts {', '.join(down)}; keeps what runs"] if down else []
    return start if KUBE_APISERVER.name in down else [*start, *kubectl_lines(kubeconfig)]


def monitoring_lines() -> list[str]:
    """Return Prometheus' address, and what it scrapes besides workers; nothing without Prometheus."""
    address = stack.prometheus_address()
    return [] if address is None else [f"Prometheus: {address}; it also scrapes `replicate exporter` at {ADDRESS}"]


def kubectl_lines(kubeconfig: Path) -> list[str]:
    """Return the commands that make a shell and kubectl use the local stack's API server."""
    return [
        f"export KUBECONFIG={shlex.quote(str(kubeconfig))}",
        "kubectl get kafkaconnectors --all-namespaces    # any Kubernetes client works",
    ]


def status_table(parts: list[PartStatus]) -> Table:
    """Return the parts as a table."""
    table = Table("part", "state", "process", "ports", "memory")
    for part in parts:
        table.add_row(
            part.name,
            "[green]ready[/]" if part.ready else "[yellow]not ready[/]" if part.running else "[red]down[/]",
            str(part.pid or ""),
            " ".join(map(str, part.ports)),
            f"{part.memory_bytes / MIB:.0f} MiB" if part.memory_bytes else "",
        )
    return table


_READY_SECONDS = 240
_ARRIVAL_SECONDS = 120
_GIB = 1024**3


@dataclass(frozen=True)
class Demo:
    """An example stack, and the traffic that it replicates, by region."""

    stack: str
    traffic: Mapping[str, Example]


DEMOS = {
    Shape.FLOW: Demo("local", {"useast": ORDERS}),
    Shape.PAIR: Demo("local-pair", {"useast": LEDGER, "uswest": LEDGER}),
    Shape.SPLIT: Demo("local-split", {"useast": SALES}),
    Shape.MIRROR_MAKER2: Demo("local-mirrormaker2", {"useast": STOCK}),
}


@contextmanager
def _step(console: Console, title: str) -> Iterator[None]:
    console.print(f"\n[bold]{escape(title)}[/]", soft_wrap=True)
    began = time.monotonic()
    yield
    console.print(f"  [dim]{time.monotonic() - began:.1f} s[/]")


def run_demo(demo: Demo, stacks: Path, console: Console) -> int:
    """Run a demo; return the exit code of its validation."""
    began = time.monotonic()
    with MemoryWatch() as memory:
        code = _run(demo, stacks, console)
    console.print(
        f"\n{time.monotonic() - began:.0f} s in total; peak memory of all processes {memory.peak_bytes / _GIB:.1f} GiB"
    )
    _say_what_next(demo.stack, console, code)
    return code


def _run(demo: Demo, stacks: Path, console: Console) -> int:
    # It loads Pulumi, which the other commands do not need.
    from kafka_replication.infra.deploy.engine import deployment

    with _step(console, "1. The local stack: a Kubernetes API server and two Kafka regions"):
        endpoints = stack.up(console)
    opened = OpenStack(read_settings(demo.stack, stacks))
    with _step(console, f"2. Traffic in {' and '.join(demo.traffic)}"):
        _make_traffic(demo, endpoints, console)
    with _step(console, f"3. Deploy the stack `{demo.stack}` with {opened.environment.provider}"):
        changes = deployment.up(opened.settings, lambda _: None)
        console.print("  " + ", ".join(f"{count} {kind}" for kind, count in sorted(changes.items())))
        with console.status("waiting for connectors to be ready"):
            deployment.wait_ready(opened.settings, _READY_SECONDS)
        console.print("  every connector is ready, which proves nothing yet")
    with _step(console, "4. Wait for the first replicated records and checkpoints, then more traffic"):
        for flow in opened.flows:
            _wait_for_arrival(flow, endpoints.regions[flow.settings.target])
        _make_traffic(demo, endpoints, console)
    with _step(console, "5. The proof, from the data"):
        return _validate(opened, console)


def _make_traffic(demo: Demo, endpoints: Endpoints, console: Console) -> None:
    for seed, (alias, example) in enumerate(demo.traffic.items(), start=1):
        made = make_example_traffic(endpoints.regions[alias], 1000, seed, example)
        console.print(f"  {sum(made.produced.values())} records in {len(example.topics)} topics on {alias}")


def _wait_for_arrival(flow: ResolvedFlow, target: Region) -> None:
    connectors = flow.settings.connectors
    topics = [replication_policy(flow.settings).remote(HEARTBEATS_TOPIC)] if connectors.heartbeat.enabled else []
    topics += [replication_policy(flow.settings).checkpoints_topic] if connectors.checkpoint.enabled else []
    for topic in topics:
        arrived = partial(_expect_record, target, topic)
        wait_for(f"a record in {topic} of {target.alias}", arrived, _ARRIVAL_SECONDS)


def _expect_record(target: Region, topic: str) -> None:
    try:
        ends = end_offsets(target, [topic])
    except KeyError as error:
        raise NotYetError("no such topic") from error
    if not any(ends.values()):
        raise NotYetError(f"{len(ends)} partitions, no record")


def _validate(opened: OpenStack, console: Console) -> int:
    from kafka_replication.infra.validate.run import ValidationRun, run_validation

    folder = opened.environment.validation_folder
    report, page = folder / "report.json", folder / "report.html"
    code = run_validation(ValidationRun(opened.settings, report, publish=True, catch_up_seconds=60, html=page), console)
    console.print(f"  report: {shown(report)}\n  page: {shown(page)}")
    return code


def _say_what_next(stack_name: str, console: Console, code: int) -> None:
    if code:
        console.print(
            "\n[red]The validation did not pass;[/] the table above shows what failed, and the report holds samples."
        )
    hints = {
        f"preview {stack_name} --diff": f"after changing stacks/topologies/{stack_name}.yaml",
        f"up {stack_name}": "deploy the change",
        f"validate {stack_name}": "prove it again",
        f"destroy {stack_name}": "delete what was deployed",
        "local traffic": "make more records and committed offsets for the stack `local`",
        "local status": "show what runs here",
        "local down": "stop it; --purge deletes its data",
    }
    console.print("\nWhat to try next:")
    width = max(map(len, hints)) + 2
    for command, meaning in hints.items():
        console.print(f"  replicate {command:<{width}}{meaning}", soft_wrap=True, markup=False)
