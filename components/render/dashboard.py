"""The Grafana dashboard of a stack: each flow on one line, then the chosen flows, then their checkpoints.

Ages and latencies are maximums, because the slowest partition decides and a sum of ages means nothing. Panels on the
series of `replicate exporter` exist only if the topology asks for them. Source: Grafana's dashboard JSON model.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

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
_CHOSEN = 'stack="$stack",flow=~"$flow"'
_RECORDS = f'{RECORD_COUNT}{{{_CHOSEN},topic!~".*heartbeats"}}'
_HEARTBEATS = f'{RECORD_COUNT}{{{_CHOSEN},topic=~".*heartbeats"}}'
#: Kafka reports NaN for a partition without records in the last minute; NaN is not at least 0.
_LATENCY = f"{LATENCY_MAX}{{{_CHOSEN}}} >= 0"
#: A partition may have been reported by a worker that no longer runs its task. Workers also read their own topics.
_LAG = f'max by (flow, topic, partition) ({RECORDS_LAG}{{{_CHOSEN},client_id=~".*replication-consumer.*"}})'

#: Column of the overview -> its query and unit.
_OVERVIEW = {
    "Alerts": (f'count by (flow) (ALERTS{{alertname=~"Mirror.+",alertstate="firing",{_CHOSEN}}})', "none"),
    "Failed tasks": (f"sum by (flow) (max by (flow, connector) ({FAILED_TASKS}{{{_CHOSEN}}}))", "none"),
    "Running tasks": (f"sum by (flow) (max by (flow, connector) ({RUNNING_TASKS}{{{_CHOSEN}}}))", "none"),
    "Latency": (f"max by (flow) ({_LATENCY})", "ms"),
    "Waiting records": (f"sum by (flow) ({_LAG})", "short"),
    "Records per second": (f"sum by (flow) (rate({_RECORDS}[5m]))", "short"),
    "Heartbeats per minute": (f"sum by (flow) (increase({_HEARTBEATS}[5m])) / 5", "short"),
}
#: Title of a panel of the flows -> its query, legend and unit.
_FLOWS = {
    "Latency, slowest partition of each topic": (
        f"topk(20, max by (flow, topic) ({_LATENCY}))",
        "{{flow}} {{topic}}",
        "ms",
    ),
    "Records per second": (
        f"topk(20, sum by (flow, topic) (rate({_RECORDS}[5m])))",
        "{{flow}} {{topic}}",
        "short",
    ),
    "Records waiting on the source, worst partition of each topic": (
        f"topk(20, max by (flow, topic) ({_LAG}))",
        "{{flow}} {{topic}}",
        "short",
    ),
    "Failed tasks": (
        f"max by (flow, connector) ({FAILED_TASKS}{{{_CHOSEN}}})",
        "{{flow}} {{connector}}",
        "none",
    ),
}
_GROUPS = {
    "Age of checkpoints, all groups of a task together": (
        f"max by (flow) ({CHECKPOINT_LATENCY}{{{_CHOSEN}}})",
        "{{flow}}",
        "ms",
    ),
    "Groups with checkpoints": (
        f"count by (flow) (count by (flow, group) ({CHECKPOINT_LATENCY}{{{_CHOSEN}}}))",
        "{{flow}}",
        "none",
    ),
}


#: What the exporter adds to the overview, before the columns with Kafka's metrics.
_EXPORTED_OVERVIEW = {
    "Could fail over": (f"max by (flow) ({series.COULD_FAIL_OVER.name}{{{_CHOSEN}}})", "bool_yes_no"),
    "Oldest record not on the target": (f"max by (flow) ({series.LAG_SECONDS.name}{{{_CHOSEN}}})", "s"),
    "Records not on the target": (f"max by (flow) ({series.LAG_RECORDS.name}{{{_CHOSEN}}})", "short"),
    "Read again": (f"max by (flow) ({series.READ_AGAIN.name}{{{_CHOSEN}}})", "short"),
    "Last validation": (f"time() - max by (flow) ({series.VERDICT_TIME.name}{{{_CHOSEN}}})", "s"),
}
_EXPORTED = {
    "Oldest record that is not on the target, worst partitions": (
        f"topk(20, max by (flow, topic, partition) ({series.PARTITION_LAG_SECONDS.name}{{{_CHOSEN}}}))",
        "{{flow}} {{topic}}-{{partition}}",
        "s",
    ),
    "Records that are not on the target, same partitions": (
        f"topk(20, max by (flow, topic, partition) ({series.PARTITION_LAG_RECORDS.name}{{{_CHOSEN}}}))",
        "{{flow}} {{topic}}-{{partition}}",
        "short",
    ),
    "Records that groups would read again": (
        f"topk(20, max by (flow, group) ({series.GROUP_READ_AGAIN.name}{{{_CHOSEN}}}))",
        "{{flow}} {{group}}",
        "short",
    ),
    "Groups without a position on the target": (
        f"max by (flow) ({series.GROUPS_WITHOUT_POSITION.name}{{{_CHOSEN}}})",
        "{{flow}}",
        "none",
    ),
    "Newest validation": (
        f"max by (flow, {series.VERDICT.name}) ({series.VERDICT.name}{{{_CHOSEN}}}) > 0",
        f"{{{{flow}}}} {{{{{series.VERDICT.name}}}}}",
        "none",
    ),
    "Logins that a cluster refuses": (
        f"max by (flow, cluster) ({series.LOGIN_REFUSED.name}{{{_CHOSEN}}})",
        "{{flow}} on {{cluster}}",
        "none",
    ),
    "Time until certificates expire": (
        f"min by (secret, key) ({series.CERTIFICATE_EXPIRY.name}{{{_CHOSEN}}}) - time()",
        "{{secret}} {{key}}",
        "s",
    ),
    "Changed by hand": (f"max by (flow) ({series.DRIFT.name}{{{_CHOSEN}}})", "{{flow}}", "none"),
    "Questions without an answer": (
        f"max by (flow, what) ({series.UNASKED.name}{{{_CHOSEN}}}) > 0",
        "{{flow}} {{what}}",
        "none",
    ),
}


def dashboard(stack: str, flows: Sequence[str], *, exporter: bool = False) -> str:
    """Return the dashboard of a stack's flows as JSON; with `exporter`, also what `replicate exporter` sees of them."""
    columns = {**_EXPORTED_OVERVIEW, **_OVERVIEW} if exporter else _OVERVIEW
    panels = [_row("Overview", 0), _overview(columns, 1, 6 + len(flows)), _row("Flows", 40)]
    panels += [*_graphs(_FLOWS, 41), _row("Groups", 60), *_graphs(_GROUPS, 61)]
    if exporter:
        panels += [_row("As the exporter sees it", 80), *_graphs(_EXPORTED, 81)]
    numbered = [{"id": number, **panel} for number, panel in enumerate(panels, start=1)]
    document = {
        "uid": f"mirror-{hashlib.sha256(stack.encode()).hexdigest()[:12]}",
        "title": f"Kafka replication: {stack}",
        "tags": ["kafka-replication"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "1m",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_datasource(), _stack(stack), _flow(flows)]},
        "panels": numbered,
    }
    return json.dumps(document, indent=1) + "\n"


