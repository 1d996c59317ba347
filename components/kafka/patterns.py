"""Patterns of topics and groups, the selections made of them, and entries that look like a shell's globs.

Patterns are Java regular expressions, which MirrorMaker uses, evaluated here with Python's. Where the two differ, a
pattern is translated, or reported as one that cannot be evaluated here.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from kafka_replication.components.kafka.topic_names import PATTERN_CHARACTERS, TOPIC_CHARACTERS, is_name

#: A backslash that no other backslash escapes.
_ESCAPE = r"(?<!\\)(?:\\\\)*\\"
#: Constructs that only Python has, and what Java reports for each.
_ONLY_PYTHON = (
    (re.compile(r"\(\?P"), "named groups are written `(?<name>…)`"),
    (re.compile(r"\(\?#"), "it has no comments `(?#…)`"),
    (re.compile(r"\(\?\("), "it has no conditions `(?(…)…)`"),
    (re.compile(r"\(\?[a-zA-Z-]*[aL]"), "it has no flags `a` and `L`"),
    (re.compile(_ESCAPE + r"(?:N(?!\{)|U)"), "it has no such escape"),
    (re.compile(r"(?<!\\)\{(?!\d+,?\d*\})"), "a `{` that begins no repetition is written `\\{`"),
)
#: The beginning of a repetition whose comma divided the list.
_CUT_REPETITION = re.compile(r"(?<!\\)\{\d+$")
#: Java constructs that Python lacks or reads differently.
_ONLY_JAVA = (
    (re.compile(_ESCAPE + r"(?:[pP]\{?\w)"), "a property class `\\p{…}`"),
    (re.compile(_ESCAPE + r"[QGhHRXvVezZck0]"), "an escape of Java"),
    (re.compile(_ESCAPE + r"(?:[Nxb]\{|[1-9][0-7]{2})"), "an escape of Java"),
    (re.compile(r"\(\?[a-zA-Z]*-?[a-zA-Z]*[xudU]"), "a flag of Java"),
    (re.compile(r"\[\^?\]"), "a class that begins with `]`"),
)
#: Escapes that Java refuses within a class; Python reads `[\b]` as a backspace and `[\1]` as a number.
_NOT_IN_CLASS = re.compile(_ESCAPE + r"[bBAzZGRX1-9]")
#: What Python reports for patterns that Java also refuses; tests/contract asks Java.
_REFUSED = re.compile(
    r"missing \), unterminated subpattern|unbalanced parenthesis|unterminated character set|unexpected end of pattern"
    r"|bad escape|min repeat greater than max repeat|bad character range [^\\]-[^\\\[]$"
)
#: The same for repetitions, unless they repeat an anchor or another repetition.
_NOTHING_REPEATED = re.compile(r"(nothing to|multiple) repeat")
_REPEATED_IN_JAVA = re.compile(r"(?:[$^})]|\\[AbB])[*+?{]")
#: The content of a class, after its opening bracket.
_CONTENT = r"(?:\\.|[^\]\\])*"
#: Java constructs that Python writes differently, and the text between them.
_TRANSLATED = re.compile(
    r"\\Q(?P<quoted>.*?)\\E|\\k<(?P<again>\w+)>|\(\?<(?P<group>[A-Za-z][A-Za-z0-9]*)>|\\.|\[" + _CONTENT + r"\]"
)
_GROUP_OPENING = re.compile(r"\(\?([:=!]|<[=!])")
#: An escape, or a class with its content; the class need not end.
_CLASS = re.compile(rf"\\.|\[\^?({_CONTENT})")
_ESCAPED = re.compile(r"\\.")
#: Operations on sets: Java has `&&`, and Python warns that it may have all of them one day.
_SET_OPERATION = re.compile(r"&&|--|~~|\|\|")
#: Flags that apply to everything after them, not only to a group.
_FLAGS = re.compile(r"\(\?[a-zA-Z-]+\)")
#: What ends or hides an alternative: an escape, a class, the ends of a group, and the operator itself.
_ALTERNATION = re.compile(rf"\\.|\[{_CONTENT}\]|[()|]")
#: A quotation, and references to groups, whose numbers change with the position of their alternative.
_BEYOND_ALTERNATIVES = re.compile(_ESCAPE + r"[Qk1-9]")
#: A repetition that is repeated this often or more can match a name in so many ways that matching takes too long.
_OFTEN = 4

_REPETITIONS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_GROUPS = frozenset({"SUBPATTERN", "ATOMIC_GROUP"})

_parser = import_module("re._parser")


@dataclass(frozen=True)
class PatternError:
    """Why a pattern cannot be evaluated here, as a clause. `refused`: connectors also refuse or misread it."""

    reason: str
    refused: bool = True


@lru_cache(maxsize=1 << 16)
def pattern_error(pattern: str) -> PatternError | None:
    """Return why a Java pattern cannot be evaluated here; None if it can."""
    if not pattern.strip() or pattern != pattern.strip():
        return PatternError("it is empty, or the connector strips a space at its beginning or end")
    if "," in pattern:
        return PatternError("the connector splits its list at every comma")
    python, plain = in_python(pattern), _TRANSLATED.sub(_without_sets, pattern)
    if any(_NOT_IN_CLASS.search(match[0]) for match in _TRANSLATED.finditer(pattern) if match[0].startswith("[")):
        return PatternError("Java does not compile it: it has no such escape in a class `[…]`")
    for construct, reason in _ONLY_JAVA:
        if construct.search(python):
            return PatternError(f"it has {reason}", refused=False)
    if _CUT_REPETITION.search(plain):
        return PatternError("the comma of a repetition such as `{2,3}` divides the list; write `xxx?` for `x{2,3}`")
    for construct, reason in _ONLY_PYTHON:
        if construct.search(plain):
            return PatternError(f"Java does not compile it: {reason}")
    return _compile_error(python)


def _compile_error(pattern: str) -> PatternError | None:
    if _has_set_in_class(pattern):
        return PatternError("it has a set within a set", refused=False)
    try:
        parsed = _parser.parse(pattern)
        re.compile(pattern)
    except re.error as error:
        repeats = _NOTHING_REPEATED.match(error.msg) and not _REPEATED_IN_JAVA.search(pattern)
        if repeats or _REFUSED.match(error.msg):
            return PatternError(f"it does not compile: {error}")
        return PatternError(f"Python does not compile it: {error}", refused=False)
    except OverflowError:
        return PatternError("it does not compile: the repetition number is too large")
    if _repeats_a_repetition(parsed):
        reason = "it repeats a repetition, as in `(.*)*`, so testing a name that does not match may take forever"
        return PatternError(reason)
    return None


@lru_cache(maxsize=1 << 16)
def in_python(pattern: str) -> str:
    """Return a Java pattern in Python's syntax: its named groups and quotations are rewritten."""
    return _TRANSLATED.sub(_in_python, pattern)


