"""The `replicate` command: every command in the order of `--help`, and what an error ends with."""

import errno
import keyword
import sys
from importlib import import_module
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.markup import escape
from typer.core import TyperGroup

from components.contract.problems import CannotRunError, RefusedError, ReplicationError
from infra.commands.console import err, print_problems

#: Every command and what it does, in the order of `--help`. Each is in a module of its name, under its name.
COMMANDS = {
    "init": "Write a new project: topology, stacks, promotion plan, workflows.",
    "import": "Write a project for the MirrorMaker that you run already, and compare it with what runs.",
    "check": "Find mistakes in stack and topology files, without a cluster.",
    "explain": "Show each property of a flow, and which layer set it.",
    "diff": "Show what a change does to Kubernetes objects and to replication.",
    "review": "Write what the reviewer of a change needs.",
    "touched": "Print the stacks that a change touches.",
    "render": "Write the Kubernetes objects of a stack as YAML.",
    "acls": "Print the ACLs that the Kafka users of a stack need.",
    "preview": "Show what `up` would change.",
    "up": "Deploy a stack and wait until its connectors are ready.",
    "adopt": "Let a stack manage objects that run already.",
    "validate": "Prove from the data that a stack replicates.",
    "status": "Show where every flow stands now, and whether it could fail over.",
    "exporter": "Serve what `status` sees to Prometheus.",
    "failover": "Move consumer groups to the target, at exactly the records they had reached.",
    "failback": "Move consumer groups back to the source, at exactly the records they had reached.",
    "pause": "Pause connectors of a flow for a while.",
    "resume": "End a pause or a stop that was announced.",
    "stop": "Stop connectors of a flow for a while.",
    "restart": "Restart what failed of a flow, or the named connectors.",
    "offsets": "List or set the offsets at which the connectors of a flow go on.",
    "drill": "Rehearse a failover on live data, with a group that nobody uses.",
    "runbook": "Write the page for a night: what to type in each situation.",
    "promote": "Deploy a model stack by stack, each after the stacks before it have proven it.",
    "environments": "Print the environments of the promotion plan.",
    "destroy": "Delete every object of a stack.",
    "schema": "Write the JSON Schemas with which editors complete topology files.",
    "local": "Run the local stack: a Kubernetes API, two Kafka regions and Strimzi's stand-in.",
}


class LazyCommands(TyperGroup):
    """Imports the module of the command that runs, and no other: `check` does not wait for Pulumi to load."""

    def resolve_command(  # type: ignore[override]  # Typer keeps the types of contexts and commands private
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, object, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, _load(name) if name is not None else None, rest


def _load(name: str) -> object:
    # `import` is a word of Python's own.
    module = f"{name}_" if keyword.iskeyword(name) else name
    found = getattr(import_module(f"infra.commands.{module}"), module)
    if not isinstance(found, typer.Typer):
        found, function = typer.Typer(add_completion=False, rich_markup_mode="markdown"), found
        found.command(name)(function)
    return typer.main.get_command(found)


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"replicate {version('kafka-replication')}")
        raise typer.Exit


@app.callback()
def choose_project(
    project: Annotated[
        Path | None,
        typer.Option(
            envvar="REPLICATE_PROJECT",
            metavar="DIR",
            help="Folder of the project's Pulumi.yaml; without it, the nearest folder upward that has one.",
        ),
    ] = None,
    print_version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Kafka replication between regions: declared in one topology file, proven from the data."""


for command, summary in COMMANDS.items():
    app.command(command, help=summary)(lambda: None)


def main() -> None:
    """Run the command; problems end with 1, what could not run with 2, Ctrl-C with 130."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A mark or a topic's name that the terminal's encoding lacks is no reason to stop.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except ReplicationError as error:
        print_problems(error.problems, err)
        raise SystemExit(1) from None
    except RefusedError as error:
        _end(error, 1)
    except CannotRunError as error:
        _end(error)
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        what, why = f"{error.strerror}".lower(), "The file cannot be read or written."
        where = error.filename or "the output"
        _end(
            CannotRunError(
                "file-unusable", what, str(where), why, "name another file or folder, or make this one usable."
            )
        )


def _end(error: Exception, code: int = 2) -> NoReturn:
    err.print(f"[red]✗[/] {escape(str(error))}", soft_wrap=True)
    raise SystemExit(code) from None
