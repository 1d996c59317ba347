"""Sentences in the singular or plural. Pure; imports nothing of ours, anything may import it."""

import re
from collections.abc import Collection
from itertools import islice

_CHOICE = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")


def agreeing(count: int, text: str) -> str:
    """Return `text` for `count` things: one part of each `[one|many]` is kept, as in `record[|s]` and `[is|are]`. Do
    not put names that users choose in `text`, because they may look like a choice.
    """
    return _CHOICE.sub(r"\1" if count == 1 else r"\2", text)


def numbered(count: int, text: str) -> str:
    """Return `agreeing` with the count in front: `1 record is missing`, `3 records are missing`."""
    return f"{count} {agreeing(count, text)}"


def number(count: int, noun: str) -> str:
    """Return a count with its noun, such as `3 groups`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def named(names: Collection[object], most: int = 3) -> str:
    """Return the first names, and how many more there are: `a, b, c and 2 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, islice(names, most))) + more
