"""Selections of topics and groups: not empty, with patterns that compile and that select something."""

from collections.abc import Iterator, Mapping, Sequence

from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow
from components.flows.naming import (
    offset_syncs_topic_name,
    replication_policy,
    storage_topic_name,
)
from components.flows.selections import excluded_groups, pattern_lists, topic_lists, topic_selection
from components.kafka.overlap import selects_no_topic
from components.kafka.patterns import matches, matches_any, pattern_error
from components.kafka.replication_policy import HEARTBEATS_TOPIC
from components.kafka.topic_names import LONGEST_NAME, is_name

#: A name that only a pattern for every topic matches.
_ANY_TOPIC = "zq7x1-any-topic-at-all"


def check_selections(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every entry in a flow's lists of topics and groups selects what its author means."""
    yield from _check_empty(flow)
    bad = [
        _bad_pattern(where, pattern, reason)
        for where, pattern in _entries(flow, pattern_lists(flow.settings))
        if (reason := pattern_error(pattern))
    ]
    yield from bad
    if not bad:
        internal = list(_check_internal(flow))
        yield from internal
        yield from _check_excluded(flow, {problem.where for problem in internal})
        yield from _check_excluded_groups(flow)


def _entries(flow: ExpandedFlow, lists: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Every name or pattern of these lists, after its path in the topology file."""
    for key, patterns in lists.items():
        for index, pattern in enumerate(patterns):
            yield flow.where(f"{key}.{index}"), pattern


def _check_empty(flow: ExpandedFlow) -> Iterator[Problem]:
    settings = flow.settings
    if settings.topics and settings.connectors.sources:
        yield Problem(
            flow.where("topics"),
            "topics-in-two-places",
            "both the flow and its source connectors have `topics`",
            "Each source connector replicates its own topics, so none would replicate those of the flow.",
            "move the flow's topics to one of `connectors.sources`.",
        )
    for key in (key for key, topics in topic_lists(settings).items() if not topics):
        yield Problem(
            flow.where(key),
            "no-topics",
            "no topic is selected",
            "The source connector would run but replicate only heartbeats.",
            "set `topics` to at least one name or pattern; `['.*']` selects all topics.",
        )
    if settings.connectors.checkpoint.enabled and not settings.groups:
        yield Problem(
            flow.where("groups"),
            "no-groups",
            "no consumer group is selected",
            "The checkpoint connector would have no task, and no offset would ever be translated.",
            "set `groups` to at least one name or pattern, or `connectors.checkpoint.enabled: false`.",
        )


def _check_internal(flow: ExpandedFlow) -> Iterator[Problem]:
    """No entry, except a pattern for every topic, selects heartbeats or an internal topic."""
    settings = flow.settings
    heartbeats = (HEARTBEATS_TOPIC, f"{replication_policy(settings).prefix}{HEARTBEATS_TOPIC}")
    internal = (
        "__consumer_offsets",
        "__transaction_state",
        offset_syncs_topic_name(settings),
        replication_policy(settings).checkpoints_topic,
        storage_topic_name(flow.workers, "offsets"),
    )
    for where, pattern in _entries(flow, topic_lists(settings)):
        if matches(pattern, _ANY_TOPIC):
            continue
        if selected := [topic for topic in heartbeats if matches(pattern, topic)]:
            yield Problem(
                where,
                "heartbeats-selected",
                f"`{pattern}` selects `{selected[0]}`",
                "Heartbeats are replicated whether they are selected or not. A selected heartbeat topic also takes "
                "part in checks of topics, and one that came from the target could be sent back.",
                "remove the pattern, or make it match only business topics.",
            )
        if selected := [topic for topic in internal if matches(pattern, topic)]:
            yield Problem(
                where,
                "internal-topic-selected",
                f"`{pattern}` selects `{selected[0]}`",
                "Internal topics belong to one cluster. The source connector never replicates them, whatever is "
                "selected.",
                "remove the pattern, or make it match only business topics.",
            )


def _check_excluded(flow: ExpandedFlow, reported: set[str]) -> Iterator[Problem]:
    """Every entry selects some topic that is not excluded; no error would show it at run time."""
    settings = flow.settings
    excluded = topic_selection(settings, ()).excluded
    not_by_user = tuple(each for each in excluded if each not in settings.topics_exclude)
    for where, pattern in _entries(flow, topic_lists(settings)):
        too_long = len(pattern) > LONGEST_NAME and is_name(pattern)
        if where in reported or too_long or not selects_no_topic(pattern, excluded):
            continue
        if selects_no_topic(pattern, not_by_user):
            yield _nothing(where, pattern)
        else:
            yield _excluded(where, pattern, "topics")


def _check_excluded_groups(flow: ExpandedFlow) -> Iterator[Problem]:
    settings = flow.settings
    for where, group in _entries(flow, {"groups": settings.groups}):
        excluded = is_name(group) and matches_any(excluded_groups(settings), group)
        if group in settings.groups_exclude or excluded:
            yield _excluded(where, group, "groups")


def _excluded(where: str, pattern: str, key: str) -> Problem:
    return Problem(
        where,
        "selected-and-excluded",
        f"`{pattern}` is both selected and excluded",
        f"Exclusions in `{key}Exclude` and Kafka's default exclusions win over `{key}`.",
        f"remove it from `{key}`, or remove the exclusion from `{key}Exclude`.",
    )


def _nothing(where: str, pattern: str) -> Problem:
    return Problem(
        where,
        "nothing-selected",
        f"`{pattern}` selects no topic that can be replicated",
        "It matches no valid topic name, or only topics that the source connector never replicates: internal topics, "
        "`.*\\.replica`, heartbeats, and under the default policy topics that came from the target.",
        "correct or remove it.",
    )


def _bad_pattern(where: str, pattern: str, reason: str) -> Problem:
    return Problem(
        where,
        "bad-pattern",
        f"`{pattern}` does not mean the same in Java and in Python",
        f"The connector would fail, hang, or select other topics than those checked here: {reason}.",
        "use a name, or a pattern of letters and `.`, `*`, `+`, `?`, `|`, `(…)` and `[…]`.",
    )
