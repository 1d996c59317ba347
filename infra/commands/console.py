"""The consoles that commands print to, and how they print problems."""

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import typer
from rich.console import Console
from rich.markup import escape

from kafka_replication.components.contract.problems import CannotRunError, Problem, Severity
from kafka_replication.components.contract.wording import agreeing
from kafka_replication.infra.stack.yaml_files import shown

#: Width for a file or a pipe, wider than any table: a search does not find a name that is broken over two lines.
_UNFOLDED = 1000


def width_of(stream: TextIO | None) -> int | None:
    """Return the width to print with; None means the terminal's, or the one that the environment sets."""
    return None if stream is None or stream.isatty() or "COLUMNS" in os.environ else _UNFOLDED


# Without emoji: `:key:` in a placeholder is not an emoji.
out = Console(highlight=False, emoji=False, width=width_of(sys.stdout))
err = Console(stderr=True, highlight=False, emoji=False, width=width_of(sys.stderr))


def say(text: str) -> None:
    """Print a text as it is, without folding its lines."""
    out.print(text, markup=False, soft_wrap=True)


def done(text: str) -> None:
    """Print that a step is done."""
    out.print(f"[green]✓[/] {escape(text)}", soft_wrap=True)


def print_problems(items: Iterable[Problem], console: Console, *, excerpts: bool = True) -> None:
    """Print a line for each problem, which tools turn into a link, and below it the line of its file."""
    for item in items:
        color = "red" if item.severity is Severity.ERROR else "yellow"
        place = f"{item.place}: " if item.place else ""
        console.print(f"{escape(place)}[{color}]{item.severity}[/] {escape(item.text)}", soft_wrap=True)
        if excerpts and item.place and item.place.excerpt:
            console.print(f"[dim]{escape(item.place.excerpt)}[/]", soft_wrap=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C at a question ends the command as it does elsewhere; by default, Typer treats it like the answer no."""
    try:
        yield
    except typer.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def confirm_or_end(question: str) -> None:
    """Ask, and end the command if the answer is no. Raises CannotRunError without a terminal."""
    try:
        with interruptible():
            agreed = sys.stdin is not None and typer.confirm(question)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        typer.echo()
        why, remedy = "It is closed, or it is not a terminal.", "add `--yes` to go ahead without confirmation."
        raise CannotRunError("no-terminal", "the question cannot be asked", "standard input", why, remedy) from None
    if not agreed:
        raise typer.Abort


def print_idle(connectors: Sequence[str]) -> None:
    """Print which connectors run without a task, and so do nothing yet."""
    if connectors:
        run = agreeing(len(connectors), "[runs|run] without a task: [it selects|they select]")
        out.print(
            f"[yellow]![/] {escape(', '.join(connectors))} {run} no topic or group that exists yet", soft_wrap=True
        )


def print_changes(changes: Mapping[str, int]) -> None:
    """Print how many objects were created, updated, deleted, …, on one line."""
    out.print(f"Changes: {', '.join(f'{count} {kind}' for kind, count in sorted(changes.items())) or 'nothing'}")


def print_next(folder: Path, commands: Iterable[str]) -> None:
    """Print what to do next with a new project."""
    where = shown(folder)
    out.print("\nWhat to do next:")
    for line in (*([] if where == "." else [f"cd {shlex.quote(where)}"]), *commands):
        say(f"  {line}")
