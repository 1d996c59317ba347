"""The `replicate` command: every command in the order of `--help`, and what an error ends with."""

import errno
import sys
from enum import StrEnum
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer
from rich.markup import escape

from components.problems import ReplicationError
from infra.console import err, out, print_problems
from infra.deployment_cli import destroy, preview, up, validate
from infra.errors import CannotRunError
from infra.local.cli import app as local_app
from infra.local.errors import LocalStackError
from infra.local.waiting import DeadlineError
from infra.promotion.cli import environments, promote
from infra.review.cli import diff
from infra.review.pull_request_cli import review, touched
from infra.topology_cli import acls, check, explain, render, schema

app = typer.Typer(
    help="Kafka replication between regions: declared in one topology file, proven from the data.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for command in (
    *(check, explain, diff, review, touched, render, acls),
    *(preview, up, validate, promote, environments, destroy, schema),
):
    app.command()(command)
app.add_typer(local_app, name="local")


class Shape(StrEnum):
    """Shapes of replication that have an example stack."""

    FLOW = "flow"
    PAIR = "pair"
    SPLIT = "split"
    MIRROR_MAKER2 = "mirrormaker2"


@local_app.command()
def demo(shape: Annotated[Shape, typer.Argument(help="Which example stack.")] = Shape.FLOW) -> None:
    """Set up the local stack, make traffic, deploy an example stack, and prove that it replicates.

    Example: `replicate local demo pair`
    """
    from infra.demo import DEMOS, run_demo

    raise typer.Exit(run_demo(DEMOS[shape.value], out))


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
    except (CannotRunError, LocalStackError, DeadlineError) as error:
        _end(error)
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        what, why = f"{error.strerror}".lower(), "The file cannot be read or written."
        where = error.filename or "the output"
        _end(CannotRunError(what, str(where), why, "name another, or correct what stands there."))


def _end(error: Exception) -> NoReturn:
    err.print(f"[red]✗[/] {escape(str(error))}", soft_wrap=True)
    raise SystemExit(2) from None
