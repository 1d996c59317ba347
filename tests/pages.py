"""Puts what a program knows into a page: the text between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

from collections.abc import Sequence
from pathlib import Path


def section(page: str, name: str) -> str:
    """Return the text between the marks of this name. Raises ValueError if the page lacks them."""
    _, begin, rest = page.partition(_mark(name, "begin"))
    text, end, _ = rest.partition(_mark(name, "end"))
    if not (begin and end):
        raise ValueError(f"the page has no section between the marks `{name}: begin` and `{name}: end`")
    return text.strip("\n")


def with_section(page: str, name: str, text: str) -> str:
    """Return the page with this text between the marks of this name."""
    section(page, name)
    before, begin, rest = page.partition(_mark(name, "begin"))
    _, end, after = rest.partition(_mark(name, "end"))
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def put(page: Path, name: str, text: str) -> None:
    """Write this text between the marks of this name."""
    page.write_text(with_section(page.read_text(), name, text))


def put_rows(page: Path, name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Put these rows into the table between the marks; those that the page has under other names, in the first column,
    stay.
    """
    title, rule, *new = table(head, rows).splitlines()
    kept = section(page.read_text(), name).splitlines()[2:]
    by_name = {row.split(" | ")[0]: row for row in [*kept, *new]}
    put(page, name, "\n".join([title, rule, *by_name.values()]))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mark(name: str, edge: str) -> str:
    return f"<!-- {name}: {edge} -->"
