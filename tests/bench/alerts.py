"""Each alert of a flow, on series of a flow that is well but for one trouble: it fires, and no other does.

The dashboard's queries are parsed, too.

`make alerts` runs it; it needs `promtool`, Prometheus' own tool (Debian's package `prometheus` has it). Building it
takes a quarter of an hour, so `make test` does not run this.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from components.render import metrics
from components.render.dashboard import dashboard
from components.render.monitoring import monitoring_objects
from components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology

_MINUTES = 60
_LABELS = 'flow="orders",source="useast",target="uswest"'
_HEARTBEATS = f'{metrics.RECORD_COUNT}{{{_LABELS},topic="useast.heartbeats",partition="0"}}'
_RECORDS = [f'{metrics.RECORD_COUNT}{{{_LABELS},topic="useast.orders",partition="{each}"}}' for each in (0, 1)]
_LATENCIES = [f'{metrics.LATENCY_MAX}{{{_LABELS},topic="useast.orders",partition="{each}"}}' for each in (0, 1)]
_LAGS = [f'{metrics.RECORDS_LAG}{{flow="orders",topic="orders",partition="{each}"}}' for each in (0, 1)]
_FAILED = f'{metrics.FAILED_TASKS}{{flow="orders",connector="orders-source"}}'
_CHECKPOINTS = f'{metrics.RUNNING_TASKS}{{flow="orders",connector="orders-checkpoint"}}'

#: Kafka reports no latency, as NaN, of a partition without records.
_NO_VALUE = " ".join(["NaN"] * _MINUTES)
#: A flow that is well: a heartbeat each second, records in two partitions, of which one always has some waiting.
_WELL = {
    _HEARTBEATS: f"0+60x{_MINUTES}",
    _RECORDS[0]: f"0+100x{_MINUTES}",
    _RECORDS[1]: f"0+100x{_MINUTES}",
    _LATENCIES[0]: f"250x{_MINUTES}",
    _LATENCIES[1]: _NO_VALUE,
    _LAGS[0]: f"0x{_MINUTES}",
    _LAGS[1]: f"5x{_MINUTES}",
    _FAILED: f"0x{_MINUTES}",
    _CHECKPOINTS: f"1x{_MINUTES}",
}


@dataclass(frozen=True)
class Trouble:
    """Series that differ from those of a flow that is well (None: missing), and the alert that fires."""

    series: Mapping[str, str | None]
    alert: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    value: str = ""


_TROUBLES = {
    "all is well": Trouble({}),
    "no records are due": Trouble(dict.fromkeys(_RECORDS, f"100x{_MINUTES}") | {_LAGS[1]: f"0x{_MINUTES}"}),
    "heartbeats stop": Trouble({_HEARTBEATS: f"1000x{_MINUTES}"}, "MirrorHeartbeatSilent"),
    "no heartbeat ever came": Trouble({_HEARTBEATS: None}, "MirrorHeartbeatSilent"),
    "one partition is slow": Trouble({_LATENCIES[0]: f"45000x{_MINUTES}"}, "MirrorLatencyHigh", value="45s"),
    "a task fails": Trouble({_FAILED: f"1x{_MINUTES}"}, "MirrorTaskFailed", (("connector", "orders-source"),)),
    "the checkpoint task is lost": Trouble({_CHECKPOINTS: f"0x{_MINUTES}"}, "MirrorCheckpointsMissing"),
    "no checkpoint task was ever there": Trouble({_CHECKPOINTS: None}, "MirrorCheckpointsMissing"),
    "no worker is scraped": Trouble(dict.fromkeys(_WELL), "MirrorMetricsAbsent"),
}


def main() -> int:
    promtool = shutil.which("promtool")
    if promtool is None:
        print("`promtool` is not on PATH; Debian's package `prometheus` has it")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        rules = _rules()
        Path(folder, "rules.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
        Path(folder, "panels.yaml").write_text(yaml.safe_dump(_panels()), encoding="utf-8")
        by_name = {rule["alert"]: rule for rule in rules["groups"][0]["rules"]}
        tests = [_test(name, trouble, by_name) for name, trouble in _TROUBLES.items()]
        document = {"rule_files": ["rules.yaml"], "tests": tests}
        Path(folder, "tests.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        for command in (("check", "rules", "rules.yaml", "panels.yaml"), ("test", "rules", "tests.yaml")):
            if code := subprocess.run([promtool, *command], cwd=folder, check=False).returncode:
                return code
    print(f"{len(by_name)} alerts, {len(_TROUBLES)} cases")
    return 0


def _rules() -> dict[str, Any]:
    flow = a_flow(connect={"metrics": {"type": "jmxPrometheusExporter"}}, objectives={"lagSeconds": 30})
    topology = parse_topology(a_topology(flow, monitoring={"namespace": "monitoring"}))
    (rules,) = (
        planned.manifest for planned in monitoring_objects(topology, "prod", None) if planned.kind == "PrometheusRule"
    )
    spec: dict[str, Any] = rules["spec"]
    return spec


def _panels() -> dict[str, Any]:
    """The dashboard's queries as recording rules, the only form in which promtool parses a query."""
    panels = json.loads(dashboard("prod", ["orders"]))["panels"]
    queries = [target["expr"].replace("$flow", "orders") for panel in panels for target in panel.get("targets", ())]
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(queries)]
    return {"groups": [{"name": "dashboard", "rules": rules}]}


def _test(name: str, trouble: Trouble, rules: dict[str, dict[str, Any]]) -> dict[str, Any]:
    series = {**_WELL, **trouble.series}
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series.items() if values is not None],
        "alert_rule_test": [
            {
                "eval_time": f"{_MINUTES - 10}m",
                "alertname": alert,
                "exp_alerts": [_expected(rule, trouble)] if alert == trouble.alert else [],
            }
            for alert, rule in rules.items()
        ],
    }


def _expected(rule: dict[str, Any], trouble: Trouble) -> dict[str, Any]:
    said = {"$value | humanizeDuration": trouble.value, "$value": trouble.value}
    said |= {f"$labels.{name}": value for name, value in trouble.labels}
    annotations = dict(rule["annotations"])
    for template, value in said.items():
        annotations = {key: text.replace(f"{{{{ {template} }}}}", value) for key, text in annotations.items()}
    return {"exp_labels": {**rule["labels"], **dict(trouble.labels)}, "exp_annotations": annotations}


if __name__ == "__main__":
    sys.exit(main())
