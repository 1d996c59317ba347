"""Loops: rings of identity flows through which a record comes back to where it was produced.

The identity policy cannot tell a replicated record by its topic, so only the loop guard on every flow of the ring stops
it. Guarded rings are fine, whatever their length: each flow marks what it replicates, and the flow that would bring a
record home drops it.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from components.checks.overlap import Disjoint, Selection, Undecided, selection_of, selections_overlap
from components.checks.patterns import selects
from components.expansion import NamedFlow, all_topics
from components.model import Policy
from components.problems import Problem, Severity


def check_loops(flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """A problem for each unguarded flow that lies on a ring of identity flows with a topic in common."""
    by_source: dict[str, list[NamedFlow]] = {}
    for named in flows:
        if named.flow.policy is Policy.IDENTITY:
            by_source.setdefault(named.flow.source, []).append(named)
    reported: set[frozenset[str]] = set()
    for named in (named for of_source in by_source.values() for named in of_source):
        if named.flow.loop_guard:
            continue
        ring = _ring(named, by_source)
        if ring is not None and (names := frozenset(each.name for each in ring)) not in reported:
            reported.add(names)
            yield _problem(ring)


def check_halves(flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """A problem for two guarded flows, back to back, that share topics and treat them differently."""
    guarded = [named for named in flows if named.flow.loop_guard]
    first_of = {(named.flow.source, named.flow.target): named for named in reversed(guarded)}
    for named in guarded:
        other = first_of.get((named.flow.target, named.flow.source))
        if other is None or named.name > other.name or _disjoint(named, other):
            continue
        for key, ours, theirs in (
            ("topics", set(all_topics(named.flow)), set(all_topics(other.flow))),
            ("topicsExclude", set(named.flow.topics_exclude), set(other.flow.topics_exclude)),
            ("separator", {named.flow.separator}, {other.flow.separator}),
        ):
            if ours != theirs:
                yield Problem(
                    other.where(key),
                    "halves-disagree",
                    f"`{key}` is {', '.join(sorted(theirs)) or 'empty'}, and {', '.join(sorted(ours)) or 'empty'} in "
                    f"{named.where()}, which goes the other way",
                    "A topic that only one direction replicates is not the same on both sides: after a failover its "
                    "records of one side are missing.",
                    f"set the same `{key}` for both, or use `kind: prefixlessPair`.",
                )


def flow_selection(named: NamedFlow) -> Selection:
    """What a flow replicates by selection, over all its source connectors."""
    return selection_of(named.flow, all_topics(named.flow))


def _ring(first: NamedFlow, by_source: Mapping[str, list[NamedFlow]]) -> list[NamedFlow] | None:
    """Shortest way from a flow's target back to its source along flows that share topics with the one before."""
    home = first.flow.source
    came_from: dict[str, NamedFlow | None] = {first.name: None}
    queue = deque([first])
    while queue:
        here = queue.popleft()
        if here.flow.target == home:
            return _way(here, came_from)
        for following in by_source.get(here.flow.target, []):
            if following.name not in came_from and not _disjoint(here, following) and not _disjoint(first, following):
                came_from[following.name] = here
                queue.append(following)
    return None


def _way(last: NamedFlow, came_from: Mapping[str, NamedFlow | None]) -> list[NamedFlow]:
    way = [last]
    while (before := came_from[way[-1].name]) is not None:
        way.append(before)
    return way[::-1]


def _disjoint(first: NamedFlow, second: NamedFlow) -> bool:
    return isinstance(selections_overlap(flow_selection(first), flow_selection(second)), Disjoint)


def _problem(ring: Sequence[NamedFlow]) -> Problem:
    path = " -> ".join([*(named.flow.source for named in ring), ring[-1].flow.target])
    topic = _common_topic(ring)
    unguarded = ", ".join(f"`{named.replication}`" for named in ring if not named.flow.loop_guard)
    return Problem(
        ring[0].where("policy"),
        "replication-loop",
        f"flows with identity policy form the ring {path}"
        + (f", for example for the topic `{topic}`" if topic else ""),
        "The identity policy does not tell a replicated record from an original one: each goes round without end."
        + ("" if topic else " Whether one topic passes every flow of the ring could not be decided."),
        f"set `loopGuard: true` on {unguarded}, or use `kind: prefixlessPair`, or select different topics.",
        Severity.ERROR if topic else Severity.WARNING,
    )


def _common_topic(ring: Sequence[NamedFlow]) -> str | None:
    """A topic that every flow of the ring selects, if one of the pairwise examples is."""
    selections = [flow_selection(named) for named in ring]
    for index, selection in enumerate(selections):
        found = selections_overlap(selection, selections[(index + 1) % len(selections)])
        if isinstance(found, Disjoint | Undecided):
            continue
        if all(selects(each.patterns, each.excluded, found.example) for each in selections):
            return found.example
    return None
