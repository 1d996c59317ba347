"""Whether names and patterns hold what another selects: what goes on although it is written otherwise.

May import the checks of patterns.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from components.checks.overlap import Disjoint, Overlaps, pattern_overlap
from components.effects.effect import is_literal

_ANYTHING = ".*"
#: Names to look for in vain that are not held, before it counts as undecided.
_EXAMPLES = 50
#: Patterns of which every character is one of a topic's name, so that they can be compared.
_OF_TOPICS = re.compile(r"(\(\?([:=!]|<[=!])|[\w.\-\\*+?()\[\]{}|^$])*", re.ASCII)


def is_covered(name: str, by: Sequence[str], excluded: Sequence[str] = ()) -> bool:
    """Whether names and patterns together hold a name, or all that a pattern matches and `excluded` does not.

    What cannot be decided is not covered: rather one effect too many is told than one too few.
    """
    if name in by:
        return True
    if is_literal(name):
        return any(matches(each, name) for each in by)
    if not by or not _OF_TOPICS.fullmatch(name):
        return False
    held: list[str] = []
    for _ in range(_EXAMPLES):
        try:
            left = pattern_overlap(name, _ANYTHING, tuple(excluded), tuple(held))
        except re.error:
            return False
        if not isinstance(left, Overlaps):
            return isinstance(left, Disjoint)
        holding = [each for each in by if matches(each, left.example)]
        if not holding:
            return False
        held += holding
    return False


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches a whole name. Source: DefaultTopicFilter, DefaultGroupFilter."""
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(name) is not None


@lru_cache(maxsize=1 << 16)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """A file that nobody checked may hold anything; such a connector would fail, and select nothing."""
    try:
        return re.compile(pattern)
    except re.error:
        return None
