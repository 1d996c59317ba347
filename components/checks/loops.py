"""Loops: rings of flows through which a record returns to the cluster where it was produced, and transforms that touch
the headers by which loop guards stop it.

Under the identity policy a topic's name does not show that a record was replicated, so only a loop guard on every flow
of the ring stops the record. A flow with the default policy does not help: it recognizes only its own prefixes and adds
one more on each round. Guarded rings are safe at any length: each flow marks what it replicates, and the flow that
would bring a record home drops it.

A guard recognizes the records of its target by a header that another guard has added. Only exact names of headers
count, because Connect compares them literally.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.contract.problems import Problem, Severity
from kafka_replication.components.contract.wording import agreeing
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.selections import all_topics, each_source, source_key, topic_selection
from kafka_replication.components.kafka.cycles import (
    Cycle,
    Leg,
    cycle_of_selections,
    legs_by_source,
    may_begin_growing_cycle,
    prefixed,
    takes_longer_names,
    topic_that_circulates,
)
from kafka_replication.components.kafka.overlap import Disjoint, overlap_of_selections
from kafka_replication.components.kafka.record_forms import Step
from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.kafka.transform_chains import HeaderUse, headers_used
from kafka_replication.components.render.connector_config import marker_header
from kafka_replication.components.topology.model import Flow


def check_loops(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No unguarded flow is in a ring that shares a topic, unless all have the default policy, which ends the ring."""
    by_name = {flow.name: flow for flow in flows}
    reported: set[frozenset[str]] = set()
    for ring in _rings(flows):
        if (names := frozenset(leg.flow for leg in ring.legs)) not in reported:
            reported.add(names)
            yield _loop(ring, by_name)


def _rings(flows: Sequence[ExpandedFlow]) -> Iterator[Cycle]:
    """Yield a ring through each unguarded flow that is in one."""
    legs = {
        flow.name: Leg(flow.name, replication_policy(flow.settings), topic_selection(flow.settings, flow.kafka))
        for flow in flows
    }
    by_source = legs_by_source(legs.values())
    identity = [flow for flow in flows if not flow.settings.loop_guard and flow.settings.policy is Policy.IDENTITY]
    rings = [cycle_of_selections(legs[flow.name], by_source) for flow in identity]
    # The rings through an unguarded flow with the identity policy have been found by now.
    others = [flow for flow in flows if flow.settings.loop_guard or flow.settings.policy is not Policy.IDENTITY]
    growing = legs_by_source(legs[flow.name] for flow in others if takes_longer_names(legs[flow.name]))
    unguarded = [legs[flow.name] for flow in others if not flow.settings.loop_guard]
    rings += [cycle_of_selections(leg, growing) for leg in unguarded if may_begin_growing_cycle(leg, growing)]
    return (ring for ring in rings if ring is not None)


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


def _loop(cycle: Cycle, flows: Mapping[str, ExpandedFlow]) -> Problem:
    ring = [flows[leg.flow] for leg in cycle.legs]
    topic = topic_that_circulates(cycle)
    identity = [flow for flow in ring if flow.settings.policy is Policy.IDENTITY]
    if not identity and len({flow.settings.separator for flow in ring}) > 1:
        return _separators(cycle, ring, topic)
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
    if any(flow.shape is FlowShape.PREFIXLESS_PAIR for flow in identity):
        instead = ""
    guard = f"set `loopGuard: true` on {_unguarded(ring)}"
    if len(ring) == 2 and any(flow.settings.groups for flow in ring):
        guard += " with the same `topics`, and with `connectors.checkpoint.enabled: false` instead of `groups`"
    return Problem(
        ring[0].where("policy" if ring[0] in identity else "loopGuard"),
        "replication-loop",
        f"flows {'of both policies' if mixed else 'with identity policy'} form the ring {cycle}"
        + (f", for example for the topic `{topic}`" if topic else ""),
        why,
        f"{guard}, or {instead}select different topics.",
        Severity.ERROR if topic else Severity.WARNING,
    )


def _separators(cycle: Cycle, ring: Sequence[ExpandedFlow], topic: str | None) -> Problem:
    separators = " or ".join(dict.fromkeys(f"`{flow.settings.separator}`" for flow in ring))
    return Problem(
        ring[0].where("separator"),
        "replication-loop",
        f"flows with the default policy and different separators form the ring {cycle}"
        + (f", for example for the topic `{topic}`" if topic else ""),
        f"Each flow recognizes remote topics by its own separator, here {separators}. So it takes the topics that the "
        "others wrote for original ones, and each round adds a prefix.",
        f"set the same `separator` on {_names(ring)}, or select different topics.",
        Severity.ERROR if topic else Severity.WARNING,
    )


