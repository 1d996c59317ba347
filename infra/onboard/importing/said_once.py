"""Groups equal messages about several resources: the first in full, the others by what differs. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

T = TypeVar("T")
#: The name of each thing, and the quoted parts of its text that differ from those of the first text, in order.
Others: TypeAlias = Sequence[tuple[str, Sequence[str]]]
#: Quoted parts of a sentence: names and values.
_QUOTED = re.compile(r"`[^`\n]*`")


def alike(things: Iterable[T], text: Callable[[T], str]) -> list[list[T]]:
    """Group the things whose texts differ only in their quoted parts; the order stays."""
    groups: dict[str, list[T]] = {}
    for each in things:
        groups.setdefault(_QUOTED.sub("``", text(each)), []).append(each)
    return list(groups.values())


def others(texts: Iterable[tuple[str, str]]) -> Others:
    """What differs in each text of a group after the first; each text comes with the name of its subject."""
    (_, first), *rest = texts
    own = _QUOTED.findall(first)
    found = ((name, _QUOTED.findall(text)) for name, text in rest)
    also = ((name, tuple(part for part, mine in zip(parts, own, strict=True) if part != mine)) for name, parts in found)
    return tuple(dict.fromkeys(also))


def in_words(others: Others) -> str:
    """Such as "b (`z`); c"; "" if there are none."""
    return "; ".join(f"{name} ({', '.join(parts)})" if parts else name for name, parts in others)
