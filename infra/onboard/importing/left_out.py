"""The note on something that an import does not take over, and how notes are grouped. The module that translates a
field decides that it is left out; nothing that is read is dropped without a note.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from kafka_replication.components.checks.properties import WITHOUT_EFFECT
from kafka_replication.components.contract.grouping import grouped

#: Codes of things whose omission affects no record and no offset.
_HARMLESS = frozenset(
    {
        *("stays-as-it-is", "label-of-a-tool", "operation-once", "other-connector", "no-mirror-connectors"),
        *("without-effect", "dropped-by-operator", *WITHOUT_EFFECT),
    }
)


@dataclass(frozen=True, order=True)
class LeftOut:
    """A part of the input that the topology does not express: `file`, object in it, and path, without credentials."""

    file: str
    obj: str
    field: str
    code: str
    why: str
    remedy: str

    @property
    def harmless(self) -> bool:
        """Return whether replication is the same without it."""
        return self.code in _HARMLESS

    @property
    def mistake(self) -> bool:
        """Return whether replication does not work as it is, whether it is taken over or not."""
        return self.code == "connectors-disagree"

    @property
    def where(self) -> str:
        return ", ".join(filter(None, (self.file, self.obj, self.field)))

    def __str__(self) -> str:
        return f"{self.code}: {self.where}. {self.why} Remedy: {self.remedy}"


T = TypeVar("T")
#: The name of each thing, and the quoted parts of its text that differ from those of the first text, in order.
DifferingParts: TypeAlias = Sequence[tuple[str, Sequence[str]]]
#: Quoted parts of a sentence: names and values.
_QUOTED = re.compile(r"`[^`\n]*`")


def grouped_by_wording(things: Iterable[T], text: Callable[[T], str]) -> list[list[T]]:
    """Group the things whose texts differ only in their quoted parts; the order stays."""
    return list(grouped((_QUOTED.sub("``", text(thing)), thing) for thing in things).values())


def differing_parts(texts: Iterable[tuple[str, str]]) -> DifferingParts:
    """Return what differs in each text of a group after the first; each text comes with the name of its subject."""
    (_, first), *rest = texts
    own = _QUOTED.findall(first)
    quoted = ((name, _QUOTED.findall(text)) for name, text in rest)
    also = (
        (name, tuple(part for part, mine in zip(parts, own, strict=True) if part != mine)) for name, parts in quoted
    )
    return tuple(dict.fromkeys(also))


def parts_text(differing: DifferingParts) -> str:
    """Return the names with their differences, such as "b (`z`); c"; "" if there are none."""
    return "; ".join(f"{name} ({', '.join(parts)})" if parts else name for name, parts in differing)
