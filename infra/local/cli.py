"""The commands `replicate local up|down|status|traffic`. They raise LocalStackError for what they could not do.

Each loads what it needs when it runs: Kafka's clients are slow to load, and no other command must wait for them.
"""

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from infra.command_options import Json
from infra.console import out
from infra.local.users import REGIONS

if TYPE_CHECKING:
    from infra.local.stack import PartStatus

MIB = 1024 * 1024

app = typer.Typer(
    name="local",
    help="The local stack: a Kubernetes API, two Kafka regions and Strimzi's stand-in, all on 127.0.0.1.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command()
def up() -> None:
    """Build what is missing, start what is dead, leave the rest alone.

    The first time builds Go programs and fetches jars, which takes minutes; later it takes seconds.

    Example: `replicate local up`
    """
    from infra.local import stack

    endpoints = stack.up(out)
    for region in endpoints.regions.values():
        out.print(f"  {region.alias} listens on {region.bootstrap_servers}")
    out.print(f"  export KUBECONFIG={endpoints.kubeconfig}", soft_wrap=True)


@app.command()
def down(
    purge: Annotated[bool, typer.Option("--purge", help="Remove data, logs, certificates and passwords too.")] = False,
) -> None:
    """Stop every process that `up` started, and no other; data stays for the next `up`.

    Example: `replicate local down --purge`
    """
    from infra.local import stack

    stack.down(out, purge=purge)


@app.command()
def status(as_json: Json = False) -> None:
    """Show every part: whether it runs, its process, ports and memory. Exit code 1 if one does not run.

    Example: `replicate local status --json`
    """
    from infra.local import stack

    parts = stack.status()
    if as_json:
        typer.echo(json.dumps({"parts": [part.as_json() for part in parts]}, indent=2))
    else:
        out.print(status_table(parts))
    if not all(part.running and part.ready for part in parts):
        raise typer.Exit(1)


@app.command()
def traffic(
    region: Annotated[str, typer.Option(help="Where to produce.")] = "useast",
    records: Annotated[int, typer.Option(min=1, help="Records to produce to each topic.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same records.")] = 1,
) -> None:
    """Produce records to the example topics and let consumer groups read a part of them.

    Example: `replicate local traffic --region useast --records 2000`
    """
    from infra.local.endpoints import load_endpoints
    from infra.local.example_traffic import make_example_traffic

    if region not in REGIONS:
        raise typer.BadParameter(f"{region} is not one of {', '.join(REGIONS)}", param_hint="--region")
    endpoints = load_endpoints()
    with out.status(f"producing to {region}"):
        made = make_example_traffic(endpoints.regions[region], records, seed)
    out.print(f"  {sum(made.produced.values())} records in {len(made.produced)} partitions of {region}")
    for group, offsets in made.committed.items():
        out.print(f"  group {group} stopped at {sum(offsets.values())} of its topics' records")


def status_table(parts: "list[PartStatus]") -> Table:
    """One row a part."""
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
