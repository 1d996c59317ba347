"""Tests each alert of a flow on the series of a flow that is healthy except for one trouble: only that alert fires.

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

from kafka_replication.components.contract import exported_series as series
from kafka_replication.components.contract.exported_series import ExportedSeries
from kafka_replication.components.render import metrics
from kafka_replication.components.render.dashboard import dashboard
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.operate.status.exporter import families
from tests.bench.alerts_of_pairs import pair_tests
from tests.builders import a_flow, a_topology
from tests.infra.operate.status.exported import a_document, a_lag, a_status, behind

_MINUTES = 80
_EVALUATED_SECONDS = (_MINUTES - 10) * 60
_FLOW = 'stack="prod",flow="orders"'
_LABELS = f'{_FLOW},source="useast",target="uswest"'
_HEARTBEATS = f'{metrics.RECORD_COUNT}{{{_LABELS},topic="useast.heartbeats",partition="0"}}'
_RECORDS = [f'{metrics.RECORD_COUNT}{{{_LABELS},topic="useast.orders",partition="{each}"}}' for each in (0, 1)]
_LATENCIES = [f'{metrics.LATENCY_MAX}{{{_LABELS},topic="useast.orders",partition="{each}"}}' for each in (0, 1)]
_LAGS = [f'{metrics.RECORDS_LAG}{{{_FLOW},topic="orders",partition="{each}"}}' for each in (0, 1)]
_LOCKED = 'strimzi_reconciliations_locked_total{kind="KafkaConnect",namespace="%s"}'
_FAILED = f'{metrics.FAILED_TASKS}{{{_FLOW},connector="orders-source"}}'
_CHECKPOINTS = f'{metrics.RUNNING_TASKS}{{{_FLOW},connector="orders-checkpoint"}}'

#: Kafka reports the latency of a partition without records as NaN.
_NO_VALUE = " ".join(["NaN"] * _MINUTES)
#: A healthy flow: a heartbeat each second, and records in two partitions, one of which always has records waiting.
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


def _exported() -> dict[str, float]:
    """What the exporter serves for a healthy flow, by series: one partition is a little behind.

    Prometheus' tests start in 1970, so the validation is not old.
    """
    flow = a_status(lag=a_lag([behind("orders-0", 5, 30)]))
    found = families(a_document(flow), worst=20, drift={"prod": {}})
    samples = [sample for metric in found for sample in metric.samples]
    return {f"{each.name}{{{_written(each.labels)}}}": each.value for each in samples}


def _written(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={json.dumps(label)}" for key, label in labels.items())


_EXPORTED = {name: f"{value:g}x{_MINUTES}" for name, value in _exported().items()}
#: A partition with waiting records makes progress.
_POSITION = next(name for name in _EXPORTED if name.startswith(f"{series.PARTITION_POSITION.name}{{"))
_EXPORTED[_POSITION] = f"70+60x{_MINUTES}"
_WELL |= _EXPORTED


def _of(series: ExportedSeries, **labels: str) -> str:
    """The series of the healthy flow with these labels."""
    found = [
        each
        for each in _EXPORTED
        if each.startswith(f"{series.name}{{") and all(f'{key}="{value}"' in each for key, value in labels.items())
    ]
    (name,) = found
    return name


def _always(value: float) -> str:
    return f"{value:g}x{_MINUTES}"


def _verdict(of: str) -> dict[str, str | None]:
    return {_of(series.VERDICT, mirror_verdict=each): _always(each == of) for each in ("pass", of)}


@dataclass(frozen=True)
class Trouble:
    """Series that differ from those of a healthy flow (None: missing), and the alert that fires.

    Other alerts may be consequences of the same trouble; those in `also` may fire or not.
    """

    series: Mapping[str, str | None]
    alert: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    value: str = ""
    also: str = ""


_CERTIFICATE = (("cluster", "useast"), ("secret", "mirror-orders/useast-client"), ("key", "user.crt"))
_TROUBLES = {
    "all is well": Trouble({}),
    "no records are due": Trouble(dict.fromkeys(_RECORDS, f"100x{_MINUTES}") | {_LAGS[1]: f"0x{_MINUTES}"}),
    "heartbeats stop": Trouble({_HEARTBEATS: f"1000x{_MINUTES}"}, "MirrorHeartbeatSilent"),
    "no heartbeat ever came": Trouble({_HEARTBEATS: None}, "MirrorHeartbeatSilent"),
    "one partition is slow": Trouble({_LATENCIES[0]: f"45000x{_MINUTES}"}, "MirrorLatencyHigh", value="45s"),
    "a task fails": Trouble({_FAILED: f"1x{_MINUTES}"}, "MirrorTaskFailed", (("connector", "orders-source"),)),
    "the checkpoint task is lost": Trouble({_CHECKPOINTS: f"0x{_MINUTES}"}, "MirrorCheckpointsMissing"),
    "no checkpoint task was ever there": Trouble({_CHECKPOINTS: None}, "MirrorCheckpointsMissing"),
    "no worker is scraped": Trouble(dict.fromkeys(_WELL.keys() - _EXPORTED.keys()), "MirrorMetricsAbsent"),
    "the exporter is not scraped": Trouble(dict.fromkeys(_EXPORTED), "MirrorExporterAbsent"),
    "the looks hang": Trouble(
        {name: None for name in _EXPORTED if not name.startswith(series.LOOK_TIME.name)}, "MirrorExporterAbsent"
    ),
    "the source does not answer": Trouble(
        {
            **{name: None for name in _EXPORTED if "_lag_" in name or "_again_" in name or "_groups" in name},
            _of(series.UNANSWERED, what="lag"): _always(1),
        },
        "MirrorNotAsked",
        (("what", "lag"),),
    ),
    "a remote topic was deleted": Trouble({_of(series.MISSING_TOPICS): _always(1)}, "MirrorTopicMissing", value="1"),
    "one partition stands still": Trouble(
        {
            _of(series.PARTITION_LAG_SECONDS): f"0+60x{_MINUTES}",
            _of(series.LAG_SECONDS): f"0+60x{_MINUTES}",
            _of(series.PARTITION_POSITION): _always(70),
        },
        "MirrorPartitionStalled",
        value="1",
        also="MirrorLagHigh",
    ),
    "records of one old timestamp cross": Trouble(
        {_of(series.PARTITION_LAG_SECONDS): f"0+60x{_MINUTES}", _of(series.LAG_SECONDS): _always(0)}
    ),
    "a partition is behind at times, and idle": Trouble({_of(series.PARTITION_POSITION): "_x9 70 _x60"}),
    "all is far behind, and moves": Trouble(
        {_of(series.PARTITION_LAG_SECONDS): _always(400), _of(series.LAG_SECONDS): _always(400)},
        "MirrorLagHigh",
        value="6m 40s",
    ),
    "more is produced than is replicated": Trouble(
        {_of(series.LAG_RECORDS): f"0+1000x{_MINUTES}"}, "MirrorLagGrowing", value="60000"
    ),
    "ever more is produced, and all of it crosses": Trouble({_of(series.LAG_RECORDS): f"0+5x{_MINUTES}"}),
    "much waits at times": Trouble({_of(series.LAG_RECORDS): " ".join(["0x9 50000x9"] * (_MINUTES // 20))}),
    "all stands still while records come": Trouble(
        dict.fromkeys(_RECORDS, f"100x{_MINUTES}") | {_of(series.LAG_RECORDS): f"0+1000x{_MINUTES}"}
    ),
    "offsets are committed a minute late": Trouble({_of(series.LAG_SECONDS): _always(140)}),
    "a group would read too much again": Trouble(
        {_of(series.GROUP_READ_AGAIN): _always(1001)},
        "MirrorReadAgainHigh",
        (("group", "checkout-web"),),
        value="1001",
    ),
    "retention is near": Trouble({_of(series.NEAR_DELETION): _always(2)}, "MirrorRetentionNear", value="2"),
    "retention overtook the flow half an hour ago": Trouble(
        {_of(series.LOST_OFFSETS): f"0x{_MINUTES - 40} 30 0x38"}, "MirrorRecordsLost", value="30"
    ),
    "a connector stopped at a gap": Trouble(
        {_of(series.STOPPED_PARTITIONS): _always(2)}, "MirrorStoppedAtGap", value="2"
    ),
    "a topic was created again": Trouble(
        {_of(series.RECREATED_TOPICS): _always(1)}, "MirrorTopicRecreated", (("cluster", "useast"),), value="1"
    ),
    "a log lost its end and grew again": Trouble(
        {_of(series.CUT_PARTITIONS): f"0x{_MINUTES - 40} 2 0x38"}, "MirrorLogCut", (("cluster", "useast"),), value="2"
    ),
    "the keeper ended": Trouble({_of(series.KEPT_AGE): _always(400)}, "MirrorPositionsOutdated", value="6m 40s"),
    "the keeper looks": Trouble({_of(series.KEPT_AGE): _always(20)}),
    "a group has no position": Trouble(
        {_of(series.GROUPS_WITHOUT_POSITION): _always(1)}, "MirrorGroupWithoutPosition", value="1"
    ),
    "the validation failed": Trouble(_verdict("fail"), "MirrorVerdictFailed"),
    "the validation could not run": Trouble(_verdict("error"), "MirrorVerdictFailed"),
    "nobody ever validated": Trouble(
        {**_verdict("none"), _of(series.VERDICT_TIME): None, _of(series.VERDICT_CURRENT): None}, "MirrorVerdictStale"
    ),
    "the source refuses the login": Trouble(
        {
            **dict.fromkeys((*_RECORDS, *_LATENCIES, *_LAGS, _HEARTBEATS)),
            **{name: None for name in _EXPORTED if "_lag_" in name or "_again_" in name or "_groups" in name},
            _FAILED: _always(1),
            _CHECKPOINTS: _always(0),
            _of(series.UNANSWERED, what="lag"): _always(1),
            _of(series.LOGIN_REFUSED): _always(1),
        },
        "MirrorLoginRefused",
        (("cluster", "useast"),),
    ),
    "the source refuses a certificate that has expired": Trouble(
        {_of(series.LOGIN_REFUSED): _always(1), _of(series.CERTIFICATE_EXPIRY): _always(600)},
        "MirrorCertificateExpired",
        _CERTIFICATE,
    ),
    "a certificate has expired, and nobody tries it": Trouble(
        {_of(series.LOGIN_REFUSED): None, _of(series.CERTIFICATE_EXPIRY): _always(600)},
        "MirrorCertificateExpired",
        _CERTIFICATE,
    ),
    "an old certificate in a bundle has expired": Trouble({_of(series.CERTIFICATE_EXPIRY): _always(600)}),
    "a certificate expires in ten days": Trouble(
        {_of(series.CERTIFICATE_EXPIRY): _always(10 * 86_400 + _EVALUATED_SECONDS)},
        "MirrorCertificateExpiring",
        _CERTIFICATE,
        value="10d 0h 0m 0s",
    ),
    "a certificate expires in twenty days": Trouble({_of(series.CERTIFICATE_EXPIRY): _always(20 * 86_400)}),
    "the operator skips each reconciliation": Trouble(
        {_LOCKED % "mirror-orders": f"0+1x{_MINUTES}"}, "MirrorReconciliationStuck", (("kind", "KafkaConnect"),)
    ),
    "it skips them, and Prometheus renames the label of its series": Trouble(
        {_LOCKED % 'strimzi",exported_namespace="mirror-orders': f"0+1x2 2x9 3+1x{_MINUTES}"},
        "MirrorReconciliationStuck",
        (("kind", "KafkaConnect"),),
    ),
    "it skips those of other namespaces": Trouble(
        {
            _LOCKED % "other": f"0+1x{_MINUTES}",
            _LOCKED % 'mirror-orders",exported_namespace="other': f"0+1x{_MINUTES}",
        }
    ),
    "it skips a few while it rolls the workers": Trouble({_LOCKED % "mirror-orders": f"0x9 1+1x20 21x{_MINUTES}"}),
    "somebody changed objects by hand": Trouble({_of(series.DRIFT): _always(3)}, "MirrorDrift", value="3"),
    "the model changed since": Trouble({_of(series.VERDICT_CURRENT): _always(0)}, "MirrorVerdictStale"),
    "nobody validated since yesterday": Trouble({_of(series.VERDICT_TIME): _always(-90000)}, "MirrorVerdictStale"),
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
        Path(folder, "pair.yaml").write_text(yaml.safe_dump(_pair_rules()), encoding="utf-8")
        document, of_pairs = {"rule_files": ["rules.yaml"], "tests": tests}, [*pair_tests()]
        of_pair = {"rule_files": ["pair.yaml"], "tests": of_pairs}
        Path(folder, "pair-tests.yaml").write_text(yaml.safe_dump(of_pair), encoding="utf-8")
        Path(folder, "tests.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        for command in (
            ("check", "rules", "rules.yaml", "panels.yaml", "pair.yaml"),
            ("test", "rules", "tests.yaml", "pair-tests.yaml"),
        ):
            if code := subprocess.run([promtool, *command], cwd=folder, check=False).returncode:
                return code
    print(f"{len(by_name) + 1} alerts, {len(_TROUBLES) + len(of_pairs)} cases")
    return 0


def _rules() -> dict[str, Any]:
    flow = a_flow(
        onLoss="stop",
        connect={"metrics": {"type": "jmxPrometheusExporter"}},
        objectives={"lagSeconds": 30, "readAgain": 1000},
    )
    topology = parse_topology(a_topology(flow, monitoring={"namespace": "monitoring", "exporter": True}))
    (rules,) = (
        planned.manifest for planned in monitoring_objects(topology, "prod", None) if planned.kind == "PrometheusRule"
    )
    spec: dict[str, Any] = rules["spec"]
    return spec


def _pair_rules() -> dict[str, Any]:
    """The rules for records that a pair sends back."""
    pair: dict[str, Any] = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"]}
    pair["connect"] = {"metrics": {"type": "jmxPrometheusExporter"}}
    topology = parse_topology(a_topology(pair, "ledger", monitoring={"namespace": "monitoring", "exporter": True}))
    rules = [
        rule
        for planned in monitoring_objects(topology, "prod", None)
        if planned.kind == "PrometheusRule"
        for rule in planned.manifest["spec"]["groups"][0]["rules"]
        if rule["alert"] == "MirrorRecordsReturn"
    ]
    return {"groups": [{"name": "pair", "rules": rules}]}


def _panels() -> dict[str, Any]:
    """The dashboard's queries as recording rules, the only form in which promtool parses a query."""
    panels = json.loads(dashboard("prod", ["orders"], exporter=True))["panels"]
    queries = [
        target["expr"].replace("$flow", "orders").replace("$stack", "prod")
        for panel in panels
        for target in panel.get("targets", ())
    ]
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
                "eval_time": f"{_EVALUATED_SECONDS // 60}m",
                "alertname": alert,
                "exp_alerts": [_expected(rule, trouble)] if alert == trouble.alert else [],
            }
            for alert, rule in rules.items()
            if alert != trouble.also
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