def _datasource() -> Json:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _stack(stack: str) -> Json:
    """A hidden constant: another stack can have a flow of the same name."""
    current = {"text": stack, "value": stack}
    return {"name": "stack", "type": "constant", "query": stack, "hide": 2, "current": current}


def _flow(flows: Sequence[str]) -> Json:
    """The variable that chooses flows; it lists their names itself, so a flow that reports nothing is also listed."""
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


def _overview(columns: Mapping[str, tuple[str, str]], top: int, height: int) -> Json:
    names = list(columns)
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _DATASOURCE,
            "expr": query,
            "instant": True,
            "range": False,
            "format": "table",
        }
        for index, (query, _) in enumerate(columns.values())
    ]
    renamed = {f"Value #{target['refId']}": name for target, name in zip(targets, names, strict=True)}
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
                    "matcher": {"id": "byName", "options": name},
                    "properties": [{"id": "unit", "value": unit}, *_colour(name)],
                }
                for name, (_, unit) in columns.items()
            ],
        },
        "options": {"showHeader": True},
    }


def _colour(column: str) -> list[Json]:
    """Any alert or failed task turns its cell red, and so does a flow that could not fail over."""
    colours = {"Alerts": ("green", "red"), "Failed tasks": ("green", "red"), "Could fail over": ("red", "green")}
    if column not in colours:
        return []
    below, from_one = colours[column]
    steps = [{"color": below, "value": None}, {"color": from_one, "value": 1}]
    return [
        {"id": "custom.cellOptions", "value": {"type": "color-background"}},
        {"id": "thresholds", "value": {"mode": "absolute", "steps": steps}},
    ]


def _graphs(graphs: dict[str, tuple[str, str, str]], top: int) -> list[Json]:
    half, height = _WIDTH // 2, 8
    return [
        {
            "type": "timeseries",
            "title": title,
            "datasource": _DATASOURCE,
            "gridPos": _place(half * (index % 2), top + height * (index // 2), half, height),
            "targets": [{"refId": "A", "datasource": _DATASOURCE, "expr": query, "legendFormat": legend}],
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        }
        for index, (title, (query, legend, unit)) in enumerate(graphs.items())
    ]


def _place(left: int, top: int, width: int, height: int) -> Json:
    return {"x": left, "y": top, "w": width, "h": height}
