"""Rings of flows that keep topic names, through which a record would come back to where it was written. Pure.

MirrorMaker stops cycles by the prefix of a remote topic; the identity policy has none, so that only a guard stops them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spark.parameters import FlowParameters
from spark.selection import Selection


@dataclass(frozen=True)
class Ring:
    """The aliases from a flow's source round to it again, and the marks that guards on the way put on each record."""

    path: tuple[str, ...]
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " -> ".join(self.path)


def rings(flow: FlowParameters, flows: Sequence[FlowParameters], topics: Iterable[str]) -> dict[str, Ring]:
    """The ring that `flow` closes with others of `flows`, by those of its `topics` that nothing stops on the way."""
    if flow.policy != "identity":
        return {}
    selections = [(each, Selection(each)) for each in flows if each.policy == "identity"]
    found = {}
    # A name that looks like heartbeats gets a prefix, by which MirrorMaker stops its cycle.
    for topic in (each for each in topics if Selection(flow).remote(each) == each):
        ring = _ring(flow, [each for each, selection in selections if selection.topic(topic)])
        if ring is not None:
            found[topic] = ring
    return found


def _ring(flow: FlowParameters, carrying: Sequence[FlowParameters]) -> Ring | None:
    """A shortest way from the flow's target back to its source; no flow on it drops what one of `carrying` marks."""
    marks = {each.guard.mark for each in carrying if each.guard is not None}
    open_flows = [each for each in carrying if each.guard is None or each.guard.filter not in marks]
    if flow not in open_flows:
        return None
    ways: dict[str, tuple[FlowParameters, ...]] = {flow.target.alias: (flow,)}
    frontier = [flow.target.alias]
    while frontier and flow.source.alias not in ways:
        frontier = [
            each.target.alias
            for alias in frontier
            for each in open_flows
            if each.source.alias == alias and _first_way(ways, each)
        ]
    way = ways.get(flow.source.alias)
    if way is None:
        return None
    on_the_way = tuple(sorted({each.guard.mark for each in way if each.guard is not None}))
    return Ring((flow.source.alias, *(each.target.alias for each in way)), on_the_way)


def _first_way(ways: dict[str, tuple[FlowParameters, ...]], flow: FlowParameters) -> bool:
    """Whether `flow` is the first to reach its target; if so, the way there is noted."""
    if flow.target.alias in ways:
        return False
    ways[flow.target.alias] = (*ways[flow.source.alias], flow)
    return True
