"""What a flow and each of its source connectors select, in the form that `components.kafka` compares."""

from collections.abc import Iterable, Iterator
from typing import Any

from kafka_replication.components.flows.naming import STORAGE_TOPICS, replication_policy
from kafka_replication.components.kafka.patterns import DEFAULT_GROUPS_EXCLUDE, Selection, pattern_error
from kafka_replication.components.kafka.topic_names import by_whole_name, default_topics_exclude, internal_by_ending
from kafka_replication.components.topology.model import Flow
from kafka_replication.components.topology.workers import StorageTopics


def source_parts(flow: Flow) -> list[str]:
    """Return the names of a flow's source connectors; the only one of a flow that is not divided has an empty name."""
    return list(flow.connectors.sources) or [""]


def source_settings(flow: Flow, part: str) -> Flow:
    """Return the flow as if the source connector `part` were its only one; only the first replicates heartbeats."""
    if not part:
        return flow
    own = flow.connectors.sources[part]
    changes: dict[str, Any] = {
        "topics": own.topics,
        "topics_exclude": (*flow.topics_exclude, *(own.topics_exclude or ())),
        "replicate_heartbeats": flow.replicate_heartbeats and part == source_parts(flow)[0],
        "connectors": flow.connectors.model_copy(update={"sources": {}}),
    }
    if own.start_from is not None:
        changes["start_from"] = own.start_from
    if own.transforms is not None:
        changes["transforms"] = own.transforms
    if own.offset_syncs is not None:
        changes["offset_syncs"] = flow.offset_syncs.model_copy(update={"lag_max": own.offset_syncs.lag_max})
    return flow.model_copy(update=changes)


def each_source(flow: Flow) -> Iterator[tuple[str, Flow]]:
    """Yield every source connector of a flow by name, with its settings."""
    for part in source_parts(flow):
        yield part, source_settings(flow, part)


def source_key(flow: Flow, part: str, key: str) -> str:
    """Return the key of the flow that decides a setting of a source connector: the connector's own, or the flow's."""
    top = key.partition(".")[0]
    own = flow.connectors.sources.get(part)
    given = {str(type(own).model_fields[name].alias) for name in own.model_fields_set} if own is not None else set()
    # Only the flow decides whether and where offset syncs are written.
    is_own = top in given and (top != "offsetSyncs" or key == "offsetSyncs.lagMax")
    return f"connectors.sources.{part}.{key}" if is_own else key


def all_topics(flow: Flow) -> tuple[str, ...]:
    """Return the flow's topics, over all its source connectors."""
    return each_once(topic for topics in topic_lists(flow).values() for topic in topics)


def each_once(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the entries of a list as they are rendered: connectors of Kafka 4.2 refuse a repeated entry."""
    return tuple(dict.fromkeys(entries))


def topic_lists(flow: Flow) -> dict[str, tuple[str, ...]]:
    """Return the topics of each source connector of a flow, by their key in the topology file."""
    if flow.connectors.sources:
        return {f"connectors.sources.{part}.topics": source.topics for part, source in flow.connectors.sources.items()}
    return {"topics": flow.topics}


def pattern_lists(flow: Flow) -> dict[str, tuple[str, ...]]:
    """Return every list of names and patterns of a flow, by its key in the topology file."""
    return {
        **topic_lists(flow),
        "topicsExclude": flow.topics_exclude,
        **{
            f"connectors.sources.{part}.topicsExclude": source.topics_exclude
            for part, source in flow.connectors.sources.items()
            if source.topics_exclude
        },
        "groups": flow.groups,
        "groupsExclude": flow.groups_exclude,
    }


def excluded_topics(flow: Flow, kafka: str) -> tuple[str, ...]:
    """Return the exclusions of MirrorMaker, of our storage and of the flow, for workers of this minor version."""
    # A flow that keeps the names of existing workers also keeps their selection.
    derived = flow.connect.storage_topics == StorageTopics()
    storage = (STORAGE_TOPICS,) if by_whole_name(kafka) and derived else ()
    return each_once((*default_topics_exclude(kafka), *storage, *flow.topics_exclude))


def excluded_groups(flow: Flow) -> tuple[str, ...]:
    """Return MirrorMaker's own exclusions, unless the flow replaces them, and the flow's, each once."""
    return each_once((*(() if flow.default_groups_exclude is False else DEFAULT_GROUPS_EXCLUDE), *flow.groups_exclude))


def topic_selection(flow: Flow, kafka: str, topics: tuple[str, ...] | None = None) -> Selection:
    """Return what a flow's topics, or a subset of them, select; patterns that the checks refuse are left out."""
    given = all_topics(flow) if topics is None else topics
    never = (*internal_by_ending(kafka, flow.separator), *replication_policy(flow).never_selected)
    return Selection(_accepted(given), (*_accepted(excluded_topics(flow, kafka)), *never))


def group_selection(flow: Flow) -> Selection:
    """Return the groups whose offsets a flow translates, without patterns that the checks refuse."""
    return Selection(_accepted(flow.groups), _accepted(excluded_groups(flow)))


def _accepted(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(pattern for pattern in patterns if pattern_error(pattern) is None)
