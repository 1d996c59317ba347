"""A section of a runbook, and the forms of text that sections share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """One situation. `question` ends the sentence "What do I do when …"."""

    title: str
    question: str
    lines: tuple[str, ...]


def commands(*typed: str) -> Iterator[str]:
    """Lines to paste into a shell."""
    yield from ("```sh", *typed, "```")


@dataclass(frozen=True)
class Do:
    """One step: what to do, and the commands for it."""

    what: str
    typed: tuple[str, ...] = ()


def steps(*given: Do) -> Iterator[str]:
    """Numbered steps with their commands."""
    for number, step in enumerate(given, start=1):
        yield f"{number}. {step.what}"
        if step.typed:
            yield ""
            yield from (f"   {line}" for line in commands(*step.typed))
            yield ""


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A Markdown table; a bar in a cell does not end it."""
    heads = list(columns)
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for row in rows:
        cells = (cell.replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


def code(entries: Iterable[str]) -> str:
    """Names as code, or "none"."""
    return ", ".join(f"`{each}`" for each in entries) or "none"
