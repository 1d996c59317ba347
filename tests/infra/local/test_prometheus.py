"""How Prometheus is configured for a stack: it must scrape the workers, or no alert ever fires."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.render.deployments import deployments
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.local.operator.mirror_maker2 import connect_resource as of_mirror_maker2
from kafka_replication.infra.local.operator.resources import connect_resource
from kafka_replication.infra.local.operator.worker_objects import pod_status, worker_pod
from kafka_replication.infra.local.parts import prometheus
from kafka_replication.infra.local.prometheus.configuration import (
    UnsupportedError,
    prometheus_config,
    rule_files,
    target_files,
    write_files,
)
from kafka_replication.infra.local.state import State, save_state
from tests.builders import a_flow, a_topology
from tests.infra.local.test_control_plane import PORTS, a_site

METRICS = {"metrics": {"type": "jmxPrometheusExporter"}}
MIRROR = a_flow(kind="mirrorMaker2", topics=["ledger"], connect=METRICS)
TOPOLOGY = parse_topology(
    a_topology(
        replications={"orders": a_flow(connect=METRICS), "ledger": MIRROR}, monitoring={"namespace": "monitoring"}
    )
)
FOLDER = Path("/prometheus")


def rendered(kind: str) -> list[dict[str, Any]]:
    return [each.manifest for each in monitoring_objects(TOPOLOGY, "local", None) if each.kind == kind]


def pods() -> list[dict[str, Any]]:
    """The Pods of the workers of both replications, and others that must not be scraped."""
    found = []
    planned = [each for one in deployments(resolve_flows(TOPOLOGY, None, {})) for each in one.objects]
    for number, each in enumerate(each for each in planned if each.kind in {"KafkaConnect", "KafkaMirrorMaker2"}):
        item = {**each.manifest, "metadata": {**each.manifest["metadata"], "uid": "u", "generation": 1}}
        connect = (connect_resource if each.kind == "KafkaConnect" else of_mirror_maker2)(item)
        pod = worker_pod(connect, 0, "digest", 20_000 + number if connect.metrics else None)
        pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        found.append({**pod, "status": pod_status(pod, ready=True)})
    without_address = {**found[0], "status": {}}
    in_other_namespace = changed(found[0], namespace="other")
    broker = changed(found[-1], labels={**found[-1]["metadata"]["labels"], "strimzi.io/kind": "Kafka"})
    of_other_port = copy.deepcopy(found[-1])
    of_other_port["spec"]["containers"][0]["ports"] = [{"name": "rest", "containerPort": 8083}]
    ended = {**found[-1], "status": {**found[-1]["status"], "phase": "Failed"}}
    return [*found, without_address, in_other_namespace, broker, of_other_port, ended]


def changed(pod: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**pod, "metadata": {**pod["metadata"], **metadata}}


def test_each_pod_monitor_scrapes_its_own_workers_and_no_others() -> None:
    monitors = rendered("PodMonitor")
    exporter, *jobs = prometheus_config(monitors, FOLDER)["scrape_configs"]
    assert exporter["static_configs"] == [{"targets": ["127.0.0.1:9847"]}]
    assert [job["job_name"] for job in jobs] == [
        f"podMonitor/monitoring/{each['metadata']['name']}/0" for each in monitors
    ]
    targets = target_files(monitors, pods())
    assert [job["file_sd_configs"] for job in jobs] == [[{"files": [f"{FOLDER}/targets/{name}"]}] for name in targets]
    assert {name: [group["labels"]["pod"] for group in groups] for name, groups in targets.items()} == {
        "monitoring-mirror-ledger-0.yaml": ["ledger-mirrormaker2-0", "ledger-heartbeats-connect-0"],
        "monitoring-mirror-orders-0.yaml": ["orders-connect-0"],
    }
    (group,) = targets["monitoring-mirror-orders-0.yaml"]
    (address,) = group["targets"]
    assert address.startswith("127.0.0.1:2000")
    assert group["labels"] == {
        "namespace": "mirror-orders",
        "container": "orders-connect",
        "pod": "orders-connect-0",
        "job": "monitoring/mirror-orders",
        "endpoint": "tcp-prometheus",
    }


def test_the_rendered_metric_relabelings_are_kept() -> None:
    (monitor,) = (each for each in rendered("PodMonitor") if each["metadata"]["name"] == "mirror-orders")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (_, job) = prometheus_config([monitor], FOLDER)["scrape_configs"]
    assert job["metric_relabel_configs"][-1] == {"target_label": "flow", "replacement": "orders"}
    assert len(job["metric_relabel_configs"]) == len(endpoint["metricRelabelings"])
    assert job["metric_relabel_configs"][0]["source_labels"] == ["__name__"]


def test_the_rule_files_hold_exactly_the_rendered_rules(tmp_path: Path) -> None:
    rules = sorted(rendered("PrometheusRule"), key=lambda rule: str(rule["metadata"]["name"]), reverse=True)
    files = rule_files(rules)
    assert files["monitoring-mirror-orders.yaml"] == {"groups": rules[0]["spec"]["groups"]}
    write_files(tmp_path, rendered("PodMonitor"), rules, pods())
    assert len(list((tmp_path / "targets").iterdir())) == len(rendered("PodMonitor"))
    assert sorted(file.name for file in (tmp_path / "rules").iterdir()) == sorted(files)
    write_files(tmp_path, [], rules[:1], pods())
    assert not list((tmp_path / "targets").iterdir())
    assert [yaml.safe_load(file.read_text()) for file in (tmp_path / "rules").iterdir()] == [
        {"groups": rules[0]["spec"]["groups"]}
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"sampleLimit": 5}, "sampleLimit is not", id="a field of the monitor"),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}},
            "operator Exists",
            id="an operator",
        ),
        pytest.param(
            {"podMetricsEndpoints": [{"port": "x", "interval": "5s"}]}, "interval is not", id="a field of an endpoint"
        ),
    ],
)
def test_an_unsupported_field_or_operator_of_a_pod_monitor_is_refused_by_name(
    spec: dict[str, Any], message: str
) -> None:
    (monitor, *_) = rendered("PodMonitor")
    with pytest.raises(UnsupportedError, match=f"PodMonitor monitoring/mirror-.+: {message}"):
        prometheus_config([{**monitor, "spec": {**monitor["spec"], **spec}}], FOLDER)


def test_nothing_is_built_if_prometheus_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(stack, "ensure", lambda _: pytest.fail("it builds"))
    with pytest.raises(
        CannotRunError, match=r"prometheus-missing: `prometheus` was not found, at PATH.*Debian's package"
    ):
        stack.up(None, monitoring=True)  # type: ignore[arg-type]


def test_the_server_listens_on_loopback_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    launch = prometheus.PROMETHEUS.prepare(replace(a_site(), ports={**PORTS, "prometheus": 20_005}))
    assert "--web.listen-address=127.0.0.1:20005" in launch.command
    assert (paths.prometheus() / "prometheus.yaml").exists()


def test_status_shows_prometheus_only_if_the_stack_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REPLICATE_LOCAL", str(tmp_path))
    assert "prometheus" not in {each.name for each in stack.status()}
    assert stack.prometheus_address() is None
    record = {"name": "prometheus", "pid": 2**22 - 1, "created": 1.0}
    save_state(State.model_validate({"ports": {"prometheus": 20_005}, "parts": {"prometheus": record}}))
    (found,) = (each for each in stack.status() if each.name == "prometheus")
    assert (found.running, found.ports) == (False, (20_005,))
    assert stack.prometheus_address() == "http://127.0.0.1:20005"
