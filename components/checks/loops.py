"""Loops: rings of flows through which a record returns to the cluster where it was produced.

Under the identity policy a topic's name does not show that a record was replicated, so only a loop guard on every flow
of the ring stops the record. A flow with the default policy does not help: it recognizes only its own prefixes and adds
one more on each round. Guarded rings are safe at any length: each flow marks what it replicates, and the flow that
would bring a record home drops it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from components.contract.problems import Problem, Severity
from components.contract.wording import agreeing
from components.flows.expansion import ExpandedFlow, Shape
from components.flows.naming import replication_policy
from components.flows.selections import all_topics, topic_selection
from components.kafka.overlap import Disjoint, overlap_of_selections
from components.kafka.replication_policy import Policy
from components.kafka.rings import (
    Leg,
    Ring,
    begins_growing_ring,
    legs_by_source,
    ring_of_selections,
    takes_longer_names,
    topic_that_goes_round,
)


def check_loops(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No unguarded flow is part of a ring of flows that share a topic, unless all have the default policy. In that case
    one of the flows refuses what came from its target.
    """
    by_name = {flow.name: flow for flow in flows}
    reported: set[frozenset[str]] = set()
    for ring in _rings(flows):
        if (names := frozenset(leg.flow for leg in ring.legs)) not in reported:
            reported.add(names)
            yield _problem(ring, by_name)


def _rings(flows: Sequence[ExpandedFlow]) -> Iterator[Ring]:
    """A ring through each unguarded flow that is in one."""
    legs = {flow.name: _leg(flow) for flow in flows}
    by_source = legs_by_source(legs.values())
    identity = [flow for flow in flows if not flow.settings.loop_guard and flow.settings.policy is Policy.IDENTITY]
    found = [ring_of_selections(legs[flow.name], by_source) for flow in identity]
    # The rings through an unguarded flow with the identity policy have been found by now.
    others = [flow for flow in flows if flow.settings.loop_guard or flow.settings.policy is not Policy.IDENTITY]
    growing = legs_by_source(legs[flow.name] for flow in others if takes_longer_names(legs[flow.name]))
    unguarded = [legs[flow.name] for flow in others if not flow.settings.loop_guard]
    found += [ring_of_selections(leg, growing) for leg in unguarded if begins_growing_ring(leg, growing)]
    return (ring for ring in found if ring is not None)


def _leg(flow: ExpandedFlow) -> Leg:
    return Leg(flow.name, replication_policy(flow.settings), topic_selection(flow.settings, flow.kafka))


def check_halves(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """Two guarded flows in opposite directions that share topics have the same selection and separator."""
    guarded = [flow for flow in flows if flow.settings.loop_guard]
    first_of = {(flow.settings.source, flow.settings.target): flow for flow in reversed(guarded)}
    for flow in guarded:
        other = first_of.get((flow.settings.target, flow.settings.source))
        if other is None or flow.name > other.name or _disjoint(flow, other):
            continue
        for key, ours, theirs in (
            ("topics", set(all_topics(flow.settings)), set(all_topics(other.settings))),
            ("topicsExclude", set(flow.settings.topics_exclude), set(other.settings.topics_exclude)),
            ("separator", {flow.settings.separator}, {other.settings.separator}),
        ):
            if ours != theirs:
                yield Problem(
                    other.where(key),
                    "halves-disagree",
                    f"`{key}` is {', '.join(sorted(theirs)) or 'empty'}, but {', '.join(sorted(ours)) or 'empty'} in "
                    f"{flow.where()}, which replicates in the other direction",
                    "If only one direction replicates a topic, its two sides differ. After a failover the records of "
                    "one side are missing.",
                    f"set the same `{key}` for both, or use `kind: prefixlessPair`.",
                )


def _disjoint(first: ExpandedFlow, second: ExpandedFlow) -> bool:
    selections = topic_selection(first.settings, first.kafka), topic_selection(second.settings, second.kafka)
    return isinstance(overlap_of_selections(*selections), Disjoint)


def _problem(found: Ring, flows: Mapping[str, ExpandedFlow]) -> Problem:
    ring = [flows[leg.flow] for leg in found.legs]
    topic = topic_that_goes_round(found)
    identity = [flow for flow in ring if flow.settings.policy is Policy.IDENTITY]
    mixed = len(identity) < len(ring)
    why = "The identity policy cannot tell replicated records from original ones, so each circulates endlessly."
    if mixed:
        why += agreeing(
            len(ring) - len(identity),
            " In this ring, the flow[|s] with the default policy only add[s|] a prefix to the topic's name, which does "
            "not stop the record.",
        )
    if not topic:
        why += " It could not be decided whether any topic passes every flow of the ring."
    instead = f"set `policy: default` on {_names(identity)}, or " if mixed else "use `kind: prefixlessPair`, or "
    if any(flow.shape is Shape.PREFIXLESS_PAIR for flow in identity):
        instead = ""
    return Problem(
        ring[0].where("policy" if ring[0] in identity else "loopGuard"),
        "replication-loop",
        f"flows {'of both policies' if mixed else 'with identity policy'} form the ring {found}"
        + (f", for example for the topic `{topic}`" if topic else ""),
        why,
        f"set `loopGuard: true` on {_unguarded(ring)}, or {instead}select different topics.",
        Severity.ERROR if topic else Severity.WARNING,
    )


def _unguarded(ring: Sequence[ExpandedFlow]) -> str:
    unguarded = [flow for flow in ring if not flow.settings.loop_guard]
    others = [flow for flow in unguarded if flow.shape is not Shape.FLOW]
    return _names(unguarded) + (f" (as `kind: flow`: {_names(others)})" if others else "")


def _names(flows: Iterable[ExpandedFlow]) -> str:
    return ", ".join(dict.fromkeys(f"`{flow.replication}`" for flow in flows))
