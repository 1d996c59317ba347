"""Topic and group patterns: the same meaning in Java, which MirrorMaker uses, and in Python, which is used here."""

import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

from components.kafka.topic_names import PATTERN_CHARACTERS, TOPIC_CHARACTERS

#: Constructs that mean different things in the two languages, and how they differ.
_DIFFERENT = (
    (re.compile(r"\(\?P"), "named groups are written `(?P<…>` only in Python"),
    (re.compile(r"\(\?#"), "comments `(?#…)` exist only in Python"),
    (re.compile(r"\(\?\("), "conditions `(?(…)…)` exist only in Python"),
    (re.compile(r"\\[ZzNGhHRXQEkp]"), "this escape differs between Java and Python, or exists in only one of them"),
    (
        re.compile(r"\\[1-9][0-7]{2}"),
        "three digits after a backslash are a character in Python but a reference in Java",
    ),
    (re.compile(r"\(\?[aLux]"), "this flag differs between Java and Python, or exists in only one of them"),
    (re.compile(r"\[\^?\]"), "a `]` at the beginning of a class is a literal only in Python"),
    (re.compile(r"(?<!\\)\{(?!\d+,?\d*\})"), "a `{` that does not begin a repetition is a literal only in Python"),
)
_GROUP_OPENING = re.compile(r"\(\?([:=!]|<[=!])")
#: Repeating a repetition this often or more can match a name in so many ways that matching takes too long.
_OFTEN = 4

_REPETITIONS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_GROUPS = frozenset({"SUBPATTERN", "ATOMIC_GROUP"})

_parser = import_module("re._parser")


@lru_cache(maxsize=1 << 16)
def pattern_error(pattern: str) -> str | None:
    """Why a pattern does not mean the same in Java and in Python; None if it does."""
    if not pattern.strip() or pattern != pattern.strip():
        return "it is empty, or the connector strips a space at its beginning or end"
    if "," in pattern:
        return "the connector splits its list at every comma"
    for construct, reason in _DIFFERENT:
        if construct.search(pattern):
            return reason
    with warnings.catch_warnings():
        # Python warns if a class contains `[`, `&&`, `--`, `~~` or `||`: nested sets in Java, literals in Python.
        warnings.simplefilter("error")
        try:
            re.compile(pattern)
        except re.error as error:
            return f"it does not compile: {error}"
        except FutureWarning:
            return "a set within a set exists only in Java"
    if _repeats_a_repetition(_parser.parse(pattern)):
        return "it repeats only a repetition, as `(.*)*` does, so a name that does not match may take forever"
    return None


def _repeats_a_repetition(parsed: Iterable[Any]) -> bool:
    outer = (body for _, most, body in _repetitions(parsed) if most >= _OFTEN)
    inner = (next(_repetitions(body)) for body in outer if _is_one_repetition(body))
    return any(least != most > 1 for least, most, _ in inner)


def _repetitions(parsed: Iterable[Any]) -> Iterator[tuple[int, int, Iterable[Any]]]:
    """The least and greatest number and the body of each repetition, outer ones first."""
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
    """Whether it consists of one repetition only, perhaps within groups."""
    (operation, argument), *more = body or [(None, None)]
    if more or str(operation) not in _REPETITIONS | _GROUPS:
        return False
    return str(operation) in _REPETITIONS or all(map(_is_one_repetition, _bodies(argument)))


@lru_cache(maxsize=1 << 16)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def has_topic_characters_and_operators_only(pattern: str) -> bool:
    """Whether a pattern can be compared as an automaton, which knows only the characters of topic names."""
    return set(_GROUP_OPENING.sub("", pattern)) <= {*TOPIC_CHARACTERS, *PATTERN_CHARACTERS}


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches a whole name; one that does not compile matches nothing.

    Source: DefaultTopicFilter, DefaultGroupFilter.
    """
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(name) is not None


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Whether one of several patterns matches a whole name."""
    return any(matches(pattern, name) for pattern in patterns)
