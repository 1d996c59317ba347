"""Selections of topics and groups: not empty, patterns that compile, nothing that MirrorMaker replicates by itself."""

import re
from collections.abc import Iterator

from components.checks.characters import LONGEST_NAME
from components.checks.overlap import selection_of, selects_nothing
from components.checks.patterns import pattern_error, selects
from components.expansion import NamedFlow
from components.model import Flow
from components.naming import (
    HEARTBEATS_TOPIC,
    checkpoints_topic_name,
    excluded_groups,
    offset_syncs_topic_name,
    storage_topic_name,
)
from components.problems import Problem

_LITERAL = re.compile(r"[a-zA-Z0-9._-]+")
#: A name that only a pattern for everything matches.
_ANY_TOPIC = "zq7x1-any-topic-at-all"


def check_selections(named: NamedFlow) -> Iterator[Problem]:
    yield from _check_empty(named)
    bad = [
        _bad_pattern(named.where(f"{key}.{index}"), pattern, reason)
        for key, patterns in selected_patterns(named.flow).items()
        for index, pattern in enumerate(patterns)
        if (reason := pattern_error(pattern))
    ]
    yield from bad
    if not bad:
        internal = list(_check_internal(named))
        yield from internal
        yield from _check_excluded(named, {problem.where for problem in internal})
        yield from _check_excluded_groups(named)


def selected_patterns(flow: Flow) -> dict[str, tuple[str, ...]]:
    """Every list of patterns of a flow, by its key."""
    return {
        **topic_lists(flow),
        "topicsExclude": flow.topics_exclude,
        "groups": flow.groups,
        "groupsExclude": flow.groups_exclude,
    }


def topic_lists(flow: Flow) -> dict[str, tuple[str, ...]]:
    """Topics of each source connector of a flow, by their key."""
    if flow.connectors.sources:
        return {f"connectors.sources.{part}.topics": source.topics for part, source in flow.connectors.sources.items()}
    return {"topics": flow.topics}


def _check_empty(named: NamedFlow) -> Iterator[Problem]:
    flow = named.flow
    if flow.topics and flow.connectors.sources:
        yield Problem(
            named.where("topics"),
            "topics-in-two-places",
            "topics are given for the flow and for its source connectors",
            "Each of several source connectors has topics of its own; those of the flow would be nobody's.",
            "move them to one of `connectors.sources`.",
        )
    for key in (key for key, topics in topic_lists(flow).items() if not topics):
        yield Problem(
            named.where(key),
            "no-topics",
            "no topic is selected",
            "The source connector would run and replicate heartbeats only.",
            "set `topics` to at least one name or pattern; `['.*']` takes all.",
        )
    if flow.connectors.checkpoint.enabled and not flow.groups:
        yield Problem(
            named.where("groups"),
            "no-groups",
            "no consumer group is selected",
            "The checkpoint connector would run without a task, and no offset would ever be translated.",
            "set `groups` to at least one name or pattern, or `connectors.checkpoint.enabled: false`.",
        )


def _check_internal(named: NamedFlow) -> Iterator[Problem]:
    flow = named.flow
    heartbeats = (HEARTBEATS_TOPIC, f"{flow.source}{flow.separator}{HEARTBEATS_TOPIC}")
    internal = (
        "__consumer_offsets",
        "__transaction_state",
        offset_syncs_topic_name(flow),
        checkpoints_topic_name(flow),
        storage_topic_name(named.workers, "offsets"),
    )
    chosen = [
        (f"{key}.{index}", pattern) for key, topics in topic_lists(flow).items() for index, pattern in enumerate(topics)
    ]
    for key, pattern in chosen:
        if selects((pattern,), (), _ANY_TOPIC):
            continue
        for topic in (topic for topic in heartbeats if selects((pattern,), (), topic)):
            yield Problem(
                named.where(key),
                "heartbeats-selected",
                f"`{pattern}` selects `{topic}`",
                "Heartbeats pass every topic filter by themselves; selected as well, they take part in topic checks "
                "and, from the target, could be sent back.",
                "remove the pattern, or make it match business topics only.",
            )
            break
        for topic in (topic for topic in internal if selects((pattern,), (), topic)):
            yield Problem(
                named.where(key),
                "internal-topic-selected",
                f"`{pattern}` selects `{topic}`",
                "Internal topics belong to one cluster; the source connector leaves them out whatever is selected, so "
                "the pattern promises what does not happen.",
                "remove the pattern, or make it match business topics only.",
            )
            break


def _check_excluded(named: NamedFlow, told: set[str]) -> Iterator[Problem]:
    """Patterns by which no topic is ever replicated, and nothing would say so."""
    flow = named.flow
    excluded = selection_of(flow, ()).excluded
    not_by_user = tuple(each for each in excluded if each not in flow.topics_exclude)
    for key, topics in topic_lists(flow).items():
        for index, pattern in enumerate(topics):
            where = named.where(f"{key}.{index}")
            too_long = len(pattern) > LONGEST_NAME and _LITERAL.fullmatch(pattern)
            if where in told or too_long or not selects_nothing(pattern, excluded):
                continue
            if selects_nothing(pattern, not_by_user):
                yield _nothing(where, pattern)
            else:
                yield _excluded(where, pattern, "topics")


def _check_excluded_groups(named: NamedFlow) -> Iterator[Problem]:
    flow = named.flow
    for index, group in enumerate(flow.groups):
        literal = _LITERAL.fullmatch(group) is not None
        if group in flow.groups_exclude or (literal and not selects((group,), excluded_groups(flow), group)):
            yield _excluded(named.where(f"groups.{index}"), group, "groups")


def _excluded(where: str, pattern: str, key: str) -> Problem:
    return Problem(
        where,
        "selected-and-excluded",
        f"`{pattern}` is selected and excluded",
        f"An exclusion wins, of `{key}Exclude` or of Kafka's own; nothing that it matches is replicated.",
        f"remove it from `{key}`, or what excludes it from `{key}Exclude`.",
    )


def _nothing(where: str, pattern: str) -> Problem:
    return Problem(
        where,
        "nothing-selected",
        f"`{pattern}` selects no topic that is replicated",
        "It matches no name that a topic can have, or only what the source connector leaves out whatever is selected: "
        "internal topics, `.*\\.replica`, heartbeats, and under the default policy topics that came from the target.",
        "correct it, or remove it.",
    )


def _bad_pattern(where: str, pattern: str, reason: str) -> Problem:
    return Problem(
        where,
        "bad-pattern",
        f"`{pattern}` is no pattern that both Java and Python take",
        f"The connector would fail, hang, or select something else than what is checked here: {reason}.",
        "rewrite it; a literal name, or letters with `.`, `*`, `+`, `?`, `|`, `(…)` and `[…]`.",
    )
