"""The map of a report: one line for each cluster, one arrow for each flow. Pure; the page's template draws it."""

from dataclasses import dataclass

from components.contract.report import FlowOutcome, Verdict

_CHARACTER, _ROW, _TOP, _MARGIN = 7.6, 58, 58, 74
_NARROWEST = 216


@dataclass(frozen=True)
class Line:
    """A cluster at `x`; `box` is the width of its name's box. All lengths are in units of the drawing."""

    name: str
    x: float
    box: float


@dataclass(frozen=True)
class Arrow:
    """A flow from `start` to `end` at the height `y`. `checks` names the checks that did not pass."""

    flow: FlowOutcome
    start: float
    end: float
    y: float
    checks: str

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2

    @property
    def tip(self) -> float:
        """Where the shaft ends, so that the head ends at the cluster's line."""
        return self.end - 9 if self.end > self.start else self.end + 9


@dataclass(frozen=True)
class FlowMap:
    width: float
    height: float
    lines: tuple[Line, ...]
    arrows: tuple[Arrow, ...]


def flow_map(flows: tuple[FlowOutcome, ...]) -> FlowMap:
    """Clusters from left to right in the order in which the flows name them, flows from top to bottom."""
    names = list(dict.fromkeys(alias for flow in flows for alias in (flow.source, flow.target)))
    labels = [max(len(flow.name) + 10, len(_checks(flow))) for flow in flows]
    box = max((len(name) for name in names), default=0) * _CHARACTER + 28
    step = max(_NARROWEST, box + 24, *(label * _CHARACTER + 24 for label in labels)) if labels else _NARROWEST
    margin = max(_MARGIN, box / 2 + 4)
    at = {name: margin + index * step for index, name in enumerate(names)}
    arrows = [
        Arrow(flow, at[flow.source], at[flow.target], _TOP + 30 + index * _ROW, _checks(flow))
        for index, flow in enumerate(flows)
    ]
    return FlowMap(
        2 * margin + step * max(0, len(names) - 1),
        _TOP + 20 + _ROW * len(flows),
        tuple(Line(name, x, box) for name, x in at.items()),
        tuple(arrows),
    )


def _checks(flow: FlowOutcome) -> str:
    if flow.error is not None:
        return flow.error.code
    return ", ".join(each.name for each in flow.checks if each.verdict is not Verdict.PASS)
