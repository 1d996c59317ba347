"""What all names that a pattern matches begin with, because ACLs take whole names and prefixes but no patterns."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

from kafka_replication.components.kafka.patterns import in_python, pattern_error
from kafka_replication.components.kafka.topic_names import is_name

_parser = import_module("re._parser")

#: The most texts that a pattern becomes: a few ACLs with shorter prefixes are easier to review than many.
_ALTERNATIVES = 64

#: A text, and whether it is a whole name or only its beginning.
Beginning = tuple[str, bool]
_Beginnings = frozenset[Beginning]


def beginnings_of_entry(entry: str) -> tuple[Beginning, ...]:
    """Return what the names that a list entry means begin with: whoever writes `orders.eu` means only that name."""
    return ((entry, True),) if is_name(entry) else beginnings(entry)


@lru_cache(maxsize=1 << 12)
def beginnings(pattern: str) -> tuple[Beginning, ...]:
    """Return the fewest texts that the matches of a pattern begin with, each as long as is certain, sorted.

    An empty text that is not a whole name means that nothing is certain.
    """
    if pattern_error(pattern) is not None:
        return (("", False),)
    parsed = _parser.parse(in_python(pattern))
    starts = _after(frozenset({("", True)}), parsed, parsed.state.flags)
    prefixes = tuple(text for text, whole in starts if not whole)
    covered = {
        beginning
        for beginning in starts
        if any(beginning[0].startswith(one) and beginning != (one, False) for one in prefixes)
    }
    return tuple(sorted(starts - covered))


def _after(before: _Beginnings, nodes: Iterable[Any], flags: int) -> _Beginnings:
    """Return the beginnings after further operations of a pattern; those that are not whole names stay as they are."""
    for operation, argument in nodes:
        follow = _FOLLOW.get(str(operation), _anything)
        starts = follow(frozenset(beginning for beginning in before if beginning[1]), argument, flags)
        before = _shortened(starts | {beginning for beginning in before if not beginning[1]})
    return before


def _shortened(starts: _Beginnings) -> _Beginnings:
    """Shorten texts until few enough remain, none more than necessary."""
    length = max((len(text) for text, _ in starts), default=0)
    while len(starts) > _ALTERNATIVES:
        length -= 1
        starts = frozenset((text[:length], whole and len(text) <= length) for text, whole in starts)
    return starts


def _anything(before: _Beginnings, _argument: Any, _flags: int) -> _Beginnings:
    """Every name continues in some unknown way."""
    return frozenset((text, False) for text, _ in before)


def _nothing(before: _Beginnings, _argument: Any, _flags: int) -> _Beginnings:
    """An anchor or a look-around: it adds no character."""
    return before


def _literal(before: _Beginnings, code: int, flags: int) -> _Beginnings:
    character = chr(code)
    if flags & re.IGNORECASE and character.lower() != character.upper():
        return _anything(before, code, flags)
    return frozenset((text + character, True) for text, _ in before)


def _one_of(before: _Beginnings, members: list[Any], flags: int) -> _Beginnings:
    if any(str(operation) != "LITERAL" for operation, _ in members):
        return _anything(before, members, flags)
    return frozenset().union(*(_literal(before, code, flags) for _, code in members))


def _group(before: _Beginnings, argument: Any, flags: int) -> _Beginnings:
    _, added, removed, nodes = argument
    return _after(before, nodes, (flags | added) & ~removed)


def _repeat(before: _Beginnings, argument: Any, flags: int) -> _Beginnings:
    least, most, nodes = argument
    for _ in range(least):
        before = _after(before, nodes, flags)
    if least == most:
        return before
    return before | _after(before, nodes, flags) if most == least + 1 else _anything(before, nodes, flags)


_FOLLOW: dict[str, Callable[[_Beginnings, Any, int], _Beginnings]] = {
    "LITERAL": _literal,
    "IN": _one_of,
    "BRANCH": lambda before, argument, flags: frozenset().union(*(_after(before, one, flags) for one in argument[1])),
    "SUBPATTERN": _group,
    "MAX_REPEAT": _repeat,
    "MIN_REPEAT": _repeat,
    "AT": _nothing,
    "ASSERT": _nothing,
    "ASSERT_NOT": _nothing,
}
