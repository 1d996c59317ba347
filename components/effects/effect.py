"""One effect of a change on replication, and how grave it is. Imports nothing of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_NAMED_AT_MOST = 5


class Severity(StrEnum):
    """How grave an effect is, mildest first.

    none: records and offsets go on as they are. restart: replication is interrupted for seconds, or for minutes while
    workers come and go, and goes on where it stood. re-read: records are replicated again, or consumers would read
    again after a failover. data: records or translated offsets are left out, left behind, orphaned, or not what they
    were.
    """

    NONE = "none"
    RESTART = "restart"
    RE_READ = "re-read"
    DATA = "data"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


@dataclass(frozen=True)
class Effect:
    """What one change does to one flow.

    `what` is a sentence in Kafka's terms. `where` is a path in the topology file, or below the flow's name where only
    objects are known.
    """

    severity: Severity
    code: str
    flow: str
    where: str
    what: str


def gravest(effects: Sequence[Effect]) -> Severity:
    """The highest severity; none without effects."""
    return max((effect.severity for effect in effects), key=lambda severity: severity.rank, default=Severity.NONE)


def number(count: int, noun: str) -> str:
    """A count and its noun, such as `3 groups`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def counted(names: Sequence[str], noun: str) -> str:
    """How many names and patterns there are, such as `2 topics and 1 pattern of topics`."""
    patterns = [name for name in names if not is_literal(name)]
    literals = len(names) - len(patterns)
    parts = [number(literals, noun)] if literals or not patterns else []
    if patterns:
        parts.append(number(len(patterns), "pattern") + f" of {noun}s")
    return " and ".join(parts)


def listed(names: Sequence[str]) -> str:
    """The names themselves, the first of many."""
    shown = ", ".join(f"`{name}`" for name in names[:_NAMED_AT_MOST])
    return shown if len(names) <= _NAMED_AT_MOST else f"{shown} and {len(names) - _NAMED_AT_MOST} more"


def verb(names: Sequence[str], one: str, several: str) -> str:
    """The form of a verb that goes with so many names."""
    return one if len(names) == 1 else several


def is_literal(name: str) -> bool:
    """Whether a topic or group of a selection is a name and no pattern; a dot of a name is taken as one."""
    return not set(name) & set("\\*+?()[]{}|^$")