def _in_python(match: re.Match[str]) -> str:
    if match["quoted"] is not None:
        return re.escape(match["quoted"])
    if match["again"] is not None:
        return f"(?P={match['again']})"
    return match[0] if match["group"] is None else f"(?P<{match['group']}>"


def _without_sets(match: re.Match[str]) -> str:
    """Return the text without classes and quotations, because operators are literals in them."""
    return "" if match["quoted"] is not None or match[0].startswith("[") else match[0]


def flags_for_later_entries(pattern: str) -> str | None:
    """Return an entry's flags that reach later entries, such as `(?i)`. Source: MirrorUtils.compilePatternList."""
    match = _FLAGS.search(pattern)
    return match[0] if match else None


@lru_cache(maxsize=1 << 16)
def alternatives(pattern: str) -> tuple[str, ...]:
    """Return entries that select the same: `a` and `b.*` for `a|b.*`. Source: MirrorUtils.compilePatternList."""
    cannot = flags_for_later_entries(pattern) or _BEYOND_ALTERNATIVES.search(pattern)
    if "|" not in pattern or cannot or pattern_error(pattern):
        return (pattern,)
    parts, depth, begin = [], 0, 0
    for match in _ALTERNATION.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == "|" and depth == 0:
            parts.append(pattern[begin : match.start()])
            begin = match.end()
    return tuple(part for part in (*parts, pattern[begin:]) if part) or (pattern,)


def _has_set_in_class(pattern: str) -> bool:
    """Return whether Java reads a set within a class, as in `[a[b]]`, or Python warns that it may one day."""
    classes = (_ESCAPED.sub("x", match[1] or "") for match in _CLASS.finditer(pattern))
    return any("[" in text or _SET_OPERATION.search(text, 1) for text in classes)


def _repeats_a_repetition(parsed: Iterable[Any]) -> bool:
    outer = (body for _, most, body in _repetitions(parsed) if most >= _OFTEN)
    inner = (next(_repetitions(body)) for body in outer if _is_one_repetition(body))
    return any(least != most > 1 for least, most, _ in inner)


def _repetitions(parsed: Iterable[Any]) -> Iterator[tuple[int, int, Iterable[Any]]]:
    """Yield the least and greatest number and the body of each repetition, outer ones first."""
    for operation, argument in parsed:
        if str(operation) in _REPETITIONS:
            yield argument
        for body in _bodies(argument):
            yield from _repetitions(body)


def _bodies(argument: Any) -> list[Iterable[Any]]:
    """Return the parts of an operation that are themselves patterns."""
    if isinstance(argument, _parser.SubPattern):
        return [argument]
    return [body for part in argument for body in _bodies(part)] if isinstance(argument, tuple | list) else []


def _is_one_repetition(body: Iterable[Any]) -> bool:
    """Return whether it consists of one repetition only, perhaps within groups."""
    (operation, argument), *more = body or [(None, None)]
    if more or str(operation) not in _REPETITIONS | _GROUPS:
        return False
    return str(operation) in _REPETITIONS or all(map(_is_one_repetition, _bodies(argument)))


@lru_cache(maxsize=1 << 16)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(in_python(pattern))
    except (re.error, OverflowError):
        return None


