"""The alert on records that a pair sends back: one that comes back is sent again, and again.

Each of the two flows writes into the topics that the other reads. While both drop what the other has written, they
together replicate no more records than are new in the topics of either side. What they replicate beyond that came back.
"""

from collections.abc import Iterable, Iterator, Sequence

from components.contract import exported_series as series
from components.flows.expansion import Shape
from components.flows.resolved import ResolvedFlow
from components.render.alerts import STATUS, Alert, of_flow, runs
from components.render.metrics import RECORD_COUNT

#: Minutes over which records are counted. The short one finds soon what circles; the long one finds also what comes
#: back only once, because its ends weigh less.
_WINDOWS = (10, 60)
#: New offsets are counted from so much earlier and until so much later than records: an exporter's look can be so much
#: older than a scrape of the workers.
_MARGIN_MINUTES = 2
#: `increase` extrapolates to the ends of its range.
_TOLERANCE = 1.1


def pair_alerts(flow: ResolvedFlow, flows: Iterable[ResolvedFlow], stack: str) -> Iterator[Alert]:
    """Yield the alert of a pair's flow if the stack has the other flow, too: it needs the series of both."""
    others = [each for each in flows if _is_other(each, flow)]
    if not others or not all(map(runs, (flow.settings, others[0].settings))):
        return
    both = [of_flow(each, stack) for each in (flow, others[0])]
    yield Alert(
        "MirrorRecordsReturn",
        "critical",
        "\nor ".join(_returned(both, minutes) for minutes in _WINDOWS),
        5,
        f"of the records of the last {_WINDOWS[0]} or {_WINDOWS[-1]} minutes, {{{{ $value }}}} or more came back",
        f"{flow.settings.target} gets back what it had sent to {flow.settings.source}: nothing drops such records.",
        STATUS,
    )


def _returned(both: Sequence[str], minutes: int) -> str:
    """The least number of records that came back over so many minutes; `both` select the series of the two flows."""
    replicated = " + ".join(
        f'sum(increase({RECORD_COUNT}{{{of},topic!~".*heartbeats"}}[{minutes}m] offset {_MARGIN_MINUTES}m))'
        for of in both
    )
    grown = minutes + 2 * _MARGIN_MINUTES
    # Records that waited before are new to the target only.
    waited = " - ".join(f"max(max_over_time({series.LAG_RECORDS.name}{{{of}}}[{grown}m]))" for of in both)
    ends = f"{series.SOURCE_ENDS.name}{{{both[0]}}}"
    new = f"{_TOLERANCE} * max({ends} - {ends} offset {grown}m)"
    # A topic that was deleted takes its ends with it, and how many are new is not known.
    return f"{replicated}\n- {waited}\n- {new} > 0\nand on () max(resets({ends}[{grown}m])) == 0"


def _is_other(each: ResolvedFlow, flow: ResolvedFlow) -> bool:
    pair = each.expanded.shape is Shape.PREFIXLESS_PAIR and each.expanded.replication == flow.expanded.replication
    return pair and each.name != flow.name
