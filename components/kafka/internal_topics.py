"""Topics that MirrorMaker does not replicate because of their names, by Kafka's minor version, such as `4.2`."""

import re

#: The first version that replicates users' topics whose names merely end like those of internal topics.
#: Source: DefaultTopicFilter.TOPICS_EXCLUDE_DEFAULT, DefaultReplicationPolicy.isMM2InternalTopic.
_BY_WHOLE_NAME_SINCE = (4, 0)
#: Topics that no version replicates, with any separator. Source: ReplicationPolicy.isInternalTopic.
ALWAYS_INTERNAL = (r"\..*", "__.*")


def by_whole_name(kafka: str) -> bool:
    """Whether a version recognises internal topics by more than the end of their names."""
    major, minor = kafka.split(".")[:2]
    return (int(major), int(minor)) >= _BY_WHOLE_NAME_SINCE


def internal_topics(separator: str) -> tuple[str, ...]:
    """Patterns of the topics that no version replicates, whatever is selected.

    Source: ReplicationPolicy.isInternalTopic, DefaultReplicationPolicy.isMM2InternalTopic.
    """
    dot = re.escape(separator)
    return (*ALWAYS_INTERNAL, f"mm2.*{dot}internal", f".*{dot}checkpoints{dot}internal")


def internal_by_ending(kafka: str, separator: str) -> tuple[str, ...]:
    """Patterns of further topics that a version does not replicate, because of how their names end."""
    if by_whole_name(kafka):
        return ()
    return (r".*[\-\.]internal", *(() if separator in {".", "-"} else (f".*{re.escape(separator)}internal",)))


def default_topics_exclude(kafka: str) -> tuple[str, ...]:
    """What MirrorMaker excludes by default. Source: DefaultTopicFilter.TOPICS_EXCLUDE_DEFAULT."""
    internal = r"mm2.*\.internal" if by_whole_name(kafka) else r".*[\-\.]internal"
    return (internal, r".*\.replica", "__.*")
