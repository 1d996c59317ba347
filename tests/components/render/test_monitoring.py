"""The monitoring of a stack: series get the flow's name, and alerts name the flow and the next command."""

import re
from typing import Any

import pulumi
import pytest

from kafka_replication import Monitoring, MonitoringArgs, ReplicationError
from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.exported_series import ABOUT_FLOWS
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.metrics import READ
from kafka_replication.components.render.monitoring import monitoring_objects, relabelings
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology
from tests.components.recorder import record

METRICS: dict[str, Any] = {"connect": {"metrics": {"type": "jmxPrometheusExporter"}}}
MONITORING: dict[str, Any] = {"namespace": "monitoring", "labels": {"release": "prometheus"}}


def topology(monitoring: dict[str, Any] | None = None, **flow: Any) -> Topology:
    asked = MONITORING | (monitoring or {})
    return parse_topology(a_topology(a_flow(**METRICS | flow), monitoring=asked))


def rules(stack: str = "prod", **flow: Any) -> dict[str, Manifest]:
    """The alerts of a flow, by name."""
    rendered = {planned.key: planned.manifest for planned in monitoring_objects(topology(**flow), stack, None)}
    (group,) = rendered["prometheus-rule-orders"]["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def test_monitoring_objects_have_the_namespace_and_labels_that_prometheus_selects() -> None:
    for planned in monitoring_objects(topology(), "prod", None):
        metadata = planned.manifest["metadata"]
        assert metadata["namespace"] == "monitoring"
        assert planned.kind == "ConfigMap" or metadata["labels"]["release"] == "prometheus"


def test_the_dashboard_is_labelled_for_grafanas_sidecar_and_has_a_valid_name() -> None:
    *_, planned = monitoring_objects(topology(), "Prod_us", None)
    assert planned.name == "mirror-dashboard-prod-us"
    assert planned.manifest["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert list(planned.manifest["data"]) == ["mirror-dashboard-prod-us.json"]


@pytest.mark.parametrize(("region", "watched"), [("us-west-2", True), ("us-east-1", False), (None, True)])
def test_flows_are_watched_by_the_stack_that_deploys_them(region: str | None, watched: bool) -> None:
    assert bool(monitoring_objects(topology(), "prod", region)) is watched


def test_nothing_is_watched_unless_the_topology_asks() -> None:
    assert monitoring_objects(parse_topology(a_topology()), "prod", None) == ()


def test_the_pods_of_all_workers_of_a_replication_are_scraped() -> None:
    """In the API v1, a KafkaMirrorMaker2 has separate workers for heartbeats."""
    rendered = monitoring_objects(topology(kind="mirrorMaker2"), "prod", None)
    (spec,) = (planned.manifest["spec"] for planned in rendered if planned.kind == "PodMonitor")
    assert spec["namespaceSelector"] == {"matchNames": ["mirror-orders"]}
    clusters, kinds = spec["selector"]["matchExpressions"]
    assert clusters["values"] == ["orders", "orders-heartbeats"]
    assert kinds["values"] == ["KafkaConnect", "KafkaMirrorMaker2"]


def test_the_duplicate_lag_series_under_the_real_topic_name_is_dropped() -> None:
    """Kafka 4.1 and later report the lag of topic `orders.eu` twice: as `orders.eu` and as `orders_eu`."""
    dropped = [
        relabeling["regex"]
        for relabeling in relabelings(resolve_flows(topology(), None, {}), "prod")
        if relabeling.get("action") == "drop"
    ]
    lag = "kafka_consumer_consumer_fetch_manager_metrics_records_lag"
    assert [bool(re.fullmatch(pattern, f"{lag};orders.eu")) for pattern in dropped] == [True]
    assert not re.fullmatch(dropped[0], f"{lag};orders_eu")
    assert not re.fullmatch(dropped[0], "kafka_connect_mirror_mirrorsourceconnector_record_count;useast.orders")


def test_an_alert_names_its_flow_and_the_next_command() -> None:
    rule = rules(monitoring={"runbooks": "https://runbooks.example.com/mirror"})["MirrorHeartbeatSilent"]
    count = 'kafka_connect_mirror_mirrorsourceconnector_record_count{stack="prod",flow="orders"}'
    heartbeats = count.replace("}", ',topic="useast.heartbeats"}')
    assert rule == {
        "alert": "MirrorHeartbeatSilent",
        "expr": f"sum by (flow) (increase({heartbeats}[300s])) == 0\n"
        f"or count by (flow) ({count} offset 300s)\n"
        f"and on (flow) count by (flow) ({count})\n"
        f"unless on (flow) count by (flow) (count_over_time({heartbeats}[300s]))",
        "for": "1m",
        "labels": {"severity": "critical", "stack": "prod", "flow": "orders", "source": "useast", "target": "uswest"},
        "annotations": {
            "summary": "orders: no heartbeat of useast has been replicated for 300 s",
            "description": "Heartbeats should arrive even if no records are produced. Without them, an idle flow looks "
            "like a broken one. Next: `replicate status prod`.",
            "runbook_url": "https://runbooks.example.com/mirror#mirrorheartbeatsilent",
        },
    }


def test_alerts_read_only_metrics_that_kafka_or_the_exporter_has() -> None:
    """`alerts.yaml` names them literally; an alert on a misspelt metric would never fire."""
    flow: dict[str, Any] = {"objectives": {"lagSeconds": 30, "readAgain": 1000}}
    expressions = [rule["expr"] for rule in rules(monitoring={"exporter": True}, **flow).values()]
    read = {name for expression in expressions for name in re.findall(r"\b([a-z_]\w+)\{", expression)}
    of_operator = {"strimzi_reconciliations_locked_total"}
    assert read <= {*READ, *of_operator, *(exported.name for exported in ABOUT_FLOWS)}
    assert len(expressions) > 15


ALWAYS = {"MirrorTaskFailed", "MirrorMetricsAbsent", "MirrorReconciliationStuck"}


@pytest.mark.parametrize(
    ("flow", "names"),
    [
        pytest.param({}, {*ALWAYS, "MirrorHeartbeatSilent", "MirrorCheckpointsMissing"}, id="the defaults"),
        pytest.param(
            {"objectives": {"lagSeconds": 30}},
            {*ALWAYS, "MirrorHeartbeatSilent", "MirrorCheckpointsMissing", "MirrorLatencyHigh"},
            id="with an objective",
        ),
        pytest.param({"replicateHeartbeats": False}, {*ALWAYS, "MirrorCheckpointsMissing"}, id="no heartbeats cross"),
        pytest.param(
            {"connectors": {"heartbeat": {"enabled": False}, "checkpoint": {"enabled": False}}},
            ALWAYS,
            id="neither heartbeats nor checkpoints",
        ),
        pytest.param({"connectors": {"source": {"state": "paused"}}}, {"MirrorTaskFailed"}, id="paused on purpose"),
    ],
)
def test_a_flow_has_only_alerts_that_can_resolve(flow: dict[str, Any], names: set[str]) -> None:
    assert set(rules(**flow)) == names


LAGGING = {"MirrorPartitionStalled", "MirrorLagGrowing"}
LOGINS = {"MirrorCertificateExpiring", "MirrorCertificateExpired", "MirrorLoginRefused"}
VERDICTS = {"MirrorVerdictFailed", "MirrorVerdictStale"}
EXPORTED = {"MirrorExporterAbsent", "MirrorNotAsked", "MirrorTopicMissing", "MirrorDrift", *VERDICTS, *LOGINS}
LOSSES = {"MirrorLogCut", "MirrorRecordsLost", "MirrorRetentionNear", "MirrorTopicRecreated"}
EXPORTED |= {"MirrorPositionsOutdated", *LOSSES}
DROPS = {"after": {"drop": {"type": "org.apache.kafka.connect.transforms.Filter"}}}


@pytest.mark.parametrize(
    ("flow", "names"),
    [
        pytest.param({}, {*EXPORTED, *LAGGING, "MirrorGroupWithoutPosition"}, id="the defaults"),
        pytest.param(
            {"objectives": {"lagSeconds": 30, "readAgain": 100}},
            {
                *EXPORTED,
                *LAGGING,
                "MirrorGroupWithoutPosition",
                "MirrorLagHigh",
                "MirrorReadAgainHigh",
            },
            id="with objectives",
        ),
        pytest.param(
            {"objectives": {"lagSeconds": 30, "readAgain": 100}, "connectors": {"checkpoint": {"enabled": False}}},
            {*EXPORTED, *LAGGING, "MirrorLagHigh"},
            id="no checkpoints",
        ),
        pytest.param(
            {"objectives": {"lagSeconds": 30}, "transforms": DROPS},
            {*EXPORTED, "MirrorGroupWithoutPosition"},
            id="records may be dropped",
        ),
        pytest.param({"connectors": {"source": {"state": "paused"}}}, LOSSES, id="paused on purpose"),
        pytest.param(
            {"onLoss": "stop", "connectors": {"source": {"state": "paused"}}},
            {*LOSSES, "MirrorStoppedAtGap"},
            id="stops at a gap",
        ),
    ],
)
def test_the_exporter_adds_only_alerts_that_can_resolve(flow: dict[str, Any], names: set[str]) -> None:
    assert set(rules(monitoring={"exporter": True}, **flow)) - set(rules(**flow)) == names


def test_the_lag_alert_adds_the_time_between_offset_commits_to_the_objective() -> None:
    asked = rules(monitoring={"exporter": True}, objectives={"lagSeconds": 30})
    assert 'max(mirror_lag_seconds{stack="prod",flow="orders"}) > 150' in asked["MirrorLagHigh"]["expr"]


def test_a_missing_topic_raises_an_alert_a_minute_after_it_should_have_been_found() -> None:
    asked = rules(monitoring={"exporter": True}, intervals={"refreshTopicsSeconds": 90})
    assert asked["MirrorTopicMissing"]["for"] == "3m"


def test_a_refused_login_silences_the_alerts_that_follow_from_it() -> None:
    """Only the exporter sees a refused login, so without it nothing may be silenced."""
    silenced = 'unless on () max(mirror_login_refused{stack="prod",flow="orders"}) > 0'
    objectives = {"lagSeconds": 30, "readAgain": 100}
    with_exporter = rules(monitoring={"exporter": True}, objectives=objectives)
    assert {name for name, rule in with_exporter.items() if silenced not in rule["expr"]} == {
        *LOGINS,
        *VERDICTS,
        *LOSSES,
        "MirrorDrift",
        "MirrorExporterAbsent",
        "MirrorGroupWithoutPosition",
        "MirrorLagGrowing",
        "MirrorPositionsOutdated",
        "MirrorReadAgainHigh",
        "MirrorReconciliationStuck",
        "MirrorTopicMissing",
    }
    assert not [rule for rule in rules(objectives=objectives).values() if "mirror_login" in rule["expr"]]


def returning_record_rules(region: str | None) -> dict[str, Manifest]:
    """The rules of MirrorRecordsReturn by flow, for a pair in the stack of a region."""
    pair = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"], **METRICS}
    asked = parse_topology(a_topology(pair, "ledger", monitoring={"namespace": "monitoring", "exporter": True}))
    rendered = monitoring_objects(asked, "prod", region)
    groups = [
        planned.manifest["spec"]["groups"][0]["rules"] for planned in rendered if planned.kind == "PrometheusRule"
    ]
    return {
        rule["labels"]["flow"]: rule for group in groups for rule in group if rule["alert"] == "MirrorRecordsReturn"
    }


def test_a_pair_with_both_flows_in_one_stack_has_an_alert_on_returning_records() -> None:
    by_flow = returning_record_rules(None)
    assert set(by_flow) == {"ledger-to-useast", "ledger-to-uswest"}
    ends = 'mirror_source_end_offsets{stack="prod",flow="ledger-to-useast"}'
    expression = by_flow["ledger-to-useast"]["expr"]
    for minutes in (14, 64):
        new = f"1.1 * max({ends} - {ends} offset {minutes}m) > 0\nand on () max(resets({ends}[{minutes}m])) == 0"
        assert new in expression
    assert "MirrorRecordsReturn" not in rules(monitoring={"exporter": True})


def test_the_alert_on_growing_lag_allows_for_records_between_two_offset_commits() -> None:
    """A flow that keeps up seems to lag by the records that it replicates between two commits of offsets."""
    expression = rules(monitoring={"exporter": True})["MirrorLagGrowing"]["expr"]
    assert "\nand on () min(min_over_time(mirror_lag_records{" in expression
    assert "[10m])) > 120 * sum(rate(kafka_connect_mirror_mirrorsourceconnector_record_count{" in expression


def test_a_stack_with_one_flow_of_a_pair_has_no_alert_on_returning_records() -> None:
    assert returning_record_rules("us-west-2") == {}


def test_every_alert_reads_only_the_series_of_its_own_stack() -> None:
    """One Prometheus can hold flows of the same name from two stacks."""
    asked = {"monitoring": {"exporter": True}, "objectives": {"lagSeconds": 30, "readAgain": 100}}
    for name, rule in rules("test", **asked).items():
        selectors = re.findall(r"\b[a-z_]+\{([^}]*)\}", rule["expr"])
        assert selectors, name
        if name == "MirrorReconciliationStuck":  # The operator knows no stacks and flows.
            assert all('namespace="mirror-orders"' in selector for selector in selectors), rule["expr"]
            continue
        assert all(selector.startswith('stack="test",flow="orders"') for selector in selectors), rule["expr"]
        assert rule["labels"]["stack"] == "test"


def test_every_series_of_the_workers_gets_the_name_of_the_stack() -> None:
    steps = relabelings(resolve_flows(topology(), None, {}), "prod")
    assert {"targetLabel": "stack", "replacement": "prod"} in steps


def test_the_silence_that_raises_an_alert_is_longer_than_the_heartbeat_interval() -> None:
    assert "[1200s]" in rules(intervals={"emitHeartbeatsSeconds": 120})["MirrorHeartbeatSilent"]["expr"]


def test_each_of_several_source_connectors_is_watched() -> None:
    sources = {"fast": {"topics": ["orders"]}, "bulk": {"topics": ["archive"]}}
    expression = rules(topics=["orders", "archive"], connectors={"sources": sources})["MirrorSourceMissing"]["expr"]
    assert 'connector="orders-source-fast"' in expression
    assert 'connector="orders-source-bulk"' in expression
    assert "MirrorSourceMissing" not in rules()


def test_the_component_is_the_parent_of_the_monitoring_objects() -> None:
    args = MonitoringArgs(topology=topology(), stack="prod")
    recorder = record(lambda: _discard(Monitoring("monitoring", args)))
    component = recorder.named("monitoring")
    assert recorder.named("monitoring-pod-monitor-orders").parent == component.urn
    assert recorder.named("monitoring-prometheus-rule-orders").parent == component.urn


def test_the_component_refuses_flows_without_metrics() -> None:
    def program() -> None:
        with pytest.raises(ReplicationError, match="monitoring-without-metrics"):
            Monitoring("monitoring", MonitoringArgs(topology=topology(connect={}), stack="prod"))

    assert record(program).resources == []


def _discard(component: pulumi.ComponentResource) -> None:
    del component


def legacy_name(name: str, connector: str, **flow: Any) -> str:
    """The name under which Prometheus stores a metric of the connector."""
    for step in relabelings(resolve_flows(topology(**flow), None, {}), "prod"):
        if step.get("targetLabel") == "__name__":
            labels = {"__name__": name, "connector": connector}
            given = ";".join(labels[label] for label in step["sourceLabels"])
            if match := re.fullmatch(step["regex"], given):
                return str(match.expand(step["replacement"].replace("$1", r"\1")))
    return name


NEW, LEGACY = "kafka_connect_plugins_record_count", "kafka_connect_mirror_mirrorsourceconnector_record_count"
FORMS = {"legacy": "legacy", "new": "new", "both": "new,legacy"}


@pytest.mark.parametrize(("form_of_bulk", "name"), [("legacy", LEGACY), ("new", LEGACY), ("both", NEW)])
def test_each_source_connector_has_one_series_of_a_metric_whatever_the_others_report(
    form_of_bulk: str, name: str
) -> None:
    """Only a connector that reports both forms keeps the new name; queries count its legacy series."""
    sources = {
        "fast": {"topics": ["orders"], "config": {"metric.names.formats": "legacy,new"}},
        "bulk": {"topics": ["archive"], "config": {"metric.names.formats": FORMS[form_of_bulk]}},
    }
    flow = {"topics": ["orders", "archive"], "connectors": {"sources": sources}}
    assert legacy_name(NEW, "orders-source-fast", **flow) == NEW
    assert legacy_name(NEW, "orders-source-bulk", **flow) == name
    assert legacy_name(NEW, '"orders-source-bulk"', **flow) == name
    assert legacy_name(LEGACY, "orders-source-fast", **flow) == LEGACY


def test_only_the_connector_of_a_mirror_that_reports_both_forms_keeps_new_names() -> None:
    flow = {"kind": "mirrorMaker2", "connectors": {"source": {"config": {"metric.names.formats": "legacy,new"}}}}
    assert legacy_name(NEW, '"useast->uswest.MirrorSourceConnector"', **flow) == NEW
    checkpoints = "kafka_connect_plugins_checkpoint_latency_ms"
    of_legacy = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"
    assert legacy_name(checkpoints, '"useast->uswest.MirrorCheckpointConnector"', **flow) == of_legacy


@pytest.mark.parametrize(("forms", "reported"), [("legacy", False), ("new", True), ("legacy,new", False)])
def test_an_allow_list_needs_the_new_names_only_if_legacy_names_are_off(forms: str, reported: bool) -> None:
    listed = {"type": "strimziMetricsReporter", "allowList": ["kafka_connect_(connect|mirror)_.*"]}
    asked = topology(
        connect={"metrics": listed, "version": "4.3.0"},
        connectors={"source": {"config": {"metric.names.formats": forms}}},
    )
    assert ("metrics-left-out" in {problem.code for problem in check_topology(asked)}) == reported
