"""Where commands print, and how they show problems."""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.markup import escape

from components.problems import Problem, Severity

#: Columns of a file or a pipe, more than any table has: a name that is folded there is one that no search finds.
_UNFOLDED = 1000


def _width(stream: TextIO) -> int | None:
    return None if stream.isatty() or "COLUMNS" in os.environ else _UNFOLDED


out = Console(highlight=False, width=_width(sys.stdout))
err = Console(stderr=True, highlight=False, width=_width(sys.stderr))


def print_problems(items: Iterable[Problem], console: Console) -> None:
    """A paragraph for each problem, which nothing cuts or wraps."""
    for item in items:
        color = "red" if item.severity is Severity.ERROR else "yellow"
        console.print(f"[{color}]{item.severity}[/] {escape(str(item))}", soft_wrap=True)
