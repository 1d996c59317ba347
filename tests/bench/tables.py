"""Puts a bench's table into a page."""

import re
from collections.abc import Iterable
from pathlib import Path


def replace_table(page: Path, header: str, lines: Iterable[str]) -> None:
    """Replace the lines of the table with this header. Raises ValueError unless the page has exactly one."""
    table = "".join(f"{line}\n" for line in (header, *lines))
    text = page.read_text()
    pattern = re.compile(re.escape(header.splitlines()[0]) + r"\n(\|.*\n)*")
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"{page.name} does not have this table once: {header.splitlines()[0]}")
    page.write_text(pattern.sub(lambda _: table, text))
