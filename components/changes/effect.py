"""One effect of a change on replication, its severity, and functions for the wording of effects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kafka_replication.components.contract.wording import named, number
from kafka_replication.components.kafka.topic_names import is_name

_NAMED_AT_MOST = 5


class Impact(StrEnum):
    """How severe an effect is, mildest first.

    none: records and offsets continue as before. restart: replication stops for seconds, or for minutes while workers
    come and go, and resumes where it stopped. re-read: records are replicated twice, or consumers would reread records
    after a failover. data: records or translated offsets are skipped, left behind, orphaned or changed.
    """

    NONE = "none"
    RESTART = "restart"
    RE_READ = "re-read"
    DATA = "data"

    @property
    def rank(self) -> int:
        return list(Impact).index(self)


@dataclass(frozen=True)
class Effect:
    """What a change does to one flow, in Kafka's terms; `where` is a path in the topology file or of the flow, and
    `place` its file and line, if they are known."""

    severity: Impact
    code: str
    flow: str
    where: str
    what: str
    place: str = field(default="", kw_only=True, compare=False)


def gravest(severities: Iterable[Impact]) -> Impact:
    """Return the highest severity; `none` without any."""
    return max(severities, key=lambda severity: severity.rank, default=Impact.NONE)


def counted(names: Sequence[str], noun: str) -> str:
    """Return the number of names and patterns, such as `2 topics and 1 pattern of topics`."""
    patterns = [name for name in names if not is_name(name)]
    literals = len(names) - len(patterns)
    parts = [number(literals, noun)] if literals or not patterns else []
    if patterns:
        parts.append(number(len(patterns), "pattern") + f" of {noun}s")
    return " and ".join(parts)


def listed(names: Sequence[str]) -> str:
    """Return the names themselves, or the first five of many."""
    return named([f"`{name}`" for name in names], _NAMED_AT_MOST)


def verb(names: Sequence[str], one: str, several: str) -> str:
    """Return the form of a verb that agrees with the number of names."""
    return one if len(names) == 1 else several
