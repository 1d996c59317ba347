"""Selections of topics and groups: not empty, patterns that compile, nothing that MirrorMaker replicates by itself."""

from collections.abc import Iterator

from components.checks.patterns import pattern_error, selects
from components.model import Flow
from components.naming import HEARTBEATS_TOPIC, checkpoints_topic_name, offset_syncs_topic_name, storage_topic_name
from components.problems import Problem

#: A name that only a pattern for everything matches.
_ANY_TOPIC = "zq7x1-any-topic-at-all"


def check_selections(name: str, flow: Flow) -> Iterator[Problem]:
    where = f"replications.{name}"
    yield from _check_empty(where, flow)
    valid = True
    for key, patterns in (
        ("topics", flow.topics),
        ("topicsExclude", flow.topics_exclude),
        ("groups", flow.groups),
        ("groupsExclude", flow.groups_exclude),
    ):
        for index, pattern in enumerate(patterns):
            if reason := pattern_error(pattern):
                valid = False
                yield _bad_pattern(f"{where}.{key}.{index}", pattern, reason)
    if valid:
        yield from _check_internal(where, name, flow)
        yield from _check_excluded(where, flow)


def _check_empty(where: str, flow: Flow) -> Iterator[Problem]:
    if not flow.topics:
        yield Problem(
            f"{where}.topics",
            "no-topics",
            "no topic is selected",
            "The source connector would run and replicate heartbeats only.",
            "set `topics` to at least one name or pattern; `['.*']` takes all.",
        )
    if flow.connectors.checkpoint.enabled and not flow.groups:
        yield Problem(
            f"{where}.groups",
            "no-groups",
            "no consumer group is selected",
            "The checkpoint connector would run without a task, and no offset would ever be translated.",
            "set `groups` to at least one name or pattern, or `connectors.checkpoint.enabled: false`.",
        )


def _check_internal(where: str, name: str, flow: Flow) -> Iterator[Problem]:
    heartbeats = (HEARTBEATS_TOPIC, f"{flow.source}{flow.separator}{HEARTBEATS_TOPIC}")
    internal = (
        "__consumer_offsets",
        "__transaction_state",
        offset_syncs_topic_name(flow),
        checkpoints_topic_name(flow),
        storage_topic_name(name, "offsets"),
    )
    for index, pattern in enumerate(flow.topics):
        if selects((pattern,), (), _ANY_TOPIC):
            continue
        for topic in (topic for topic in heartbeats if selects((pattern,), (), topic)):
            yield Problem(
                f"{where}.topics.{index}",
                "heartbeats-selected",
                f"`{pattern}` selects `{topic}`",
                "Heartbeats pass every topic filter by themselves; selected as well, they take part in topic checks "
                "and, from the target, could be sent back.",
                "remove the pattern, or make it match business topics only.",
            )
            break
        for topic in (topic for topic in internal if selects((pattern,), (), topic)):
            yield Problem(
                f"{where}.topics.{index}",
                "internal-topic-selected",
                f"`{pattern}` selects `{topic}`",
                "Internal topics belong to one cluster; the source connector leaves them out whatever is selected, so "
                "the pattern promises what does not happen.",
                "remove the pattern, or make it match business topics only.",
            )
            break


def _check_excluded(where: str, flow: Flow) -> Iterator[Problem]:
    for key, chosen, excluded in (
        ("topics", flow.topics, flow.topics_exclude),
        ("groups", flow.groups, flow.groups_exclude),
    ):
        for index, pattern in enumerate(chosen):
            if pattern in excluded:
                yield Problem(
                    f"{where}.{key}.{index}",
                    "selected-and-excluded",
                    f"`{pattern}` is selected and excluded",
                    "An exclusion wins; nothing that it matches is replicated.",
                    f"remove it from `{key}` or from `{key}Exclude`.",
                )


def _bad_pattern(where: str, pattern: str, reason: str) -> Problem:
    return Problem(
        where,
        "bad-pattern",
        f"`{pattern}` is no pattern that both Java and Python take",
        f"The connector would fail, or select something else than what is checked here: {reason}.",
        "rewrite it; a literal name, or letters with `.`, `*`, `+`, `?`, `|`, `(…)` and `[…]`.",
    )
