"""Which texts can be the name of a topic, and which entries of a list are names rather than patterns."""

import string

#: Characters of a topic name, those that read best in an example first.
#: Source: org.apache.kafka.common.internals.Topic.
TOPIC_CHARACTERS = string.ascii_letters + string.digits + "-_."
#: Source: org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH.
LONGEST_NAME = 249

#: Characters that make a list entry a pattern. A dot alone does not count: names have dots, too.
PATTERN_CHARACTERS = frozenset("\\*+?()[]{}|^$")


def has_topic_characters_only(text: str) -> bool:
    """Whether every character of a non-empty text may occur in a topic name."""
    return text != "" and set(text) <= set(TOPIC_CHARACTERS)


def is_topic_name(text: str) -> bool:
    """Whether Kafka accepts a text as the name of a topic. Source: Topic.validate."""
    return has_topic_characters_only(text) and len(text) <= LONGEST_NAME and text not in {".", ".."}


def is_name(entry: str) -> bool:
    """Whether an entry in a list of topics or groups is a name and not a pattern.

    The filters of MirrorMaker read every entry as a pattern, so a dot matches any character. But whoever writes
    `orders.eu` means the topic of that name.
    """
    return PATTERN_CHARACTERS.isdisjoint(entry)
