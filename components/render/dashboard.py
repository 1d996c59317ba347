"""The Grafana dashboard of a stack: each flow on one line, then the chosen flows, then their checkpoints.

Ages and latencies are maximums, because the slowest partition decides and a sum of ages means nothing. Panels on the
series of `replicate exporter` exist only if the topology asks for them. Source: Grafana's dashboard JSON model.
"""

import hashlib
import itertools
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from components.contract import exported_series as series
from components.render.metrics import (
    CHECKPOINT_LATENCY,
    FAILED_TASKS,
    LATENCY_MAX,
    RECORD_COUNT,
    RECORDS_LAG,
    RUNNING_TASKS,
)

Json = dict[str, Any]

_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH = 24
_FLOWS = 'stack="$stack",flow=~"$flow"'
_RECORDS = f'{RECORD_COUNT}{{{_FLOWS},topic!~".*heartbeats"}}'
_HEARTBEATS = f'{RECORD_COUNT}{{{_FLOWS},topic=~".*heartbeats"}}'
#: Kafka reports NaN for a partition without records in the last minute; NaN is not at least 0.
_LATENCY = f"{LATENCY_MAX}{{{_FLOWS}}} >= 0"
#: A partition may have been reported by a worker that no longer runs its task. Workers also read their own topics.
_LAG = f'max by (flow, topic, partition) ({RECORDS_LAG}{{{_FLOWS},client_id=~".*replication-consumer.*"}})'


def _of(exported: series.ExportedSeries) -> str:
    return f"{exported.name}{{{_FLOWS}}}"


class Column(NamedTuple):
    """A column of the overview. A value from 1 on has the second of `colours`, a lower value the first."""

    title: str
    query: str
    unit: str
    colours: tuple[str, str] | None = None


class Panel(NamedTuple):
    """A graph over time."""

    title: str
    query: str
    legend: str
    unit: str


_OVERVIEW = (
    Column(
        "Alerts",
        f'count by (flow) (ALERTS{{alertname=~"Mirror.+",alertstate="firing",{_FLOWS}}})',
        "none",
        ("green", "red"),
    ),
    Column(
        "Failed tasks",
        f"sum by (flow) (max by (flow, connector) ({FAILED_TASKS}{{{_FLOWS}}}))",
        "none",
        ("green", "red"),
    ),
    Column("Running tasks", f"sum by (flow) (max by (flow, connector) ({RUNNING_TASKS}{{{_FLOWS}}}))", "none"),
    Column("Latency", f"max by (flow) ({_LATENCY})", "ms"),
    Column("Waiting records", f"sum by (flow) ({_LAG})", "short"),
    Column("Records per second", f"sum by (flow) (rate({_RECORDS}[5m]))", "short"),
    Column("Heartbeats per minute", f"sum by (flow) (increase({_HEARTBEATS}[5m])) / 5", "short"),
)
#: What the exporter adds to the overview, before the columns with Kafka's metrics.
_EXPORTED_OVERVIEW = (
    Column("Could fail over", f"max by (flow) ({_of(series.COULD_FAIL_OVER)})", "bool_yes_no", ("red", "green")),
    Column("Oldest record not on the target", f"max by (flow) ({_of(series.LAG_SECONDS)})", "s"),
    Column("Records not on the target", f"max by (flow) ({_of(series.LAG_RECORDS)})", "short"),
    Column("Read again", f"max by (flow) ({_of(series.READ_AGAIN)})", "short"),
    Column("Last validation", f"time() - max by (flow) ({_of(series.VERDICT_TIME)})", "s"),
)
#: Title of a row of the dashboard -> its panels.
_PANELS = {
    "Flows": (
        Panel(
            "Latency, slowest partition of each topic",
            f"topk(20, max by (flow, topic) ({_LATENCY}))",
            "{{flow}} {{topic}}",
            "ms",
        ),
        Panel(
            "Records per second",
            f"topk(20, sum by (flow, topic) (rate({_RECORDS}[5m])))",
            "{{flow}} {{topic}}",
            "short",
        ),
        Panel(
            "Records waiting on the source, worst partition of each topic",
            f"topk(20, max by (flow, topic) ({_LAG}))",
            "{{flow}} {{topic}}",
            "short",
        ),
        Panel(
            "Failed tasks", f"max by (flow, connector) ({FAILED_TASKS}{{{_FLOWS}}})", "{{flow}} {{connector}}", "none"
        ),
    ),
    "Groups": (
        Panel(
            "Age of checkpoints, all groups of a task together",
            f"max by (flow) ({CHECKPOINT_LATENCY}{{{_FLOWS}}})",
            "{{flow}}",
            "ms",
        ),
        Panel(
            "Groups with checkpoints",
            f"count by (flow) (count by (flow, group) ({CHECKPOINT_LATENCY}{{{_FLOWS}}}))",
            "{{flow}}",
            "none",
        ),
    ),
}
_EXPORTED_PANELS = {
    "As the exporter sees it": (
        Panel(
            "Oldest record that is not on the target, worst partitions",
            f"topk(20, max by (flow, topic, partition) ({_of(series.PARTITION_LAG_SECONDS)}))",
            "{{flow}} {{topic}}-{{partition}}",
            "s",
        ),
        Panel(
            "Records that are not on the target, same partitions",
            f"topk(20, max by (flow, topic, partition) ({_of(series.PARTITION_LAG_RECORDS)}))",
            "{{flow}} {{topic}}-{{partition}}",
            "short",
        ),
        Panel(
            "Records that groups would read again",
            f"topk(20, max by (flow, group) ({_of(series.GROUP_READ_AGAIN)}))",
            "{{flow}} {{group}}",
            "short",
        ),
        Panel(
            "Groups without a position on the target",
            f"max by (flow) ({_of(series.GROUPS_WITHOUT_POSITION)})",
            "{{flow}}",
            "none",
        ),
        Panel(
            "Newest validation",
            f"max by (flow, {series.VERDICT.name}) ({_of(series.VERDICT)}) > 0",
            f"{{{{flow}}}} {{{{{series.VERDICT.name}}}}}",
            "none",
        ),
        Panel(
            "Logins that a cluster refuses",
            f"max by (flow, cluster) ({_of(series.LOGIN_REFUSED)})",
            "{{flow}} on {{cluster}}",
            "none",
        ),
        Panel(
            "Time until certificates expire",
            f"min by (secret, key) ({_of(series.CERTIFICATE_EXPIRY)}) - time()",
            "{{secret}} {{key}}",
            "s",
        ),
        Panel("Changed by hand", f"max by (flow) ({_of(series.DRIFT)})", "{{flow}}", "none"),
        Panel(
            "Questions without an answer",
            f"max by (flow, what) ({_of(series.UNANSWERED)}) > 0",
            "{{flow}} {{what}}",
            "none",
        ),
    ),
}


