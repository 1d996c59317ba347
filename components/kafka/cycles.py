"""Rings of flows, through which a record would return to the cluster where it was written. MirrorMaker stops a cycle by
the prefix of a remote topic. The identity policy adds no prefix, so only a loop guard stops its cycles. There are two
questions. A check asks whether the selections of some flows close a ring, before any topic is known. The job asks which
existing topics circulate in such a ring.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.kafka.name_prefixes import beginnings
from kafka_replication.components.kafka.overlap import Disjoint, SharedName, overlap_of_selections
from kafka_replication.components.kafka.patterns import Selection
from kafka_replication.components.kafka.replication_policy import Policy, ReplicationPolicy
from kafka_replication.components.kafka.topic_names import is_name

#: How many rounds an example must complete before it counts as endless; prefixes make its name longer on each round.
_ROUNDS = 3


@dataclass(frozen=True)
class LoopGuard:
    """Headers of a loop guard: it drops records with the header `drops` and adds the header `adds` to all others."""

    drops: str
    adds: str


@dataclass(frozen=True)
class Leg:
    """A flow as one leg of a ring: where it leads, the topics that it selects, and its guard if it has one."""

    flow: str
    policy: ReplicationPolicy
    topics: Selection
    guard: LoopGuard | None = None

    @property
    def source(self) -> str:
        return self.policy.source

    @property
    def target(self) -> str:
        return self.policy.target

    @property
    def prefix(self) -> str:
        """Return what the flow adds to the names of ordinary topics; empty under the identity policy."""
        return self.policy.prefix_of("")

    def refuses_prefix_of(self, following: "Leg") -> bool:
        """Return whether the following leg adds a prefix that makes this leg refuse the topic when it returns.

        Source: MirrorSourceConnector.isCycle.
        """
        return bool(self.prefix and following.prefix) and self.policy.separator == following.policy.separator


@dataclass(frozen=True)
class Cycle:
    """The legs of a ring, in order from the flow that was asked about."""

    legs: tuple[Leg, ...]

    @property
    def marks(self) -> tuple[str, ...]:
        """Headers that the guards of the ring add to each record."""
        return tuple(sorted({leg.guard.adds for leg in self.legs if leg.guard is not None}))

    def __str__(self) -> str:
        return " -> ".join([self.legs[0].source, *(leg.target for leg in self.legs)])


LegsBySource = Mapping[str, Sequence[Leg]]


def legs_by_source(legs: Iterable[Leg]) -> LegsBySource:
    """Return the legs by the alias of the cluster that they start from."""
    by_source: dict[str, list[Leg]] = {}
    for leg in legs:
        by_source.setdefault(leg.source, []).append(leg)
    return by_source


def cycle_of_selections(first: Leg, legs: LegsBySource) -> Cycle | None:
    """Return a shortest ring that begins with `first` and on which each leg may select what the legs before it
    replicate. Guards are not considered. If a leg adds a prefix, the ring counts only if an example can circulate in
    it.
    """

    def follows(way: Sequence[Leg], leg: Leg) -> bool:
        if way[-1].refuses_prefix_of(leg):
            return False
        added = "".join(leg.prefix for leg in reversed(way))
        return not _disjoint(way[-1], way[-1].prefix, leg) and not _disjoint(first, added, leg)

    def closes(way: Sequence[Leg]) -> bool:
        return not any(leg.prefix for leg in way) or topic_that_circulates(Cycle(tuple(way))) is not None

    return _shortest_ring(first, legs, follows, closes)


def takes_longer_names(leg: Leg) -> bool:
    """Return whether a leg may take a topic whose name has become longer, as every leg of a ring with a prefix must."""
    return not all(map(is_name, leg.topics.patterns))


def may_begin_growing_cycle(first: Leg, legs: LegsBySource) -> bool:
    """Return whether a leg with the default policy may begin a ring in which each round adds its prefix."""
    return takes_longer_names(first) and any(
        not first.refuses_prefix_of(leg) and _may_take(leg, first.prefix) for leg in legs.get(first.target, ())
    )


def _may_take(leg: Leg, prefix: str) -> bool:
    """Return whether the beginnings of a leg's patterns allow names with a prefix; much cheaper than an overlap."""
    begun = [beginning for pattern in leg.topics.patterns for beginning in beginnings(pattern)]
    return any(text.startswith(prefix) or (prefix.startswith(text) and not whole) for text, whole in begun)


