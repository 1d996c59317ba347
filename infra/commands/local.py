"""The commands `replicate local up|down|status|traffic|demo`."""

import json
import os
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from components.contract.exported_series import ADDRESS
from infra.commands.console import out
from infra.commands.options import InProject, Json, chosen_project
from infra.local import paths, stack
from infra.local.endpoints import REGIONS, load_endpoints
from infra.local.parts.control_plane import KUBE_APISERVER
from infra.local.stack import PartStatus
from infra.local.traffic import make_example_traffic

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
        bool,
        typer.Option("--monitoring", help="Also start Prometheus, which watches what `monitoring` declares."),
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
        out.print(f"  {escape(line)}", soft_wrap=True)


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
        document = {"parts": [part.as_json() for part in parts], "kubeconfig": str(paths.kubeconfig())}
        typer.echo(json.dumps(document, indent=2))
    else:
        out.print(status_table(parts))
        for line in (*monitoring_lines(), *next_lines(parts, paths.kubeconfig())):
            out.print(f"  {escape(line)}", soft_wrap=True)
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
    # It loads Pulumi, which the other commands do not need.
    from infra.commands.local_demo import DEMOS, run_demo

    raise typer.Exit(run_demo(DEMOS[shape.value], project.stacks, out))


def next_lines(parts: Sequence[PartStatus], kubeconfig: Path) -> list[str]:
    """The next commands: how to start parts that are down, and how kubectl reaches the API server if it is ready."""
    down = [part.name for part in parts if not part.ready]
    start = [f"replicate local up    # starts {', '.join(down)}; keeps what runs"] if down else []
    return start if KUBE_APISERVER.name in down else [*start, *kubectl_lines(kubeconfig)]


def monitoring_lines() -> list[str]:
    """Prometheus' address, and what it scrapes besides workers; nothing without Prometheus."""
    address = stack.prometheus_address()
    return [] if address is None else [f"Prometheus: {address}; it also scrapes `replicate exporter` at {ADDRESS}"]


def kubectl_lines(kubeconfig: Path) -> list[str]:
    """Commands that make a shell and kubectl use the local stack's API server."""
    return [
        f"export KUBECONFIG={shlex.quote(str(kubeconfig))}",
        "kubectl get kafkaconnectors --all-namespaces    # any Kubernetes client works",
    ]


def status_table(parts: list[PartStatus]) -> Table:
    """The parts as a table."""
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
