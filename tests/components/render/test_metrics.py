"""One key turns metrics on: the workers' exporter, its rules, and the properties that connectors need."""

from typing import Any

import pytest
import yaml

from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.metrics import RECORDS_LAG
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_flow, a_topology

JMX = {"type": "jmxPrometheusExporter"}
REPORTER = {"type": "strimziMetricsReporter"}
CLASS = "io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter"
CONNECTOR_REPORTER = {"metric.reporters": CLASS, "prometheus.metrics.reporter.listener.enable": False}
CONSUMER_REPORTER = {
    "source.consumer.metric.reporters": CLASS,
    "source.consumer.prometheus.metrics.reporter.listener.enable": False,
    "source.consumer.prometheus.metrics.reporter.allowlist": RECORDS_LAG,
}
KINDS: dict[str, dict[str, Any]] = {
    "flow": a_flow(connect={"metrics": JMX}),
    "pair": {
        "kind": "prefixlessPair",
        "between": ["useast", "uswest"],
        "topics": ["ledger"],
        "connect": {"metrics": JMX},
    },
    "split": {
        "kind": "split",
        "source": "useast",
        "target": "uswest",
        "parts": {"big": {"topics": ["orders"], "connect": {"metrics": JMX}}},
    },
    "mirrorMaker2": a_flow(kind="mirrorMaker2", connect={"metrics": JMX}),
}


def objects(replication: dict[str, Any], strimzi: str = "1.2") -> list[tuple[str, Manifest]]:
    topology = parse_topology(a_topology(replication, strimzi=strimzi))
    by_workers = deployments(resolve_flows(topology, None, {}))
    return [(planned.key, planned.manifest) for deployment in by_workers for planned in deployment.objects]


def metric_properties(config: Manifest) -> Manifest:
    return {key: value for key, value in config.items() if "metric" in key}


@pytest.mark.parametrize("kind", KINDS)
def test_workers_of_every_kind_find_our_rules_in_a_config_map(kind: str) -> None:
    rendered = objects(KINDS[kind])
    rules = {body["metadata"]["name"]: body for key, body in rendered if key.startswith("metrics-config")}
    workers = [body for _, body in rendered if body["kind"] in {"KafkaConnect", "KafkaMirrorMaker2"}]
    read = [body["spec"]["metricsConfig"]["valueFrom"]["configMapKeyRef"] for body in workers]
    assert sorted(document["name"] for document in read) == sorted(rules)
    for document, body in zip(read, workers, strict=True):
        config_map = rules[document["name"]]
        assert config_map["metadata"]["namespace"] == body["metadata"]["namespace"]
        assert yaml.safe_load(config_map["data"][document["key"]])["rules"]


def test_a_users_own_rules_replace_ours() -> None:
    rendered = objects(a_flow(connect={"metrics": JMX | {"configMap": "mine"}}))
    (connect,) = (body for _, body in rendered if body["kind"] == "KafkaConnect")
    assert connect["spec"]["metricsConfig"]["valueFrom"]["configMapKeyRef"] == {"name": "mine", "key": "rules.yaml"}
    assert not [key for key, _ in rendered if key.startswith("metrics-config")]


def test_rules_exist_before_the_workers_that_read_them() -> None:
    keys = [key for key, _ in objects(KINDS["mirrorMaker2"])]
    assert keys.index("metrics-config") < keys.index("mirror-maker2")
    assert keys.index("metrics-config-heartbeats") < keys.index("connect")


def test_connectors_report_to_the_reporter_of_their_worker() -> None:
    specs = {key: body["spec"] for key, body in objects(a_flow(connect={"metrics": REPORTER})) if "connector" in key}
    assert metric_properties(specs["source-connector"]["config"]) == CONNECTOR_REPORTER | CONSUMER_REPORTER
    assert metric_properties(specs["checkpoint-connector"]["config"]) == CONNECTOR_REPORTER
    assert metric_properties(specs["heartbeat-connector"]["config"]) == {}


def test_in_a_kafkamirrormaker2_only_the_source_consumer_needs_reporter_properties() -> None:
    rendered = dict(objects(a_flow(kind="mirrorMaker2", connect={"metrics": REPORTER})))
    (mirror,) = rendered["mirror-maker2"]["spec"]["mirrors"]
    assert metric_properties(mirror["sourceConnector"]["config"]) == CONSUMER_REPORTER
    assert metric_properties(mirror["checkpointConnector"]["config"]) == {}


@pytest.mark.parametrize(
    ("own", "rendered"),
    [("example.Reporter", f"example.Reporter,{CLASS}"), (CLASS, CLASS)],
    ids=["another reporter", "our reporter, which Kafka refuses if it is listed twice"],
)
@pytest.mark.parametrize("key", ["metric.reporters", "source.consumer.metric.reporters"])
def test_a_users_own_reporter_is_kept(key: str, own: str, rendered: str) -> None:
    connectors = {"source": {"config": {key: own}}}
    bodies = dict(objects(a_flow(connect={"metrics": REPORTER}, connectors=connectors)))
    assert bodies["source-connector"]["spec"]["config"][key] == rendered


def test_a_user_can_leave_the_source_out_of_the_labels() -> None:
    connectors = {"source": {"config": {"add.source.alias.to.metrics": False}}}
    rendered = dict(objects(a_flow(connect={"metrics": JMX}, connectors=connectors), "0.45"))
    assert rendered["source-connector"]["spec"]["config"]["add.source.alias.to.metrics"] is False


@pytest.mark.parametrize(("strimzi", "wanted"), [("0.45", {"add.source.alias.to.metrics": True}), ("1.2", {})])
def test_old_versions_are_configured_to_name_the_source_in_their_metrics(strimzi: str, wanted: dict[str, Any]) -> None:
    rendered = dict(objects(a_flow(connect={"metrics": JMX}), strimzi))
    assert metric_properties(rendered["source-connector"]["spec"]["config"]) == wanted


def test_without_the_metrics_key_no_metrics_settings_are_rendered() -> None:
    rendered = dict(objects(a_flow()))
    assert "metricsConfig" not in rendered["connect"]["spec"]
    assert metric_properties(rendered["source-connector"]["spec"]["config"]) == {}
