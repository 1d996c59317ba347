"""Records that reach a topic twice, and group offsets that come from two sources or in both directions."""

from collections.abc import Iterator, Mapping, Sequence

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import Problem, Severity, warning
from kafka_replication.components.contract.wording import named
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.selections import each_source, group_selection, source_key, topic_selection
from kafka_replication.components.kafka.connectors import EMIT_CHECKPOINTS
from kafka_replication.components.kafka.cycles import Leg, LoopGuard
from kafka_replication.components.kafka.overlap import (
    Overlap,
    OverlappingPair,
    SharedName,
    Undecided,
    overlap_of_selections,
    pairs_that_overlap,
)
from kafka_replication.components.kafka.patterns import Selection
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.kafka.transform_chains import Effects, chain_of, known_effects
from kafka_replication.components.kafka.two_paths import Path, TwoPaths, two_paths
from kafka_replication.components.render.alerts import translates
from kafka_replication.components.render.connector_config import marker_header, transform_properties
from kafka_replication.components.topology.model import Flow


def check_double_replication(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No two source connectors from one source to one target select a common topic."""
    directions: dict[tuple[str, str], dict[str, Selection]] = {}
    for flow in flows:
        selections = directions.setdefault((flow.settings.source, flow.settings.target), {})
        for part, settings in each_source(flow.settings):
            key = f"connectors.sources.{part}.topics" if part else "topics"
            selections[flow.where(key)] = topic_selection(settings, flow.kafka)
    for (source, target), selections in directions.items():
        for pair in pairs_that_overlap(selections):
            yield _topics_overlap(source, target, pair)


def _topics_overlap(source: str, target: str, pair: OverlappingPair) -> Problem:
    both = f"`{pair.second_pattern}` and `{pair.first_pattern}` of {pair.first}"
    why = "Every record of a topic that both select would be written twice."
    match pair.overlap:
        case SharedName(example):
            return Problem(
                pair.second,
                "topics-overlap",
                f"{both} both select `{example}` from {source} to {target}",
                why,
                "narrow one of the patterns, or add the topic to `topicsExclude` of one of them.",
            )
        case Undecided(reason):
            return warning(
                pair.second,
                "topics-may-overlap",
                f"it cannot be decided whether {both} select a common topic: {reason}",
                why,
                "write one of the patterns without that construct, or make sure that no topic matches both.",
            )


def check_two_paths(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No record reaches a topic of another cluster by two paths."""
    topics: dict[str, tuple[ExpandedFlow, str]] = {}
    legs: list[Leg] = []
    transforms: dict[str, Effects | None] = {}
    for flow in flows:
        for part, settings in each_source(flow.settings):
            name = f"{flow.name}/{part}"
            topics[name] = flow, flow.where(source_key(flow.settings, part, "topics"))
            guard = LoopGuard(marker_header(settings.target), marker_header(settings.source))
            selection = topic_selection(settings, flow.kafka)
            legs.append(Leg(name, replication_policy(settings), selection, guard if settings.loop_guard else None))
            own = transform_properties(settings.model_copy(update={"loop_guard": False}))
            transforms[name] = known_effects(chain_of(own).steps)
    told: set[tuple[str, ...]] = set()
    for found in two_paths(legs, transforms):
        problem = _two_paths(found, topics)
        if (shown := (problem.where, problem.what.partition(" by two paths")[2])) not in told:
            told.add(shown)
            yield problem


def _two_paths(found: TwoPaths, topics: Mapping[str, tuple[ExpandedFlow, str]]) -> Problem:
    shorter, longer = found.paths
    last, where = topics[longer[-1].flow]
    source, target = longer[0].source, longer[-1].target
    records = f"records of `{found.topic}`" if found.topic else "records"
    why = f"Each record would be written to `{target}` twice."
    if longer[0].guard is not None:
        why += " Loop guards do not prevent it: they only drop records that return to the cluster they came from."
    if not found.topic:
        why += " It could not be decided whether any topic takes both paths."
    elif not found.is_certain:
        why += " Transforms on the way may drop the records of one path, which could not be decided."
    names = dict.fromkeys(f"`{topics[leg.flow][0].replication}`" for leg in (*shorter, *longer))
    remedy = f"select different topics in one of {named([*names])}"
    if longer[0].guard is not None and found.is_certain:
        predicate = f"{{type: HasHeaderKey, config: {{name: {marker_header(source)}}}}}"
        dropping = f"{{before: {{not-from-{source}: {{type: Filter, predicate: {predicate}}}}}}}"
        remedy += f", or drop what came from `{source}` in `{last.replication}`: `transforms: {dropping}`; "
        remedy += "a validation then cannot compare its records"
    severity = Severity.ERROR if found.is_certain else Severity.WARNING
    what = f"{records} reach `{target}` from `{source}` by two paths: {_shown(shorter)} and {_shown(longer)}"
    return Problem(where, "two-paths", what, why, f"{remedy}.", severity)


def _shown(path: Path) -> str:
    return " -> ".join([path[0].source, *(leg.target for leg in path)])


def check_group_offsets(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No two flows from different sources sync the offsets of the same group in the same topic of the target."""
    identity = [flow for flow in flows if flow.settings.policy is Policy.IDENTITY and flow.settings.sync_group_offsets]
    syncing = (
        flow for flow in identity if flow.settings.connectors.checkpoint.enabled and flow.settings.offset_syncs.enabled
    )
    for together in grouped((flow.settings.target, flow) for flow in syncing).values():
        by_name = {flow.name: flow for flow in together}
        for pair in pairs_that_overlap({flow.name: topic_selection(flow.settings, flow.kafka) for flow in together}):
            first, second = by_name[pair.first], by_name[pair.second]
            if first.settings.source == second.settings.source:
                continue
            groups = overlap_of_selections(group_selection(first.settings), group_selection(second.settings))
            if isinstance(groups, SharedName):
                yield _offsets_mixed(first, second, pair.overlap, groups.example)


def _offsets_mixed(first: ExpandedFlow, second: ExpandedFlow, topics: Overlap, group: str) -> Problem:
    which = f"`{topics.example}`" if isinstance(topics, SharedName) else "a topic that both may select"
    sources = f"{first.settings.source} and {second.settings.source}"
    return warning(
        second.where("groups"),
        "group-offsets-mixed",
        f"this and {first.where('groups')} both sync offsets of groups such as `{group}` in {which} from {sources}",
        f"On {second.settings.target} the topic holds records of both sources. A group's offset only moves forward, "
        "so it follows the source that is further ahead. After a failover, consumers would skip records of the other "
        "source.",
        "select different groups in each, set `syncGroupOffsets: false`, or use the default policy.",
    )


def check_offsets_both_ways(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No flow translates offsets of a topic that a guarded flow replicates back under the same name."""
    guarded = (flow for flow in flows if flow.settings.loop_guard and flow.settings.policy is Policy.IDENTITY)
    for together in grouped(
        (frozenset({flow.settings.source, flow.settings.target}), flow) for flow in guarded
    ).values():
        yield from _translated_both_ways(together)


def _translated_both_ways(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """Yield the problems between two clusters, once per pair of flows even if several of its connectors overlap."""
    sources = [(flow, settings) for flow in flows for _, settings in each_source(flow.settings)]
    selections = {str(index): topic_selection(settings, flow.kafka) for index, (flow, settings) in enumerate(sources)}
    told: set[frozenset[str]] = set()
    for pair in pairs_that_overlap(selections):
        first, second = (sources[int(index)][0] for index in (pair.first, pair.second))
        both = frozenset({first.name, second.name})
        if first.settings.source != second.settings.source and both not in told:
            told.add(both)
            yield from (
                _offsets_both_ways(flow, back, pair.overlap)
                for flow, back in ((first, second), (second, first))
                if _translates(flow.settings)
            )


def _translates(flow: Flow) -> bool:
    emits = flow.connectors.checkpoint.emits(EMIT_CHECKPOINTS)
    return bool(flow.groups) and translates(flow) and emits and flow.offset_syncs.enabled


def _offsets_both_ways(flow: ExpandedFlow, back: ExpandedFlow, topics: Overlap) -> Problem:
    which = f"`{topics.example}`" if isinstance(topics, SharedName) else "a topic that both may select"
    source, target = flow.settings.source, flow.settings.target
    return warning(
        flow.where("groups"),
        "offsets-both-ways",
        f"the flow translates offsets in {which}, and {back.where()} replicates the topic in the other direction",
        f"If both regions produce to it, `{source}` and `{target}` hold its records in different orders. A group that "
        f"continues on `{target}` at a translated offset then skips records of `{target}` that it has not read on "
        f"`{source}`. For this reason, a `prefixlessPair` translates no offsets.",
        "set `connectors.checkpoint.enabled: false` and remove `groups`, or replace both flows with one `kind: "
        "prefixlessPair`. Ignore this if only one region produces at a time.",
    )
