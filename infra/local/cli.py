"""The commands `replicate local up|down|status|traffic`.

Exit codes: 0 done, 1 not everything runs, 2 could not do it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infra.local import stack
from infra.local.errors import LocalStackError
from infra.local.users import REGIONS

COULD_NOT_RUN = 2
MIB = 1024 * 1024

app = typer.Typer(
    name="local",
    help="The local stack: a Kubernetes API, two Kafka regions and Strimzi's stand-in, all on 127.0.0.1.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    # A stack trace with local variables would show passwords.
    pretty_exceptions_show_locals=False,
)


@app.command(epilog="Example: replicate local up")
def up() -> None:
    """Build what is missing, start what is dead, leave the rest alone.

    The first time builds Go programs and fetches jars, which takes minutes; later it takes seconds.
    """
    console = Console()
    with errors_told():
        endpoints = stack.up(console)
    for region in endpoints.regions.values():
        console.print(f"  {region.alias} listens on {region.bootstrap_servers}", highlight=False)
    console.print(f"  export KUBECONFIG={endpoints.kubeconfig}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: replicate local down --purge")
def down(
    purge: Annotated[bool, typer.Option("--purge", help="Remove data, logs, certificates and passwords too.")] = False,
) -> None:
    """Stop every process that `up` started, and no other; data stays for the next `up`."""
    with errors_told():
        stack.down(Console(), purge=purge)


@app.command(epilog="Example: replicate local status --json")
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show every part: whether it runs, its process, ports and memory. Exit code 1 if one does not run."""
    with errors_told():
        parts = stack.status()
    if as_json:
        typer.echo(json.dumps({"parts": [part.as_json() for part in parts]}, indent=2))
    else:
        Console().print(status_table(parts))
    if not all(part.running and part.ready for part in parts):
        raise typer.Exit(1)


@app.command(epilog="Example: replicate local traffic --region useast --records 2000")
def traffic(
    region: Annotated[str, typer.Option(help="Where to produce.")] = "useast",
    records: Annotated[int, typer.Option(min=1, help="Records to produce to each topic.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same records.")] = 1,
) -> None:
    """Produce records to the example topics and let consumer groups read a part of them."""
    # Kafka's client is heavy to import; the other commands must not wait for it.
    from infra.local.endpoints import load_endpoints
    from infra.local.example_traffic import make_example_traffic

    if region not in REGIONS:
        raise typer.BadParameter(f"{region} is not one of {', '.join(REGIONS)}", param_hint="--region")
    console = Console()
    with errors_told():
        endpoints = load_endpoints()
        with console.status(f"producing to {region}"):
            made = make_example_traffic(endpoints.regions[region], records, seed)
    console.print(f"  {sum(made.produced.values())} records in {len(made.produced)} partitions of {region}")
    for group, offsets in made.committed.items():
        console.print(f"  group {group} stopped at {sum(offsets.values())} of its topics' records")


@contextmanager
def errors_told() -> Iterator[None]:
    """Print a LocalStackError of the body on standard error, without a stack trace, and end with exit code 2."""
    try:
        yield
    except LocalStackError as error:
        console = Console(stderr=True)
        console.print(f"[bold red]error:[/] {escape(error.what)}", highlight=False, soft_wrap=True)
        if error.detail:
            console.print(escape(error.detail), style="dim", highlight=False, soft_wrap=True)
        console.print(f"[bold]Remedy:[/] {escape(error.remedy)}", highlight=False, soft_wrap=True)
        raise typer.Exit(COULD_NOT_RUN) from error


def status_table(parts: list[stack.PartStatus]) -> Table:
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
