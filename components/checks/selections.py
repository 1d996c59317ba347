"""Selections of topics and groups: not empty, valid, and matching something; and the user's own classes."""

import re
from collections.abc import Iterator, Mapping, Sequence

from kafka_replication.components.contract.problems import Problem, Severity, warning
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.naming import offset_syncs_topic_name, replication_policy, storage_topic_name
from kafka_replication.components.flows.selections import (
    each_source,
    excluded_groups,
    pattern_lists,
    topic_lists,
    topic_selection,
)
from kafka_replication.components.kafka.overlap import selects_no_topic
from kafka_replication.components.kafka.patterns import (
    Glob,
    flags_for_later_entries,
    matches,
    matches_any,
    pattern_error,
    written_as_glob,
)
from kafka_replication.components.kafka.replication_policy import (
    HEARTBEATS_TOPIC,
    KNOWN_POLICIES,
    POLICY_CLASSES,
    Policy,
)
from kafka_replication.components.kafka.topic_names import LONGEST_NAME, PATTERN_CHARACTERS, TOPIC_CHARACTERS, is_name

_SIMPLE_PATTERN = "use a name, or a pattern of letters and `.`, `*`, `+`, `?`, `|`, `(…)` and `[…]`."
_IN_PATTERNS = frozenset({*TOPIC_CHARACTERS, *PATTERN_CHARACTERS, *"&!=<>:"})
#: An escape, or a class; `operator` is one that has no meaning in it.
_CLASS = re.compile(
    r"\\.|\[(?!\^)(?:\\.|[^]\\|*+?(){}])*(?P<operator>[|*+?(){}])?(?:\\.|[^]\\])*\]|\[\^(?:\\.|[^]\\])*\]"
)
#: Separators in names.
_SEPARATORS = ("-", "_", ".")