def _unguarded(ring: Sequence[ExpandedFlow]) -> str:
    unguarded = [flow for flow in ring if not flow.settings.loop_guard]
    others = [flow for flow in unguarded if flow.shape is not FlowShape.FLOW]
    return _names(unguarded) + (f" (as `kind: flow`: {_names(others)})" if others else "")


def _names(flows: Iterable[ExpandedFlow]) -> str:
    return ", ".join(dict.fromkeys(f"`{flow.replication}`" for flow in flows))


@dataclass(frozen=True)
class _Touch:
    """A transform, `before` or `after` the loop guard, that touches the marker of records from the cluster `alias`."""

    where: str
    place: str
    use: HeaderUse
    alias: str


def check_guard_markers(flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No transform drops or writes a header by which the guard of this flow, or of a later one, recognizes records."""
    guarded = [flow for flow in flows if flow.settings.loop_guard]
    if not guarded:
        return
    aliases = {alias for flow in guarded for alias in (flow.settings.source, flow.settings.target)}
    markers = {marker_header(alias): alias for alias in aliases}
    told: set[tuple[str, str]] = set()
    for flow in flows:
        for part, settings in each_source(flow.settings):
            for touch in _touches(flow, part, settings, markers):
                guard = _guard_that_needs(flow, settings, touch.alias, flows)
                if guard is not None and (touch.where, touch.alias) not in told:
                    told.add((touch.where, touch.alias))
                    yield _marker_touched(touch, flow, guard)


def _touches(flow: ExpandedFlow, part: str, settings: Flow, markers: dict[str, str]) -> Iterator[_Touch]:
    for place, name, transform in settings.transforms.in_order():
        for use in headers_used(Step(name, transform.type, transform.config)):
            if use.header in markers:
                where = flow.where(source_key(flow.settings, part, f"transforms.{place}.{name}"))
                yield _Touch(where, place, use, markers[use.header])


def _guard_that_needs(
    flow: ExpandedFlow, settings: Flow, alias: str, flows: Sequence[ExpandedFlow]
) -> ExpandedFlow | None:
    """Return the guarded flow, this or one that its records may reach, that needs the marker of the cluster `alias`."""
    if settings.loop_guard and alias in (settings.source, settings.target):
        return flow
    selected = prefixed(topic_selection(settings, flow.kafka), replication_policy(settings).prefix_of(""))
    for guard in flows:
        own = guard.settings
        if not own.loop_guard or own.target != alias or own.source not in _reached(settings.target, alias, flows):
            continue
        if not isinstance(overlap_of_selections(selected, topic_selection(own, guard.kafka)), Disjoint):
            return guard
    return None


def _reached(start: str, end: str, flows: Sequence[ExpandedFlow]) -> set[str]:
    """Return the clusters that records may reach from `start` without passing through `end`."""
    clusters = [start]
    for here in clusters:
        clusters += {flow.settings.target for flow in flows if flow.settings.source == here} - {*clusters, end}
    return set(clusters)


def _marker_touched(touch: _Touch, flow: ExpandedFlow, guard: ExpandedFlow) -> Problem:
    use, alias = touch.use, touch.alias
    knows = f"The loop guard of {guard.where()} drops records with this header, because they came from `{alias}`."
    if guard is flow and alias == flow.settings.source:
        knows = f"The loop guard adds this header so that the flow back to `{alias}` recognizes and drops the record."
    lost = "Without it, each record would circulate endlessly."
    # A pair's transforms are also in front of the guard of the flow back, which would drop every record.
    in_front_of_both = flow.shape is FlowShape.PREFIXLESS_PAIR and touch.place == "before"
    if use.writes and alias == flow.settings.source and not in_front_of_both:
        lost = "With `loopGuard: true`, this flow adds the header itself."
        if guard is flow:
            lost = "It adds the header itself, so no transform needs to write it."
    elif use.writes:
        lost = f"Records that did not come from `{alias}` would be dropped too, so `{alias}` would lack them."
    remedy = f"take `{use.header}` out of `headers`" if use.is_listed else "choose another header"
    return Problem(
        touch.where,
        "guard-marker-touched",
        f"the transform {'writes' if use.writes else 'drops'} the header `{use.header}`",
        f"{knows} {lost}",
        f"{remedy}; only the loop guard may touch headers that begin with `{marker_header('')}`.",
    )
