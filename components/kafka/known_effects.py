"""What is certain about the effect of transforms on records: the headers that they change, the records that they drop.

Source: InsertHeader, DropHeaders, Filter, and the predicates of Connect (KIP-585).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.kafka.patterns import pattern_error
from components.kafka.plugins import HAS_HEADER_KEY, RECORD_IS_TOMBSTONE, TOPIC_NAME_MATCHES
from components.kafka.record_forms import Step
from components.kafka.transform_chains import Predicate, headers_used


class DropsBy(StrEnum):
    """What decides whether a filter drops a record."""

    TOMBSTONE = "tombstone"
    HEADER = "header"
    TOPIC = "topic"


_ASKED: Mapping[str, tuple[DropsBy, str]] = {
    RECORD_IS_TOMBSTONE: (DropsBy.TOMBSTONE, ""),
    HAS_HEADER_KEY: (DropsBy.HEADER, "name"),
    TOPIC_NAME_MATCHES: (DropsBy.TOPIC, "pattern"),
}


@dataclass(frozen=True)
class Drops:
    """The records that a filter drops: those without a value, with a header, or of certain topics.

    `value` is the header's name, or a pattern of topics as they are named on the target. `negate`: all others.
    """

    by: DropsBy
    value: str = ""
    negate: bool = False


@dataclass(frozen=True)
class Effects:
    """The headers that a chain inserts or removes, and the records that it drops, if it does nothing else."""

    headers: tuple[str, ...] = ()
    drops: tuple[Drops, ...] = ()


def known_effects(steps: Iterable[tuple[Step, Predicate | None]]) -> Effects | None:
    """The effects of a chain; None if it may do anything else, or if a filter's answer cannot be known from a record.

    A predicate of a transform that changes headers does not matter: these headers are not compared at all.
    """
    known = list(steps)
    if any(step.kind not in ("InsertHeader", "DropHeaders", "Filter") for step, _ in known):
        return None
    headers = {used.header for step, _ in known for used in headers_used(step)}
    drops = [_drops(predicate) for step, predicate in known if step.kind == "Filter"]
    certain = [each for each in drops if each is not None and not (each.by is DropsBy.HEADER and each.value in headers)]
    if len(certain) < len(drops):
        return None
    return Effects(tuple(sorted(headers)), tuple(dict.fromkeys(certain)))


def _drops(predicate: Predicate | None) -> Drops | None:
    """What a filter with this predicate drops; None if that cannot be known from a record, or if it is every record."""
    if predicate is None or predicate.type not in _ASKED:
        return None
    by, asked = _ASKED[predicate.type]
    value = str(predicate.config.get(asked, "")).strip() if asked else ""
    if (asked and not value) or (by is DropsBy.TOPIC and pattern_error(value) is not None):
        return None
    return Drops(by, value, predicate.negate)
