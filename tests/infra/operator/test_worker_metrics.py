"""How workers report metrics: Prometheus can scrape them, and nobody else on the network can."""

from pathlib import Path
from typing import Any

import pytest

from kafka_replication.infra.local.operator.worker_objects import worker_pod
from kafka_replication.infra.local.operator.worker_processes import worker_class_path
from kafka_replication.infra.local.operator.worker_properties import agent, on_this_port, port_of, worker_properties
from tests.infra.operator.builders import a_connect, a_v1beta2_connect

REPORTER = "io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter"
BY_REPORTER = {"type": "strimziMetricsReporter", "values": {"allowList": ["kafka_connect_.*", "jvm_.*"]}}
RULES = {"type": "jmxPrometheusExporter", "valueFrom": {"configMapKeyRef": {"name": "metrics", "key": "rules.yaml"}}}


def reporting(**spec: Any) -> dict[str, str]:
    """The worker's properties about metrics."""
    return {key: value for key, value in worker_properties(a_connect(**spec)).items() if "metric" in key}


def test_the_reporter_gets_the_same_properties_as_from_strimzis_operator() -> None:
    assert reporting(metricsConfig=BY_REPORTER) == {
        "metric.reporters": REPORTER,
        "prometheus.metrics.reporter.listener.enable": "true",
        "prometheus.metrics.reporter.listener": "http://:9404",
        "prometheus.metrics.reporter.allowlist": "kafka_connect_.*,jvm_.*",
    }


def test_a_users_own_reporter_is_kept() -> None:
    found = reporting(metricsConfig=BY_REPORTER, config={"metric.reporters": "example.Reporter"})
    assert found["metric.reporters"] == f"example.Reporter,{REPORTER}"


def test_the_operators_default_allow_list_has_no_mirror_metrics() -> None:
    allowed = reporting(metricsConfig={"type": "strimziMetricsReporter"})["prometheus.metrics.reporter.allowlist"]
    assert "kafka_connect_connector_task_metrics_.*" in allowed.split(",")
    assert "mirror" not in allowed


@pytest.mark.parametrize("spec", [{}, {"metricsConfig": RULES}], ids=["none", "the JMX exporter"])
def test_without_the_reporter_no_property_is_added(spec: dict[str, Any]) -> None:
    assert reporting(**spec) == {}


def test_the_local_reporter_listens_on_loopback_at_the_workers_own_port() -> None:
    properties = worker_properties(a_connect(metricsConfig=BY_REPORTER))
    local = on_this_port(properties, 20_001)
    assert local["prometheus.metrics.reporter.listener"] == "http://127.0.0.1:20001"
    assert {key for key in local if local[key] != properties[key]} == {"prometheus.metrics.reporter.listener"}


def test_the_jmx_exporter_listens_on_loopback_and_starts_only_with_rules() -> None:
    (option,) = agent(Path("/lib"), 20_001, Path("/rules.yaml"))
    assert option == "-javaagent:/lib/jmx_prometheus_javaagent-1.0.1.jar=127.0.0.1:20001:/rules.yaml"
    assert agent(Path("/lib"), 20_001, None) == []
    assert agent(Path("/lib"), None, Path("/rules.yaml")) == []


def test_the_pod_of_a_worker_with_metrics_names_the_port_for_prometheus() -> None:
    pod = worker_pod(a_connect(metricsConfig=RULES), 0, "d1", 20_001)
    (port,) = pod["spec"]["containers"][0]["ports"]
    assert (port["name"], port["containerPort"]) == ("tcp-prometheus", 20_001)
    assert port_of(pod) == 20_001
    assert port_of(worker_pod(a_connect(), 0, "d1")) is None


def test_v1beta2_workers_accept_the_jmx_exporter_too() -> None:
    assert a_v1beta2_connect(metricsConfig=RULES).metrics == RULES
    assert "metricsConfig" not in a_v1beta2_connect(metricsConfig=RULES).ignored_fields


def test_only_a_worker_with_the_reporter_has_it_in_its_class_path(tmp_path: Path) -> None:
    """The JMX exporter holds other versions of the same classes: beside it the reporter would answer no scrape."""
    for name in ("client-metrics-reporter-0.3.0.jar", "jmx_prometheus_javaagent-1.0.1.jar"):
        (tmp_path / name).touch()
    kafka, jars = Path("/kafka"), Path("/kafka/*")
    assert worker_class_path(kafka, None) == (jars,)
    assert worker_class_path(kafka, tmp_path) == (jars, tmp_path / "client-metrics-reporter-0.3.0.jar")
