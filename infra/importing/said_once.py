"""Says a thing once that is so of several resources: the first in full, of the others what differs. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: What a sentence quotes: names and values.
_QUOTED = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True)
class Said:
    """A text about the first of several, and the others of which the same is true.

    Each of `also` is its name and the quoted parts that its text has instead of those of the first, in their order.
    """

    text: str
    first: str
    also: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def others(self) -> str:
        """The others in words; "" if there are none."""
        return "; ".join(f"{name} ({', '.join(parts)})" if parts else name for name, parts in self.also)


def said_once(texts: Iterable[tuple[str, str]]) -> list[Said]:
    """Join texts that differ only in what they quote; each comes with the name of what it is about, in order."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, text in texts:
        groups.setdefault(form_of(text), []).append((name, text))
    return [_joined(group) for group in groups.values()]


def form_of(text: str) -> str:
    """A text without what it quotes."""
    return _QUOTED.sub("``", text)


def _joined(group: list[tuple[str, str]]) -> Said:
    (first, text), *others = group
    own = _QUOTED.findall(text)
    found = ((name, _QUOTED.findall(other)) for name, other in others)
    also = ((name, tuple(part for part, mine in zip(parts, own, strict=True) if part != mine)) for name, parts in found)
    return Said(text, first, tuple(dict.fromkeys(also)))
