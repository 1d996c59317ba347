"""The alert on records that a pair sends back; a record that comes back is sent again and again. Each of the two flows
writes to the topics that the other reads. As long as each drops the records that the other wrote, both together
replicate no more records than appear in the topics of either side. Any additional records came back.
"""

from collections.abc import Iterable, Iterator, Sequence

from components.contract import exported_series as series
from components.flows.expansion import Shape
from components.flows.resolved import ResolvedFlow
from components.render.alerts import STATUS, Alert, of_flow, runs
from components.render.metrics import RECORD_COUNT

#: Minutes over which records are counted. The short one soon finds circling records; the long one also finds records
#: that come back only once, because its ends weigh less.
_WINDOWS = (10, 60)
#: New offsets are counted over a longer time than records: from this much earlier until this much later. The exporter's
#: values can be this much older than those of the workers.
_MARGIN_MINUTES = 2
#: `increase` extrapolates to the ends of its range.
_TOLERANCE = 1.1


def pair_alerts(flow: ResolvedFlow, flows: Iterable[ResolvedFlow], stack: str) -> Iterator[Alert]:
    """Yield the alert of a pair's flow if the stack also has the other flow: it needs the series of both."""
    others = [each for each in flows if _is_other(each, flow)]
    if not others or not all(map(runs, (flow.settings, others[0].settings))):
        return
    both = [of_flow(each, stack) for each in (flow, others[0])]
    yield Alert(
        "MirrorRecordsReturn",
        "critical",
        "\nor ".join(_returned(both, minutes) for minutes in _WINDOWS),
        5,
        f"at least {{{{ $value }}}} records came back in the last {_WINDOWS[0]} or {_WINDOWS[-1]} minutes",
        f"{flow.settings.source} or {flow.settings.target} receives its own records back, because the loop guard does "
        "not drop them.",
        STATUS,
    )


def _returned(both: Sequence[str], minutes: int) -> str:
    """The least number of records that came back in this many minutes; `both` select the series of the two flows."""
    replicated = " + ".join(
        f'sum(increase({RECORD_COUNT}{{{of},topic!~".*heartbeats"}}[{minutes}m] offset {_MARGIN_MINUTES}m))'
        for of in both
    )
    grown = minutes + 2 * _MARGIN_MINUTES
    # Records that already waited on the source are new only on the target.
    waited = " - ".join(f"max(max_over_time({series.LAG_RECORDS.name}{{{of}}}[{grown}m]))" for of in both)
    ends = f"{series.SOURCE_ENDS.name}{{{both[0]}}}"
    new = f"{_TOLERANCE} * max({ends} - {ends} offset {grown}m)"
    # A deleted topic takes its end offsets with it, so the number of new records is not known.
    return f"{replicated}\n- {waited}\n- {new} > 0\nand on () max(resets({ends}[{grown}m])) == 0"


def _is_other(each: ResolvedFlow, flow: ResolvedFlow) -> bool:
    pair = each.expanded.shape is Shape.PREFIXLESS_PAIR and each.expanded.replication == flow.expanded.replication
    return pair and each.name != flow.name
