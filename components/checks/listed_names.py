"""What the lists of a flow select from a cluster's topics and groups, and what they miss."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.checks.names import topic_too_long
from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.contract.wording import agreeing, named
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.selections import excluded_groups, excluded_topics, topic_lists, topic_selection
from kafka_replication.components.kafka.name_prefixes import beginnings
from kafka_replication.components.kafka.patterns import Selection, is_for_everything, pattern_error
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC
from kafka_replication.components.kafka.topic_names import (
    LONGEST_NAME,
    collision_key,
    internal_by_ending,
    internal_topics,
)

#: A shorter common prefix is not evidence of what was meant.
_SHORTEST_STEM = 3
#: How many names a problem shows.
_SHOWN = 5


@dataclass(frozen=True)
class ClusterNames:
    """Names of the topics and consumer groups of one cluster; `groups` is None if they are not known."""

    topics: tuple[str, ...]
    groups: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Selected:
    """What an entry selects, sorted; `key` is its list's key. It is not `judged` if its pattern cannot be evaluated."""

    where: str
    key: str
    entry: str
    names: tuple[str, ...]
    judged: bool = True


def selected_names(flow: ExpandedFlow, names: ClusterNames) -> list[Selected]:
    """Return what each entry of a flow's topics and groups selects from its source's names."""
    settings = flow.settings
    entries_with_names = [
        (key, index, entry, topic_selection(settings, flow.kafka, (entry,)).of(names.topics))
        for key, entries in topic_lists(settings).items()
        for index, entry in enumerate(entries)
    ]
    if names.groups is not None and settings.connectors.checkpoint.enabled:
        entries_with_names += [
            ("groups", index, entry, Selection((entry,), excluded_groups(settings)).of(names.groups))
            for index, entry in enumerate(settings.groups)
        ]
    return [
        Selected(flow.where(f"{key}.{index}"), key, entry, tuple(chosen), pattern_error(entry) is None)
        for key, index, entry, chosen in entries_with_names
    ]


def uncovered_topics(flows: Sequence[ExpandedFlow], names: ClusterNames) -> tuple[str, ...]:
    """Topics that no flow of one source replicates, without those that MirrorMaker never replicates."""
    replicable: set[str] = set()
    for flow in flows:
        by_default = excluded_topics(flow.settings.model_copy(update={"topics_exclude": ()}), flow.kafka)
        replicable.update(Selection((".*",), (*_never_selected(flow), *by_default)).of(names.topics))
    selections = [topic_selection(flow.settings, flow.kafka) for flow in flows]
    return tuple(sorted(topic for topic in replicable if not any(topic in selection for selection in selections)))


def _never_selected(flow: ExpandedFlow) -> tuple[str, ...]:
    separator = flow.settings.separator
    return *internal_topics(separator), *internal_by_ending(flow.kafka, separator), f"(.*)?{HEARTBEATS_TOPIC}"


def check_listed_names(flows: Sequence[ExpandedFlow], names: Mapping[str, ClusterNames]) -> Iterator[Problem]:
    """Every entry selects something of its source that can be replicated; `names` are those known, by alias."""
    for alias, known in names.items():
        of_source = [flow for flow in flows if flow.settings.source == alias]
        uncovered = uncovered_topics(of_source, known)
        for flow in of_source:
            for selected in selected_names(flow, known):
                yield from _check_selected(flow, selected)
                if selected.key != "groups":
                    yield from _check_cycle(flow, selected, known)
                    yield from _check_missed(flow, selected, uncovered)
    yield from _check_collisions(flows, names)


