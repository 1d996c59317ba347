"""Loops: rings of flows through which a record comes back to where it was produced.

The identity policy cannot tell a replicated record by its topic, so only the loop guard on every flow of the ring stops
it. A flow of the default policy in such a ring does not: it refuses topics that came from its target under its own
policy only, and gives any other one more prefix each time round. Guarded rings are fine, whatever their length: each
flow marks what it replicates, and the flow that would bring a record home drops it.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from components.checks.overlap import Disjoint, Overlaps, Selection, selection_of, selections_overlap
from components.checks.patterns import selects
from components.expansion import NamedFlow, Shape, all_topics
from components.model import Policy
from components.naming import remote_topic_name
from components.problems import Problem, Severity

#: Times that an example goes round before it is taken to go round without end; prefixes make its name longer each time.
_ROUNDS = 3


def check_loops(flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """A problem for each unguarded identity flow that lies on a ring of flows with a topic in common."""
    by_source: dict[str, list[NamedFlow]] = {}
    for named in flows:
        by_source.setdefault(named.flow.source, []).append(named)
    reported: set[frozenset[str]] = set()
    for named in flows:
        # Where all flows have the default policy, one of them refuses what came from its target.
        if named.flow.loop_guard or named.flow.policy is not Policy.IDENTITY:
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
    """Shortest way from a flow's target back to its source along flows that share topics with those before."""
    home = first.flow.source
    came_from: dict[str, NamedFlow | None] = {first.name: None}
    queue = deque([(first, _prefix(first))])
    while queue:
        here, prefix = queue.popleft()
        if here.flow.target == home and _goes_round(way := _way(here, came_from)):
            return way
        for following in by_source.get(here.flow.target, []):
            if following.name in came_from or here.flow.target == home:
                continue
            if not _disjoint(here, following, _prefix(here)) and not _disjoint(first, following, prefix):
                came_from[following.name] = here
                queue.append((following, _prefix(following) + prefix))
    return None


def _prefix(named: NamedFlow) -> str:
    """What a flow puts before the name of a topic."""
    return remote_topic_name(named.flow, "")


def _way(last: NamedFlow, came_from: Mapping[str, NamedFlow | None]) -> list[NamedFlow]:
    way = [last]
    while (before := came_from[way[-1].name]) is not None:
        way.append(before)
    return way[::-1]


def _goes_round(ring: Sequence[NamedFlow]) -> bool:
    """Whether nothing stops a record in a ring; of prefixes only an example that goes round is believed."""
    return not any(map(_prefix, ring)) or _topic_that_goes_round(ring) is not None


def _disjoint(first: NamedFlow, second: NamedFlow, prefix: str = "") -> bool:
    """Whether no topic of the first flow, with the prefix that it has got since, is one of the second's."""
    before, after = flow_selection(first), flow_selection(second)
    return isinstance(selections_overlap(_prefixed(before, prefix), after), Disjoint)


def _prefixed(selection: Selection, prefix: str) -> Selection:
    if not prefix:
        return selection
    begin = re.escape(prefix)
    patterns, excluded = (
        tuple(f"{begin}(?:{pattern})" for pattern in each) for each in (selection.patterns, selection.excluded)
    )
    # No topic has an empty name, although `.*` matches one.
    return Selection(patterns, (*excluded, begin))


def _problem(ring: Sequence[NamedFlow]) -> Problem:
    path = " -> ".join([*(named.flow.source for named in ring), ring[-1].flow.target])
    topic = _topic_that_goes_round(ring)
    identity = [named for named in ring if named.flow.policy is Policy.IDENTITY]
    mixed = len(identity) < len(ring)
    why = "The identity policy does not tell a replicated record from an original one: each goes round without end."
    if mixed:
        why += " The default policy of the others gives its topic one more prefix each time, and does not stop it."
    if not topic:
        why += " Whether one topic passes every flow of the ring could not be decided."
    instead = f"set `policy: default` on {_names(identity)}" if mixed else "use `kind: prefixlessPair`"
    return Problem(
        ring[0].where("policy"),
        "replication-loop",
        f"flows {'of both policies' if mixed else 'with identity policy'} form the ring {path}"
        + (f", for example for the topic `{topic}`" if topic else ""),
        why,
        f"set `loopGuard: true` on {_unguarded(ring)}, or {instead}, or select different topics.",
        Severity.ERROR if topic else Severity.WARNING,
    )


def _unguarded(ring: Sequence[NamedFlow]) -> str:
    unguarded = [named for named in ring if not named.flow.loop_guard]
    others = [named for named in unguarded if named.shape is not Shape.FLOW]
    return _names(unguarded) + (f" (as `kind: flow`: {_names(others)})" if others else "")


def _names(flows: Iterable[NamedFlow]) -> str:
    return ", ".join(dict.fromkeys(f"`{named.replication}`" for named in flows))


def _topic_that_goes_round(ring: Sequence[NamedFlow]) -> str | None:
    """A topic that passes every flow of the ring again and again, if an example of two flows in a row is one."""
    for index, named in enumerate(ring):
        following = ring[(index + 1) % len(ring)]
        found = selections_overlap(_prefixed(flow_selection(named), _prefix(named)), flow_selection(following))
        if isinstance(found, Overlaps):
            topic = found.example.removeprefix(_prefix(named))
            if _passes([*ring[index:], *ring[:index]], topic):
                return topic
    return None


def _passes(ring: Sequence[NamedFlow], topic: str) -> bool:
    for named in (*ring,) * _ROUNDS:
        selection = flow_selection(named)
        if not selects(selection.patterns, selection.excluded, topic):
            return False
        topic = remote_topic_name(named.flow, topic)
    return True