def dashboard(stack: str, flows: Sequence[str], *, exporter: bool = False) -> str:
    """Return the dashboard of a stack's flows as JSON; with `exporter`, also what `replicate exporter` sees of them."""
    columns = (*(_EXPORTED_OVERVIEW if exporter else ()), *_OVERVIEW)
    panels = [_row("Overview", 0), _overview(columns, 1, 6 + len(flows))]
    rows = _PANELS | _EXPORTED_PANELS if exporter else _PANELS
    for top, (title, graphs) in zip(itertools.count(40, 20), rows.items(), strict=False):
        panels += [_row(title, top), *_graphs(graphs, top + 1)]
    document = {
        "uid": f"mirror-{hashlib.sha256(stack.encode()).hexdigest()[:12]}",
        "title": f"Kafka replication: {stack}",
        "tags": ["kafka-replication"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "1m",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_datasource(), _stack(stack), _flow(flows)]},
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, start=1)],
    }
    return json.dumps(document, indent=1) + "\n"


def _datasource() -> Json:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _stack(stack: str) -> Json:
    """Return the hidden constant; another stack can have a flow of the same name."""
    current = {"text": stack, "value": stack}
    return {"name": "stack", "type": "constant", "query": stack, "hide": 2, "current": current}


def _flow(flows: Sequence[str]) -> Json:
    """Return the variable that chooses flows. It lists their names itself, so a silent flow is also listed."""
    everything = {"selected": True, "text": "All", "value": "$__all"}
    options = [everything, *({"selected": False, "text": name, "value": name} for name in flows)]
    return {
        "name": "flow",
        "type": "custom",
        "label": "Flow",
        "query": ",".join(flows),
        "multi": True,
        "includeAll": True,
        "current": {"text": ["All"], "value": ["$__all"]},
        "options": options,
    }


def _row(title: str, top: int) -> Json:
    return {"type": "row", "title": title, "collapsed": False, "gridPos": _place(0, top, _WIDTH, 1), "panels": []}


def _overview(columns: Sequence[Column], top: int, height: int) -> Json:
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _DATASOURCE,
            "expr": column.query,
            "instant": True,
            "range": False,
            "format": "table",
        }
        for index, column in enumerate(columns)
    ]
    renamed = {f"Value #{target['refId']}": column.title for target, column in zip(targets, columns, strict=True)}
    return {
        "type": "table",
        "title": "Every flow",
        "datasource": _DATASOURCE,
        "gridPos": _place(0, top, _WIDTH, min(height, 30)),
        "targets": targets,
        "transformations": [
            {"id": "merge", "options": {}},
            {
                "id": "organize",
                "options": {"excludeByName": {"Time": True}, "renameByName": {"flow": "Flow", **renamed}},
            },
        ],
        "fieldConfig": {
            "defaults": {},
            "overrides": [
                {
                    "matcher": {"id": "byName", "options": column.title},
                    "properties": [{"id": "unit", "value": column.unit}, *_background(column)],
                }
                for column in columns
            ],
        },
        "options": {"showHeader": True},
    }


def _background(column: Column) -> list[Json]:
    if column.colours is None:
        return []
    below, from_one = column.colours
    steps = [{"color": below, "value": None}, {"color": from_one, "value": 1}]
    return [
        {"id": "custom.cellOptions", "value": {"type": "color-background"}},
        {"id": "thresholds", "value": {"mode": "absolute", "steps": steps}},
    ]


def _graphs(panels: Sequence[Panel], top: int) -> list[Json]:
    half, height = _WIDTH // 2, 8
    return [
        {
            "type": "timeseries",
            "title": panel.title,
            "datasource": _DATASOURCE,
            "gridPos": _place(half * (index % 2), top + height * (index // 2), half, height),
            "targets": [{"refId": "A", "datasource": _DATASOURCE, "expr": panel.query, "legendFormat": panel.legend}],
            "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
            "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        }
        for index, panel in enumerate(panels)
    ]


def _place(left: int, top: int, width: int, height: int) -> Json:
    return {"x": left, "y": top, "w": width, "h": height}