def cycles_of_topics(first: Leg, legs: Iterable[Leg], topics: Iterable[str]) -> dict[str, Cycle]:
    """Return a shortest unguarded ring for each topic that `first` and other legs replicate under its own name."""
    if first.policy.kind is not Policy.IDENTITY:
        return {}
    identity = [leg for leg in legs if leg.policy.kind is Policy.IDENTITY]
    cycles = {}
    # A name that looks like a heartbeat topic's gets a prefix, by which MirrorMaker stops the cycle.
    for topic in (topic for topic in topics if first.policy.remote(topic) == topic):
        ring = _unguarded_ring(first, [leg for leg in identity if topic in leg.topics])
        if ring is not None:
            cycles[topic] = ring
    return cycles


def topic_that_circulates(ring: Cycle) -> str | None:
    """Return a topic that passes every leg of a ring repeatedly, if one is found among the examples of two legs."""
    legs = ring.legs
    for index, leg in enumerate(legs):
        following = legs[(index + 1) % len(legs)]
        overlap = overlap_of_selections(prefixed(leg.topics, leg.prefix), following.topics)
        if isinstance(overlap, SharedName):
            topic = overlap.example.removeprefix(leg.prefix)
            if _goes_round(topic, [*legs[index:], *legs[:index]]):
                return topic
    return None


def _goes_round(topic: str, legs: Sequence[Leg]) -> bool:
    for leg in (*legs,) * _ROUNDS:
        if topic not in leg.topics:
            return False
        topic = leg.policy.remote(topic)
    return True


def _unguarded_ring(first: Leg, carrying: Sequence[Leg]) -> Cycle | None:
    """Return a shortest ring along legs that drop no record that the guard of another leg has marked."""
    headers = {leg.guard.adds for leg in carrying if leg.guard is not None}
    unguarded = [leg for leg in carrying if leg.guard is None or leg.guard.drops not in headers]
    return _shortest_ring(first, legs_by_source(unguarded)) if first in unguarded else None


def _shortest_ring(
    first: Leg,
    legs: LegsBySource,
    follows: Callable[[Sequence[Leg], Leg], bool] = lambda _way, _leg: True,
    closes: Callable[[Sequence[Leg]], bool] = lambda _way: True,
) -> Cycle | None:
    """Search breadth first from `first` back to its source.

    `follows` says whether a leg may extend the path so far, `closes` whether a path back to the source counts.
    """
    taken = {first.flow}
    ways: list[tuple[Leg, ...]] = [(first,)]
    for way in ways:
        if way[-1].target == first.source:
            if closes(way):
                return Cycle(way)
            continue
        # The path back comes first, because each question about another leg takes milliseconds.
        for leg in sorted(legs.get(way[-1].target, ()), key=lambda leg: leg.target != first.source):
            if leg.flow in taken or not follows(way, leg):
                continue
            if leg.target == first.source and closes((*way, leg)):
                return Cycle((*way, leg))
            taken.add(leg.flow)
            if leg.target != first.source:
                ways.append((*way, leg))
    return None


def _disjoint(before: Leg, added: str, after: Leg) -> bool:
    """Return whether `after` selects no topic of `before` once the prefix `added` stands before its name."""
    return isinstance(overlap_of_selections(prefixed(before.topics, added), after.topics), Disjoint)


def prefixed(selection: Selection, prefix: str) -> Selection:
    """Return the topics of a selection after a prefix has been added to their names."""
    if not prefix:
        return selection
    begin = re.escape(prefix)
    patterns, excluded = (
        tuple(f"{begin}(?:{pattern})" for pattern in entries) for entries in (selection.patterns, selection.excluded)
    )
    # No topic has an empty name, although `.*` matches one.
    return Selection(patterns, (*excluded, begin))
