"""Entries that are written as shell globs although MirrorMaker reads regular expressions.

`orders-*` compiles, but it matches only `orders`, `orders-`, `orders--` and so on, and never `orders-eu`.
"""

import re
from dataclasses import dataclass

from components.kafka.patterns import matches
from components.kafka.topic_names import PATTERN_CHARACTERS, is_name

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
    """What a list entry was meant to be, if it is a glob that does not match what the glob would; None otherwise."""
    if _BRACES.search(entry) or _NEGATION in entry:
        return _of_shell(entry)
    if is_name(entry) or "," in entry:
        return None
    if PATTERN_CHARACTERS.intersection(entry) <= {"*", "?"}:
        return _plain(entry)
    repeated = _REPEATED_SEPARATOR.search(entry)
    meant, exactly = (_REPEATED_SEPARATOR.sub(by, entry) for by in (r"\1.*", r"(\1)*"))
    return Glob(meant, repeated[0], exactly) if repeated else None


def _plain(entry: str) -> Glob | None:
    """An entry whose only operators are `*` and `?`."""
    wildcard, repeated = _WILDCARD.search(entry), _REPEATED.search(entry)
    if wildcard is None:
        return None
    meant = _WILDCARD.sub(lambda found: "." if found[0] == "?" else ".*", entry)
    missed = _WILDCARD.sub(lambda found: "1" if found[0] == "?" else "eu", entry)
    missed, plain = (re.sub(r"\.[*?]|(?<=eu)\?", "", text) for text in (missed, entry))
    names = tuple(_REPEATED.sub(r"\1" * count, plain) for count in range(3))
    matched = tuple(name for name in names if matches(entry, name))
    if repeated is None or not matched:
        return Glob(meant, wildcard[0][0], missed=missed)
    if matches(entry, missed):
        return None
    return Glob(meant, repeated[1] + repeated[2], _REPEATED.sub(r"(\1)\2", entry), matched, missed)


def _of_shell(entry: str) -> Glob:
    meant = _BRACES.sub(lambda found: f"({'|'.join(found[1].split(','))})", entry).replace(_NEGATION, "[^")
    return Glob(re.sub(r"(?<!\.)\*", ".*", meant), "{" if _BRACES.search(entry) else _NEGATION)
