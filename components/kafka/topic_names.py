"""Names of topics: which Kafka accepts, which MirrorMaker never replicates, and how a name differs from a pattern."""

import re
import string

#: Characters of a topic name, those that read best in an example first.
#: Source: org.apache.kafka.common.internals.Topic.
TOPIC_CHARACTERS = string.ascii_letters + string.digits + "-_."
#: Source: org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH.
LONGEST_NAME = 249

#: Characters that make a list entry a pattern. A dot alone does not count: names have dots, too.
PATTERN_CHARACTERS = frozenset("\\*+?()[]{}|^$")


def has_topic_characters_only(text: str) -> bool:
    """Return whether every character of a non-empty text may occur in a topic name."""
    return text != "" and set(text) <= set(TOPIC_CHARACTERS)


def is_topic_name(text: str) -> bool:
    """Return whether Kafka accepts a text as the name of a topic. Source: Topic.validate."""
    return has_topic_characters_only(text) and len(text) <= LONGEST_NAME and text not in {".", ".."}


def collision_key(topic: str) -> str:
    """Return a key that two topics share if a broker refuses to have both: metrics take a dot for an underscore.

    Source: Topic.unifyCollisionChars.
    """
    return topic.replace(".", "_")


def collides(topic: str, other: str) -> bool:
    """Return whether a broker that has one of two topics refuses to create the other. Source: Topic.hasCollision."""
    return topic != other and collision_key(topic) == collision_key(other)


def is_name(entry: str) -> bool:
    """Return whether an entry in a list of topics or groups is a name and not a pattern.

    The filters of MirrorMaker read every entry as a pattern, so a dot matches any character. But whoever writes
    `orders.eu` means the topic of that name.
    """
    return PATTERN_CHARACTERS.isdisjoint(entry)


#: The first version that replicates users' topics whose names merely end like those of internal topics.
#: Source: DefaultTopicFilter.TOPICS_EXCLUDE_DEFAULT, DefaultReplicationPolicy.isMM2InternalTopic.
_BY_WHOLE_NAME_SINCE = (4, 0)
#: Topics that no version replicates, with any separator. Source: ReplicationPolicy.isInternalTopic.
ALWAYS_INTERNAL = (r"\..*", "__.*")


def by_whole_name(kafka: str) -> bool:
    """Return whether a version recognises internal topics by more than the end of their names."""
    major, minor = kafka.split(".")[:2]
    return (int(major), int(minor)) >= _BY_WHOLE_NAME_SINCE


def internal_topics(separator: str) -> tuple[str, ...]:
    """Return the patterns of the topics that no version replicates, whatever is selected.

    Source: ReplicationPolicy.isInternalTopic, DefaultReplicationPolicy.isMM2InternalTopic.
    """
    dot = re.escape(separator)
    return (*ALWAYS_INTERNAL, f"mm2.*{dot}internal", f".*{dot}checkpoints{dot}internal")


def internal_by_ending(kafka: str, separator: str) -> tuple[str, ...]:
    """Return the patterns of further topics that a version does not replicate, because of how their names end."""
    if by_whole_name(kafka):
        return ()
    return (r".*[\-\.]internal", *(() if separator in {".", "-"} else (f".*{re.escape(separator)}internal",)))


def default_topics_exclude(kafka: str) -> tuple[str, ...]:
    """Return what MirrorMaker excludes by default. Source: DefaultTopicFilter.TOPICS_EXCLUDE_DEFAULT."""
    internal = r"mm2.*\.internal" if by_whole_name(kafka) else r".*[\-\.]internal"
    return (internal, r".*\.replica", "__.*")
