"""Prints a fact on a separate line: folded on a terminal, and whole in a file or a pipe."""

from rich.console import Console
from rich.text import Text

_HANG = 2


def print_fact(console: Console, markup: str, indent: int = 0) -> None:
    """Print a fact; if a terminal folds it, the following lines are indented further than the first."""
    text = Text.from_markup(markup)
    if not console.is_terminal:
        console.print(" " * indent, text, sep="", soft_wrap=True)
        return
    for number, line in enumerate(text.wrap(console, max(console.width - indent - _HANG, 20))):
        line.pad_left(indent + (_HANG if number else 0))
        console.print(line)
