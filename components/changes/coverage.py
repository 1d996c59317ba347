"""Whether names and patterns together select everything that another one does, however they are written."""

import re
from collections.abc import Sequence

from components.kafka.overlap import Disjoint, SharedName, overlap_of_patterns
from components.kafka.patterns import has_topic_characters_and_operators_only, matches
from components.kafka.replication_policy import INTERNAL_TOPICS
from components.kafka.topic_names import is_name

_ANYTHING = ".*"
#: How many names to try before coverage counts as undecided.
_EXAMPLES = 50


def is_covered(name: str, by: Sequence[str], excluded: Sequence[str] = ()) -> bool:
    """Return whether `by` selects a name, or everything that a pattern matches without what `excluded` matches.

    Coverage that cannot be decided counts as missing: an effect too many is better than one too few.
    """
    if name in by:
        return True
    if is_name(name):
        return any(matches(each, name) for each in by)
    if not by or not has_topic_characters_and_operators_only(name):
        return False
    covered: list[str] = []
    for _ in range(_EXAMPLES):
        try:
            left = overlap_of_patterns(name, _ANYTHING, (*INTERNAL_TOPICS, *excluded, *covered))
        except re.error:
            return False
        if not isinstance(left, SharedName):
            return isinstance(left, Disjoint)
        selecting = [each for each in by if matches(each, left.example)]
        if not selecting:
            return False
        covered += selecting
    return False
