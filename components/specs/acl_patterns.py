"""Topic and group patterns as far as Kafka's ACLs can say them: whole names, beginnings, or every name."""

import re

from components.model import Flow
from components.naming import remote_topic_name

#: Characters that end the literal beginning of a topic or group pattern.
_PATTERN_CHARACTER = re.compile(r"[\\.*+?()\[\]{}|^$]")
_REPETITIONS = frozenset("*?{+")


def literal_beginning(pattern: str) -> tuple[str, bool]:
    """Longest literal beginning of a pattern, and whether that is all of it."""
    literal = ""
    position = 0
    while position < len(pattern):
        escaped = pattern[position] == "\\" and pattern[position + 1 : position + 2] in {".", "-", "_"}
        character = pattern[position + 1] if escaped else pattern[position]
        following = position + (2 if escaped else 1)
        ends = not escaped and _PATTERN_CHARACTER.match(character)
        if ends or pattern[following : following + 1] in _REPETITIONS:
            # Alternatives share no beginning.
            return ("" if "|" in pattern else literal), False
        literal += character
        position = following
    return literal, True


def remote_prefix(flow: Flow, pattern: str) -> str:
    """What the remote topics of the topics of a pattern begin with, before the topics' own names."""
    return "" if remote_topic_name(flow, pattern) == pattern else f"{flow.source}{flow.separator}"
