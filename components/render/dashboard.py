"""The Grafana dashboard of a stack, with the tables of `dashboard.yaml`. Source: Grafana's dashboard JSON model."""

import functools
import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH = 24
_FLOWS = 'stack="$stack",flow=~"$flow"'


@functools.cache
def _tables() -> Mapping[str, Any]:
    text = Path(__file__).with_name("dashboard.yaml").read_text()
    tables: Mapping[str, Any] = yaml.safe_load(text.replace("@flows", _FLOWS))
    return tables


def dashboard(stack: str, flows: Sequence[str], *, exporter: bool = False) -> str:
    """Return the dashboard of a stack's flows as JSON; with `exporter`, also what `replicate exporter` sees of them."""
    tables = _tables()
    columns = [*(tables["overview_with_exporter"] if exporter else ()), *tables["overview"]]
    panels = [_row("Overview", 0), _overview(columns, 1, 6 + len(flows))]
    rows = tables["panels"] | (tables["panels_with_exporter"] if exporter else {})
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
        "templating": {"list": [*_constants(stack), _flow(flows)]},
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, start=1)],
    }
    return json.dumps(document, indent=1) + "\n"


def _constants(stack: str) -> list[Json]:
    """Return the data source and, hidden, the stack; another stack can have a flow of the same name."""
    current = {"text": stack, "value": stack}
    return [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        {"name": "stack", "type": "constant", "query": stack, "hide": 2, "current": current},
    ]


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


def _overview(columns: Sequence[Json], top: int, height: int) -> Json:
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _DATASOURCE,
            "expr": column["query"],
            "instant": True,
            "range": False,
            "format": "table",
        }
        for index, column in enumerate(columns)
    ]
    renamed = {f"Value #{target['refId']}": column["title"] for target, column in zip(targets, columns, strict=True)}
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
                    "matcher": {"id": "byName", "options": column["title"]},
                    "properties": [{"id": "unit", "value": column["unit"]}, *_background(column)],
                }
                for column in columns
            ],
        },
        "options": {"showHeader": True},
    }


def _background(column: Json) -> list[Json]:
    if "colours" not in column:
        return []
    below, from_one = column["colours"]
    steps = [{"color": below, "value": None}, {"color": from_one, "value": 1}]
    return [
        {"id": "custom.cellOptions", "value": {"type": "color-background"}},
        {"id": "thresholds", "value": {"mode": "absolute", "steps": steps}},
    ]


def _graphs(panels: Sequence[Json], top: int) -> list[Json]:
    half, height = _WIDTH // 2, 8
    return [
        {
            "type": "timeseries",
            "title": panel["title"],
            "datasource": _DATASOURCE,
            "gridPos": _place(half * (index % 2), top + height * (index // 2), half, height),
            "targets": [
                {"refId": "A", "datasource": _DATASOURCE, "expr": panel["query"], "legendFormat": panel["legend"]}
            ],
            "fieldConfig": {"defaults": {"unit": panel["unit"], "min": 0}, "overrides": []},
            "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        }
        for index, panel in enumerate(panels)
    ]


def _place(left: int, top: int, width: int, height: int) -> Json:
    return {"x": left, "y": top, "w": width, "h": height}