def _check_collisions(flows: Sequence[ExpandedFlow], names: Mapping[str, ClusterNames]) -> Iterator[Problem]:
    """Remote topics that a target refuses, because it has, or will have, a topic of nearly the same name."""
    remotes = [
        (selected.where, flow.settings.target, replication_policy(flow.settings).remote(topic))
        for flow in flows
        if flow.settings.source in names
        for selected in selected_names(flow, names[flow.settings.source])
        if selected.key != "groups"
        for topic in selected.names
    ]
    alike: dict[tuple[str, str], set[str]] = {}
    on_targets = [(alias, topic) for alias, known in names.items() for topic in known.topics]
    for alias, topic in (*on_targets, *((target, remote) for _, target, remote in remotes)):
        alike.setdefault((alias, collision_key(topic)), set()).add(topic)
    for where, target, remote in remotes:
        for other in sorted(alike[target, collision_key(remote)] - {remote}):
            yield Problem(
                where,
                "topic-names-collide",
                f"the remote topic `{remote}` collides with `{other}` on `{target}`",
                "Kafka refuses a topic whose name differs from another only in dots and underscores. The task that is "
                "assigned it tries for ever and reports RUNNING, and its other partitions stand still.",
                "leave one of the two topics out with `topicsExclude`, or rename it.",
            )


def _check_selected(flow: ExpandedFlow, selected: Selected) -> Iterator[Problem]:
    groups = selected.key == "groups"
    if selected.judged and not selected.names:
        yield warning(
            selected.where,
            "selects-nothing-today",
            f"`{selected.entry}` selects none of the {'groups' if groups else 'topics'} on `{flow.settings.source}`",
            "It has no effect until something that it matches exists.",
            "correct it, or leave it if a matching name will be created later.",
        )
    if groups:
        for name in (name for name in selected.names if "," in name):
            yield warning(
                selected.where,
                "group-with-comma",
                f"the offsets of the group `{name}` are not translated",
                "The checkpoint connector passes groups to its tasks as one list, which they split at every comma.",
                "rename the group.",
            )
    else:
        remote = map(replication_policy(flow.settings).remote, selected.names)
        yield from (topic_too_long(selected.where, name) for name in remote if len(name) > LONGEST_NAME)


def _check_cycle(flow: ExpandedFlow, selected: Selected, known: ClusterNames) -> Iterator[Problem]:
    """Topics that an entry matches, but whose names say that they came from the target."""
    policy = replication_policy(flow.settings)
    matched = Selection((selected.entry,), excluded_topics(flow.settings, flow.kafka)).of(known.topics)
    cycles = Selection((policy.came_from_target,), _never_selected(flow)).of(matched)
    if cycles and not is_for_everything(selected.entry):
        yield warning(
            selected.where,
            "left-out-as-cycle",
            f"`{selected.entry}` matches {_some(cycles)}, which MirrorMaker does not replicate",
            f"Their names contain the target's alias, `{flow.settings.target}{flow.settings.separator}`, so it takes "
            "them for topics that came from there.",
            "rename the topics, or the target's alias, or use `policy: identity`.",
        )


def _check_missed(flow: ExpandedFlow, selected: Selected, uncovered: Sequence[str]) -> Iterator[Problem]:
    """Topics that start like an entry, apart from separators, and that no flow replicates."""
    excluded = flow.settings.topics_exclude
    stems = tuple(text.rstrip("-_.").lower() for text, whole in beginnings(selected.entry) if not whole)
    stems = tuple(stem for stem in stems if len(stem) >= _SHORTEST_STEM)
    others = Selection((".*",), (*excluded, selected.entry)).of(uncovered)
    alike = [name for name in others if stems and name.lower().startswith(stems)]
    if alike:
        them = agreeing(len(alike), "[it|them]")
        yield warning(
            selected.where,
            "names-not-covered",
            f"`{selected.entry}` does not match {_some(alike)}, and no flow replicates {them}",
            agreeing(len(alike), "[Its name begins|Their names begin]")
            + f" like the names that the pattern matches, so the pattern may have been meant for {them} too.",
            "widen the pattern, or list the names in `topicsExclude`.",
        )


def _some(names: Sequence[str]) -> str:
    return named([f"`{name}`" for name in names], _SHOWN)
