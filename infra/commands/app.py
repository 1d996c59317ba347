"""The `replicate` command: every command in the order of `--help`, and the exit code of each kind of error."""

import errno
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.markup import escape
from typer.core import TyperGroup

from kafka_replication.components.contract.problems import CannotRunError, RefusedError, ReplicationError
from kafka_replication.infra.commands.console import err, print_problems

#: Every command and what it does, in the order of `--help`. Each is a function of the same name, in `MODULES` or in the
#: module of the same name.
COMMANDS = {
    "init": "Write a new project: topology, stacks, promotion plan, workflows.",
    "import": "Write a project for the MirrorMaker that you already run, and compare it with what runs.",
    "check": "Find mistakes in stack and topology files, without a cluster.",
    "explain": "Show each property of a flow, and which layer set it.",
    "size": "Say which tasks and workers carry a rate over a round trip.",
    "diff": "Show what a change does to Kubernetes objects and to replication.",
    "review": "Write what the reviewer of a change needs.",
    "touched": "Print the stacks that a change touches.",
    "render": "Write the Kubernetes objects of a stack as YAML.",
    "acls": "Print the ACLs that the Kafka users of a stack need.",
    "preview": "Show what `up` would change.",
    "up": "Deploy a stack and wait until its connectors are ready.",
    "adopt": "Let a stack manage objects that already run.",
    "validate": "Prove from the data that a stack replicates.",
    "status": "Show the state of every flow, and whether it could fail over now.",
    "ready": "Say whether applications can log in, read and write on the target.",
    "exporter": "Serve what `status` sees to Prometheus.",
    "keep": "Keep the positions of all groups on the target, seconds old, for a disaster.",
    "failover": "Move consumer groups to the target, each to exactly the record it had reached.",
    "failback": "Move consumer groups back to the source, each to exactly the record it had reached.",
    "pause": "Pause connectors of a flow for a while.",
    "resume": "Resume connectors after an announced pause or stop.",
    "stop": "Stop connectors of a flow for a while.",
    "restart": "Restart what failed in a flow, or the named connectors.",
    "offsets": "List or set the offsets from which the connectors of a flow continue.",
    "drill": "Rehearse a failover on live data, with a group of its own.",
    "runbook": "Write a runbook: the commands to type in each situation.",
    "promote": "Deploy a model one stack at a time, each after the stacks before it have proven it.",
    "environments": "Print the environments of the promotion plan.",
    "destroy": "Delete every object of a stack.",
    "schema": "Write the JSON Schemas that editors use to complete topologies and stack files.",
    "local": "Run the local stack: a Kubernetes API, two Kafka regions and Strimzi's stand-in.",
}


#: Where a command is that shares a module with others, or whose name is a Python keyword.
MODULES = {
    **dict.fromkeys(("pause", "resume", "stop", "restart"), "connectors"),
    **dict.fromkeys(("preview", "destroy"), "up"),
    **{"failback": "failover", "touched": "review", "environments": "promote", "import": "import_"},
}


#: Packages that only some commands need. `pip install kafka-replication` alone brings none of them.
OF_EXTRAS = frozenset({"confluent_kafka", "jinja2", "kubernetes", "prometheus_client", "pyspark"})
#: The extra with all that a command needs; every other command finds it in `operate`.
EXTRAS = {"validate": "prove", "promote": "prove", "local": "all"}


class LazyCommands(TyperGroup):
    """Imports only the module of the command that runs, so that `check` neither waits for Pulumi nor needs a client.

    TAB loads that module, too. So what takes longer than TAB may, Pulumi and the clients of Kubernetes and Kafka, is
    imported in the command's function; only `local` imports the client of Kafka itself.
    """

    def resolve_command(  # type: ignore[override]  # Typer keeps the types of contexts and commands private
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, object, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        # Click names the command only after it is loaded, which may fail.
        ctx.invoked_subcommand = name
        return name, _load(name) if name is not None else None, rest

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in OF_EXTRAS:
                raise
            command = ctx.invoked_subcommand or ""
            what, why = f"{package} is not installed", f"`replicate {command}` needs it."
            remedy = f"run `pip install 'kafka-replication[{EXTRAS.get(command, 'operate')}]'`."
            raise CannotRunError("extra-missing", what, "this installation", why, remedy) from None


@cache
def _load(name: str) -> object:
    module = import_module(f"kafka_replication.infra.commands.{MODULES.get(name, name)}")
    command = getattr(module, "import_" if name == "import" else name)
    if not isinstance(command, typer.Typer):
        command, function = typer.Typer(add_completion=False, rich_markup_mode="markdown"), command
        command.command(name)(function)
    return typer.main.get_command(command)


app = typer.Typer(cls=LazyCommands, no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False)


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
            help="Folder of the project's Pulumi.yaml; by default, the nearest one at or above the current folder.",
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
    """Run the command. Exit code: 1 for problems, 2 if it could not run, 130 for Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # The terminal's encoding may lack `✓` or a character of a topic's name; that must not stop the command.
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
                "file-unusable", what, str(where), why, "name another file or folder, or make this one accessible."
            )
        )


def _end(error: Exception, code: int = 2) -> NoReturn:
    err.print(f"[red]✗[/] {escape(str(error))}", soft_wrap=True)
    raise SystemExit(code) from None


if __name__ == "__main__":
    main()