def check_selections(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every entry in a flow's lists of topics and groups selects what its author means."""
    yield from _check_empty(flow)
    yield from _check_lag(flow)
    bad = list(_check_patterns(flow))
    yield from bad
    yield from _check_flags(flow)
    yield from _check_beginnings(flow)
    yield from _check_repeated(flow)
    yield from _check_parts(flow)
    if all(problem.severity is Severity.WARNING for problem in bad):
        internal = list(_check_internal(flow))
        yield from internal
        yield from _check_excluded(flow, {problem.where for problem in internal})
        yield from _check_excluded_groups(flow)
    yield from _check_own_classes(flow)


def _check_patterns(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every pattern is a Java regular expression, not a glob, and can be evaluated here."""
    for where, pattern in _entries(flow, pattern_lists(flow.settings)):
        if (glob := written_as_glob(pattern)) is not None:
            yield _glob(where, pattern, glob)
        elif (error := pattern_error(pattern)) and error.refused:
            yield Problem(
                where,
                "bad-pattern",
                f"`{pattern}` cannot be used as a pattern",
                f"The connector would fail, hang, or select other names than intended: {error.reason}.",
                _remedy_of_pattern(pattern),
            )
        elif error:
            yield warning(
                where,
                "pattern-not-judged",
                f"`{pattern}` is not judged",
                f"It cannot be evaluated here: {error.reason}. So the checks do not know which names it matches, and "
                "`replicate validate` refuses the flow.",
                f"check yourself what it matches, or {_SIMPLE_PATTERN}",
            )


def _check_flags(flow: ExpandedFlow) -> Iterator[Problem]:
    """No flag of an entry changes what later entries match."""
    for key, entries in pattern_lists(flow.settings).items():
        for index, entry in enumerate(entries[:-1]):
            if flags := flags_for_later_entries(entry):
                only = f"{flags[:-1]}:{entry.removeprefix(flags)})" if entry.startswith(flags) else "(?i:…)"
                yield warning(
                    flow.where(f"{key}.{index}"),
                    "pattern-not-judged",
                    f"`{flags}` in `{entry}` also applies to all later entries, but the checks ignore that",
                    "MirrorMaker joins the entries of a list into one expression, and the flag applies up to its end.",
                    f"write `{only}`.",
                )


def _check_beginnings(flow: ExpandedFlow) -> Iterator[Problem]:
    """No name ends with a separator. Such a name is valid, but the author probably meant a prefix."""
    for where, name in _entries(flow, pattern_lists(flow.settings)):
        # After another separator, a dot is no separator but a pattern of one character.
        if len(name) > 1 and is_name(name) and name.endswith(_SEPARATORS) and not name.endswith(("-.", "_.")):
            meant = re.sub(r"\.$", r"\\.", name)
            yield warning(
                where,
                "beginning-without-wildcard",
                f"`{name}` looks like a prefix, but matches only itself",
                f"An entry must match the whole name, so it does not match `{name}eu`.",
                f"write `{meant}.*`, or ignore this if the whole name is `{name}`.",
            )


def _check_parts(flow: ExpandedFlow) -> Iterator[Problem]:
    """No part of a topic pattern is a character that no topic name contains."""
    for key, entries in pattern_lists(flow.settings).items():
        for where, pattern in _entries(flow, {} if key.startswith("groups") else {key: entries}):
            selects_nothing = key.endswith("topics") and selects_no_topic(pattern, ())
            if is_name(pattern) or selects_nothing or pattern_error(pattern) or written_as_glob(pattern):
                continue
            in_class = next((found for found in _CLASS.finditer(pattern) if found["operator"]), None)
            strange = next((character for character in _CLASS.sub("", pattern) if character not in _IN_PATTERNS), None)
            if in_class is not None:
                yield _operator_in_class(where, pattern, in_class)
            elif strange is not None:
                why = "No topic name contains it, so the part of the pattern with it matches nothing."
                yield warning(where, "part-never-matches", f"`{pattern}` has `{strange}`", why, "correct or remove it.")


def _operator_in_class(where: str, pattern: str, found: re.Match[str]) -> Problem:
    group = f"{pattern[: found.start()]}({found[0][1:-1]}){pattern[found.end() :]}"
    return warning(
        where,
        "part-never-matches",
        f"`{found[0]}` of `{pattern}` has `{found['operator']}`, which no topic name contains",
        "Between brackets, each character stands for itself, and together they match one character of a name.",
        f"write `{group}` if a group was meant; otherwise remove `{found['operator']}`.",
    )


def _check_repeated(flow: ExpandedFlow) -> Iterator[Problem]:
    for key, entries in pattern_lists(flow.settings).items():
        for entry in sorted({entry for entry in entries if entries.count(entry) > 1}):
            yield warning(
                flow.where(key),
                "listed-twice",
                f"`{entry}` is in the list more than once",
                "It is rendered only once, because connectors of Kafka 4.2 and later refuse a list with a repeated "
                "entry.",
                "remove the repetition, or correct it if another name was meant.",
            )


def _entries(flow: ExpandedFlow, lists: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield every name or pattern of these lists, preceded by its path in the topology file."""
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


def _check_lag(flow: ExpandedFlow) -> Iterator[Problem]:
    if flow.settings.offset_syncs.enabled:
        return
    for part, source in flow.settings.connectors.sources.items():
        if source.offset_syncs is not None:
            yield Problem(
                flow.where(f"connectors.sources.{part}.offsetSyncs.lagMax"),
                "lag-without-offset-syncs",
                "`lagMax` is set, but the flow writes no offset syncs",
                "It is the distance between two offset syncs, so it has no effect.",
                "remove `offsetSyncs` here, or set `offsetSyncs.enabled: true` of the flow.",
            )


def _check_internal(flow: ExpandedFlow) -> Iterator[Problem]:
    """No entry selects only heartbeats or internal topics; a pattern may match them among others."""
    settings = flow.settings
    heartbeats = (HEARTBEATS_TOPIC, f"{replication_policy(settings).prefix}{HEARTBEATS_TOPIC}")
    internal = (
        "__consumer_offsets",
        "__transaction_state",
        offset_syncs_topic_name(settings),
        replication_policy(settings).checkpoints_topic,
        storage_topic_name(flow.workers, settings, "offsets"),
    )
    never = topic_selection(settings.model_copy(update={"topics_exclude": ()}), flow.kafka, ()).excluded
    for where, pattern in _entries(flow, topic_lists(settings)):
        if not selects_no_topic(pattern, never):
            continue
        if selected := [topic for topic in heartbeats if matches(pattern, topic)]:
            yield Problem(
                where,
                "heartbeats-selected",
                f"`{pattern}` selects `{selected[0]}`",
                "Heartbeats are replicated whether they are selected or not.",
                "remove it, or make it match business topics.",
            )
        if selected := [topic for topic in internal if matches(pattern, topic)]:
            yield Problem(
                where,
                "internal-topic-selected",
                f"`{pattern}` selects `{selected[0]}`",
                "Internal topics belong to one cluster. The source connector never replicates them, whatever is "
                "selected.",
                "remove it, or make it match business topics.",
            )


def _check_excluded(flow: ExpandedFlow, reported: set[str]) -> Iterator[Problem]:
    """Every entry selects some topic that is not excluded; at run time, no error would show this."""
    for part, source in each_source(flow.settings):
        key = f"connectors.sources.{part}.topics" if part else "topics"
        excluded = topic_selection(source, flow.kafka, ()).excluded
        not_by_user = tuple(topic for topic in excluded if topic not in source.topics_exclude)
        for where, pattern in _entries(flow, {key: source.topics}):
            too_long = len(pattern) > LONGEST_NAME and is_name(pattern)
            if where in reported or too_long or not selects_no_topic(pattern, excluded):
                continue
            by_user = not selects_no_topic(pattern, not_by_user)
            yield _excluded(where, pattern, "topics") if by_user else _nothing(where, pattern)


def _check_excluded_groups(flow: ExpandedFlow) -> Iterator[Problem]:
    settings = flow.settings
    for where, group in _entries(flow, {"groups": settings.groups}):
        # Patterns are compared over the characters of topic names; group names may have others.
        excluded = excluded_groups(settings)
        by_name = is_name(group) and matches_any(excluded, group)
        if by_name or group in settings.groups_exclude or selects_no_topic(group, excluded):
            yield _excluded(where, group, "groups")


def _excluded(where: str, pattern: str, key: str) -> Problem:
    return Problem(
        where,
        "selected-and-excluded",
        f"`{pattern}` is both selected and excluded",
        f"Exclusions in `{key}Exclude` and Kafka's default exclusions win over `{key}`.",
        f"correct or remove it in `{key}`, or remove the exclusion from `{key}Exclude`.",
    )


def _nothing(where: str, pattern: str) -> Problem:
    strange = next((character for character in pattern if character not in _IN_PATTERNS), None)
    why = (
        "It matches no valid topic name, or only topics that the source connector never replicates: internal topics, "
        "`.*\\.replica`, heartbeats, and under the default policy topics that came from the target."
    )
    if strange is not None:
        why = f"`{strange}` cannot occur in a topic name: these consist of letters, digits, `.`, `_` and `-`."
    what = f"`{pattern}` selects no topic that can be replicated"
    return Problem(where, "nothing-selected", what, why, "correct or remove it.")


def _glob(where: str, entry: str, glob: Glob) -> Problem:
    why = _GLOB_OPERATORS.get(glob.operator) or _why_repeated(glob)
    exactly = f", or `{glob.exactly}` if that is what you mean" if glob.exactly else ""
    return Problem(where, "glob-as-pattern", f"`{entry}` is written as a glob", why, f"write `{glob.meant}`{exactly}.")


def _why_repeated(glob: Glob) -> str:
    endless = glob.operator.endswith("*")
    character = glob.operator[:-1].removeprefix("\\")
    meaning = f"any number of `{character}`" if endless else f"an optional `{character}`"
    why = f"Entries are regular expressions, in which `{glob.operator}` means {meaning}."
    names = [f"`{name}`" for name in glob.matched]
    if not names:
        return why
    matched = f"{', '.join(names)} and so on" if endless else " and ".join(names)
    return f"{why} This one matches {matched}, but not `{glob.missed}`."


#: Why an operator of a glob matches nothing.
_GLOB_OPERATORS = {
    "*": (
        "Entries are regular expressions, in which `*` repeats what comes before it. Here it has nothing to "
        "repeat, so the connector would fail."
    ),
    "?": (
        "Entries are regular expressions, in which `?` makes what comes before it optional. Here nothing comes "
        "before it, so the connector would fail."
    ),
    "{": "Entries are regular expressions, which have no `{a,b}`, and the connector splits its list at every comma.",
    "[!": "Entries are regular expressions, in which `[!a]` matches a `!` or an `a`. `[^a]` matches everything else.",
}


def _remedy_of_pattern(pattern: str) -> str:
    parts = [part.strip() for part in pattern.split(",")]
    if len(parts) > 1 and not any(map(pattern_error, parts)):
        return f"write each as a separate entry: {', '.join(f'`{part}`' for part in parts)}."
    return _SIMPLE_PATTERN


#: Key of a flow -> Kafka's own class, the lists that it reads, and the checks that rely on them.
_FILTERS = {
    "topicFilterClass": (
        "DefaultTopicFilter",
        "`topics` and `topicsExclude`",
        "Checks of loops and double replication",
    ),
    "groupFilterClass": ("DefaultGroupFilter", "`groups` and `groupsExclude`", "Checks of mixed group offsets"),
}


def _check_own_classes(flow: ExpandedFlow) -> Iterator[Problem]:
    """Report the user's own classes: only the rules of Kafka's classes are known here."""
    settings = flow.settings
    if settings.policy_class is not None:
        yield from _check_policy(flow, settings.policy_class)
    chosen = {"topicFilterClass": settings.topic_filter_class, "groupFilterClass": settings.group_filter_class}
    for key, name in chosen.items():
        if name is not None:
            yield _filter(flow, key, name)


def _check_policy(flow: ExpandedFlow, name: str) -> Iterator[Problem]:
    for policy, of_kafka in POLICY_CLASSES.items():
        if name == of_kafka:
            yield Problem(
                flow.where("policyClass"),
                "policy-of-kafka",
                f"`policyClass` is Kafka's own `{name}`",
                "Names, ACLs and checks derive from `policy`, which could then contradict it.",
                f"remove `policyClass`, and set `policy: {policy.value}`.",
            )
            return
    policy = flow.settings.policy
    if name in KNOWN_POLICIES:
        if policy is not KNOWN_POLICIES[name]:
            yield Problem(
                flow.where("policy"),
                "policy-contradicts-class",
                f"`policy` is `{policy.value}`, but `{name}` names topics as `{KNOWN_POLICIES[name].value}` does",
                "Names of remote topics, ACLs and the checks of loops derive from `policy`, and would be wrong.",
                f"set `policy: {KNOWN_POLICIES[name].value}`.",
            )
        return
    # A deployed connector names only the class, so a diff cannot know what `policy` says.
    diffs = " Diffs treat it as the default policy." if policy is Policy.IDENTITY else ""
    yield warning(
        flow.where("policyClass"),
        "policy-not-known",
        f"the checks do not know how `{name}` names topics",
        "Names of remote topics, ACLs, checks of loops and double replication, and the validation job's parameters "
        f"are derived as for `policy: {policy.value}`.{diffs}",
        "set `policy` to the policy that names topics as your class does. If neither policy does, do not rely on these "
        "results for this replication.",
    )


def _filter(flow: ExpandedFlow, key: str, name: str) -> Problem:
    of_kafka, lists, checks = _FILTERS[key]
    return warning(
        flow.where(key),
        "filter-not-known",
        f"the checks do not know what `{name}` selects",
        f"{checks}, ACLs, diffs and the validation job's parameters assume that the class reads {lists} as Kafka's "
        f"{of_kafka} does.",
        f"make {lists} select what the class selects; otherwise do not rely on these results for this replication.",
    )
