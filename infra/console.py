"""Where commands print, and how they show problems."""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

import typer
from rich.console import Console
from rich.markup import escape

from components.problems import Problem, Severity
from infra.errors import CannotRunError

#: Columns of a file or a pipe, more than any table has: a name that is folded there is one that no search finds.
_UNFOLDED = 1000


def _width(stream: TextIO | None) -> int | None:
    return None if stream is None or stream.isatty() or "COLUMNS" in os.environ else _UNFOLDED


out = Console(highlight=False, width=_width(sys.stdout))
err = Console(stderr=True, highlight=False, width=_width(sys.stderr))


def print_problems(items: Iterable[Problem], console: Console) -> None:
    """A paragraph for each problem, which nothing cuts or wraps."""
    for item in items:
        color = "red" if item.severity is Severity.ERROR else "yellow"
        console.print(f"[{color}]{item.severity}[/] {escape(str(item))}", soft_wrap=True)


def confirm_or_end(question: str) -> None:
    """Ask, and end the command at a no. Raises CannotRunError where nobody is there to answer."""
    try:
        agreed = sys.stdin is not None and typer.confirm(question)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        typer.echo()
        raise CannotRunError(
            "nobody can be asked",
            "standard input",
            "It is at its end, and no terminal.",
            "give `--yes` to do it without asking.",
        ) from None
    if not agreed:
        raise typer.Abort
