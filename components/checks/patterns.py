"""Topic and group patterns: one meaning in Java, where MirrorMaker matches them, and in Python, where we do."""

import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

#: Constructs that one of the two languages reads otherwise, by what is wrong with them.
_DIFFERENT = (
    (re.compile(r"\(\?P"), "named groups are written `(?P<…>` in Python only"),
    (re.compile(r"\(\?#"), "comments `(?#…)` exist in Python only"),
    (re.compile(r"\(\?\("), "conditions `(?(…)…)` exist in Python only"),
    (re.compile(r"\\[ZzNGhHRXQEkp]"), "this escape means something else, or nothing, in one of the two"),
    (re.compile(r"\\[1-9][0-7]{2}"), "three digits after a backslash are a character in Python, a reference in Java"),
    (re.compile(r"\(\?[aLux]"), "this flag means something else, or nothing, in one of the two"),
    (re.compile(r"\[\^?\]"), "a `]` that opens a class is a literal in Python only"),
    (re.compile(r"(?<!\\)\{(?!\d+,?\d*\})"), "`{` that begins no repetition is a literal in Python only"),
)
_COMMA = re.compile(r",")
#: From so many on, repetitions of a repetition divide a name in more ways than anybody waits for.
_OFTEN = 4

_REPETITIONS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_GROUPS = frozenset({"SUBPATTERN", "ATOMIC_GROUP"})

_parser = import_module("re._parser")


@lru_cache(maxsize=1 << 16)
def pattern_error(pattern: str) -> str | None:
    """Say why a pattern does not compile alike in Java and in Python, or None if it does."""
    if not pattern.strip() or pattern != pattern.strip():
        return "it is empty or begins or ends with a space, which the connector strips"
    if _COMMA.search(pattern):
        return "the connector splits its list at every comma"
    for construct, reason in _DIFFERENT:
        if construct.search(pattern):
            return reason
    with warnings.catch_warnings():
        # Python warns where a class holds `[`, `&&`, `--`, `~~` or `||`: nested sets in Java, literals in Python.
        warnings.simplefilter("error")
        try:
            re.compile(pattern)
        except re.error as error:
            return f"it does not compile: {error}"
        except FutureWarning:
            return "a set within a set is one in Java only"
    if _repeats_a_repetition(_parser.parse(pattern)):
        return "it repeats nothing but a repetition, such as `(.*)*`, and a name that it misses may be tried for ever"
    return None


def _repeats_a_repetition(parsed: Iterable[Any]) -> bool:
    outer = (body for _, most, body in _repetitions(parsed) if most >= _OFTEN)
    inner = (next(_repetitions(body)) for body in outer if _is_one_repetition(body))
    return any(least != most > 1 for least, most, _ in inner)


def _repetitions(parsed: Iterable[Any]) -> Iterator[tuple[int, int, Iterable[Any]]]:
    """Least and greatest number and body of each repetition, the outer ones first."""
    for operation, argument in parsed:
        if str(operation) in _REPETITIONS:
            yield argument
        for body in _bodies(argument):
            yield from _repetitions(body)


def _bodies(argument: Any) -> list[Iterable[Any]]:
    """The parts of an operation that are patterns themselves."""
    if isinstance(argument, _parser.SubPattern):
        return [argument]
    return [body for part in argument for body in _bodies(part)] if isinstance(argument, tuple | list) else []


def _is_one_repetition(body: Iterable[Any]) -> bool:
    """Whether there is a repetition in it, in groups or not, and nothing beside."""
    (operation, argument), *more = body or [(None, None)]
    if more or str(operation) not in _REPETITIONS | _GROUPS:
        return False
    return str(operation) in _REPETITIONS or all(map(_is_one_repetition, _bodies(argument)))


def selects(patterns: tuple[str, ...], excluded: tuple[str, ...], name: str) -> bool:
    """Whether a selection holds a name. Source: DefaultTopicFilter, DefaultGroupFilter, which match whole names."""
    return _matches_any(patterns, name) and not _matches_any(excluded, name)


def _matches_any(patterns: tuple[str, ...], name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)