def has_topic_characters_and_operators_only(pattern: str) -> bool:
    """Return whether a pattern can be compared as an automaton, which knows only the characters of topic names."""
    return set(_GROUP_OPENING.sub("", pattern)) <= {*TOPIC_CHARACTERS, *PATTERN_CHARACTERS}


def matches(pattern: str, name: str) -> bool:
    """Return whether a pattern that compiles matches a whole name. Source: DefaultTopicFilter, DefaultGroupFilter."""
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(name) is not None


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Return whether one of several patterns matches a whole name."""
    return any(matches(pattern, name) for pattern in patterns)


#: Source: DefaultGroupFilter.GROUPS_EXCLUDE_DEFAULT.
DEFAULT_GROUPS_EXCLUDE = ("console-consumer-.*", "connect-.*", "__.*")
#: A name that only a catch-all pattern matches.
_ANY_NAME = "zq7x1-any-name-at-all"


def is_for_everything(pattern: str) -> bool:
    """Return whether a pattern was written to select every name."""
    return matches(pattern, _ANY_NAME)


@dataclass(frozen=True)
class Selection:
    """Patterns of whole names, and those `excluded` from them. Source: DefaultTopicFilter, DefaultGroupFilter."""

    patterns: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return matches_any(self.patterns, name) and not matches_any(self.excluded, name)

    def of(self, names: Iterable[str]) -> list[str]:
        """Return the names that are selected, sorted."""
        return sorted(name for name in names if name in self)

    def excluded_of(self, names: Iterable[str]) -> list[str]:
        """Return the names that a pattern selects and an exclusion removes, sorted."""
        return sorted(name for name in names if matches_any(self.patterns, name) and name not in self)


#: `*`, but not that of `.*`; also `?` where it does not make a name's character optional.
_WILDCARD = re.compile(r"(?<!\.)\*+|(?<=[-_?])\?(?=\?*$)|^\?")
#: A character of a name that a regular expression repeats or makes optional.
_REPEATED = re.compile(r"([^*?.])([*?])[*?]*")
#: In an entry with other operators: a repeated separator at the end of an alternative, as in `(a|b)-*`.
_REPEATED_SEPARATOR = re.compile(r"(?<!\\)([-_]|\\[-_.])\*(?=$|[|)$])")
#: A shell's alternatives, as opposed to a repetition such as `{1,3}`.
_BRACES = re.compile(r"\{(?![\d\s]*,[\d\s]*\})([^{}]*,[^{}]*)\}")
_NEGATION = "[!"


@dataclass(frozen=True)
class Glob:
    """An entry that is written as a glob but does not match what the glob would.

    `meant` is the regular expression for the glob. `operator` is what makes it one: a repeated character such as `-*`,
    or `*`, `?`, `{` or `[!`, with which it matches nothing. `exactly` is a regular expression for what the entry
    matches, written so that nobody takes it for a glob. `matched` are the shortest names that it matches, and `missed`
    is a name that the glob matches and the entry does not; both are empty where the entry has other operators, too.
    """

    meant: str
    operator: str
    exactly: str = ""
    matched: tuple[str, ...] = ()
    missed: str = ""


def written_as_glob(entry: str) -> Glob | None:
    """Return the glob that a list entry is meant as, if the entry does not match what the glob would; else None."""
    if _BRACES.search(entry) or _NEGATION in entry:
        return _of_shell(entry)
    if is_name(entry) or "," in entry:
        return None
    if PATTERN_CHARACTERS.intersection(entry) <= {"*", "?"}:
        return _plain_glob(entry)
    repeated = _REPEATED_SEPARATOR.search(entry)
    meant, exactly = (_REPEATED_SEPARATOR.sub(by, entry) for by in (r"\1.*", r"(\1)*"))
    return Glob(meant, repeated[0], exactly) if repeated else None


def _plain_glob(entry: str) -> Glob | None:
    """Return an entry whose only operators are `*` and `?`."""
    wildcard, repeated = _WILDCARD.search(entry), _REPEATED.search(entry)
    if wildcard is None:
        return None
    meant = _WILDCARD.sub(lambda match: "." if match[0] == "?" else ".*", entry)
    missed = _WILDCARD.sub(lambda match: "1" if match[0] == "?" else "eu", entry)
    missed, plain = (re.sub(r"\.[*?]|(?<=eu)\?", "", text) for text in (missed, entry))
    names = tuple(_REPEATED.sub(r"\1" * count, plain) for count in range(3))
    matched = tuple(name for name in names if matches(entry, name))
    if repeated is None or not matched:
        return Glob(meant, wildcard[0][0], missed=missed)
    if matches(entry, missed):
        return None
    return Glob(meant, repeated[1] + repeated[2], _REPEATED.sub(r"(\1)\2", entry), matched, missed)


def _of_shell(entry: str) -> Glob:
    meant = _BRACES.sub(lambda match: f"({'|'.join(match[1].split(','))})", entry).replace(_NEGATION, "[^")
    return Glob(re.sub(r"(?<!\.)\*", ".*", meant), "{" if _BRACES.search(entry) else _NEGATION)
