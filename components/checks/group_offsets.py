"""Offsets of one group that two sources write: of one topic on the target, which has the records of both."""

from collections.abc import Iterator, Sequence

from components.checks.overlap import Overlap, Overlaps, group_selection_of, selection_of, selections_overlap
from components.checks.overlapping_pairs import overlapping_pairs
from components.expansion import NamedFlow, all_topics
from components.model import Flow, Policy
from components.problems import Problem, Severity


def check_group_offsets(flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """A warning for every two flows from different sources that may sync one group's offsets in one topic."""
    into: dict[str, list[NamedFlow]] = {}
    for named in flows:
        if _syncs_under_the_same_names(named.flow):
            into.setdefault(named.flow.target, []).append(named)
    for together in into.values():
        by_name = {named.name: named for named in together}
        for pair in overlapping_pairs({each.name: selection_of(each.flow, all_topics(each.flow)) for each in together}):
            first, second = by_name[pair.first], by_name[pair.second]
            if first.flow.source == second.flow.source:
                continue
            groups = selections_overlap(group_selection_of(first.flow), group_selection_of(second.flow))
            if isinstance(groups, Overlaps):
                yield _problem(first, second, pair.overlap, groups.example)


def _syncs_under_the_same_names(flow: Flow) -> bool:
    checkpoints = flow.connectors.checkpoint.enabled and flow.offset_syncs.enabled
    return flow.policy is Policy.IDENTITY and checkpoints and flow.sync_group_offsets


def _problem(first: NamedFlow, second: NamedFlow, topics: Overlap, group: str) -> Problem:
    which = f"`{topics.example}`" if isinstance(topics, Overlaps) else "a topic that both may select"
    sources = f"{first.flow.source} and {second.flow.source}"
    return Problem(
        second.where("groups"),
        "group-offsets-mixed",
        f"this and {first.where('groups')} both sync offsets of groups such as `{group}` in {which} from {sources}",
        f"On {second.flow.target} one topic holds the records of both, and a group's offset only moves forward, by "
        "whichever source is ahead: after a failover consumers would skip what the other one wrote behind it.",
        "select groups that only one of the two has, set `syncGroupOffsets: false`, or take the default policy.",
        Severity.WARNING,
    )
