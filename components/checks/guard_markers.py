"""None of the user's own transforms drops or writes a header by which loop guards recognize records. A guard drops the
records that come from its target, and recognizes them by a header that another guard has added. Only exact names count,
because Connect compares them literally.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow, Shape
from components.flows.naming import replication_policy
from components.flows.selections import topic_selection
from components.flows.sources import each_source, source_key
from components.kafka.overlap import Disjoint, overlap_of_selections
from components.kafka.record_forms import Step
from components.kafka.rings import prefixed
from components.kafka.transform_chains import HeaderUse, headers_used
from components.render.connector_config import marker_header
from components.topology.model import Flow


@dataclass(frozen=True)
class _Touch:
    """A user's transform that touches the marker of records from the cluster `alias`, at a path. `place` is where its
    chain stands: `before` the loop guard, or `after` it.
    """

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
                    yield _problem(touch, flow, guard)


def _touches(flow: ExpandedFlow, part: str, settings: Flow, markers: dict[str, str]) -> Iterator[_Touch]:
    for place, chain in (("before", settings.transforms.before), ("after", settings.transforms.after)):
        for name, transform in chain.items():
            for use in headers_used(Step(name, transform.type, transform.config)):
                if use.header in markers:
                    where = flow.where(source_key(flow.settings, part, f"transforms.{place}.{name}"))
                    yield _Touch(where, place, use, markers[use.header])


def _guard_that_needs(
    flow: ExpandedFlow, settings: Flow, alias: str, flows: Sequence[ExpandedFlow]
) -> ExpandedFlow | None:
    """The guarded flow that needs the marker of the cluster `alias` on records that this flow replicates.

    It is the flow itself, or a flow into that cluster that the records may reach.
    """
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
    """The clusters that records may reach from `start` without passing through `end`."""
    found, waiting = {start}, deque([start])
    while waiting:
        here = waiting.popleft()
        for target in (flow.settings.target for flow in flows if flow.settings.source == here):
            if target not in found and target != end:
                found.add(target)
                waiting.append(target)
    return found


def _problem(touch: _Touch, flow: ExpandedFlow, guard: ExpandedFlow) -> Problem:
    use, alias = touch.use, touch.alias
    knows = f"The loop guard of {guard.where()} drops records with this header, because they came from `{alias}`."
    if guard is flow and alias == flow.settings.source:
        knows = f"The loop guard adds this header so that the flow back to `{alias}` recognizes and drops the record."
    lost = "Without it, each record would circulate endlessly."
    # A pair's transforms are also in front of the guard of the flow back, which would drop every record.
    in_front_of_both = flow.shape is Shape.PREFIXLESS_PAIR and touch.place == "before"
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
