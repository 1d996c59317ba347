"""How Prometheus is configured for a stack: it must scrape the workers, or no alert ever fires."""

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.contract.problems import CannotRunError
from components.flows.resolved import resolve_flows
from components.render.deployments import deployments
from components.render.monitoring import monitoring_objects
from components.topology.parsing import parse_topology
from infra.local import paths, stack
from infra.local.operator.mirror_maker2 import connect_resource as of_mirror_maker2
from infra.local.operator.resources import connect_resource
from infra.local.operator.worker_objects import pod_status, worker_pod
from infra.local.parts import prometheus
from infra.local.prometheus.configuration import (
    UnsupportedError,
    discovered,
    prometheus_config,
    rule_files,
    write_files,
)
from infra.local.state import State, save_state
from tests.builders import a_flow, a_topology
from tests.infra.local.test_control_plane import PORTS, a_site

METRICS = {"metrics": {"type": "jmxPrometheusExporter"}}
MIRROR = a_flow(kind="mirrorMaker2", topics=["ledger"], connect=METRICS)
TOPOLOGY = parse_topology(
    a_topology(
        replications={"orders": a_flow(connect=METRICS), "ledger": MIRROR}, monitoring={"namespace": "monitoring"}
    )
)
TARGETS, RULES = Path("/targets.yaml"), Path("/rules")


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
        found.append({**pod, "status": pod_status(connect, pod, ready=True)})
    without_address = {**found[0], "status": {}}
    in_other_namespace = changed(found[0], namespace="other")
    broker = changed(found[-1], labels={**found[-1]["metadata"]["labels"], "strimzi.io/kind": "Kafka"})
    of_other_port = copy.deepcopy(found[-1])
    of_other_port["spec"]["containers"][0]["ports"] = [{"name": "rest", "containerPort": 8083}]
    ended = {**found[-1], "status": {**found[-1]["status"], "phase": "Failed"}}
    return [*found, without_address, in_other_namespace, broker, of_other_port, ended]


def changed(pod: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**pod, "metadata": {**pod["metadata"], **metadata}}


def scraped(job: dict[str, Any]) -> list[dict[str, str]]:
    """The labels of each target that a job keeps. Source: Prometheus model/relabel, `keep`, `drop` and `replace`."""
    found = (
        _relabelled({"__address__": address, **group["labels"]}, job["relabel_configs"])
        for group in discovered(pods())
        for address in group["targets"]
    )
    return [{key: each[key] for key in ("__address__", "job", "pod")} for each in found if each is not None]


def _relabelled(labels: dict[str, str], steps: list[dict[str, Any]]) -> dict[str, str] | None:
    for step in steps:
        value = ";".join(labels.get(name, "") for name in step.get("source_labels", []))
        matched = re.fullmatch(step.get("regex", ".*"), value) is not None
        match step.get("action", "replace"):
            case "keep" if not matched:
                return None
            case "drop" if matched:
                return None
            case "replace":
                labels = {**labels, step["target_label"]: step.get("replacement", value)}
    return labels


def test_each_pod_monitor_scrapes_its_own_workers_and_no_others() -> None:
    monitors = rendered("PodMonitor")
    exporter, *jobs = prometheus_config(monitors, TARGETS, RULES)["scrape_configs"]
    assert exporter["static_configs"] == [{"targets": ["127.0.0.1:9847"]}]
    assert [job["job_name"] for job in jobs] == [
        f"podMonitor/monitoring/{each['metadata']['name']}/0" for each in monitors
    ]
    assert {job["job_name"]: [each["pod"] for each in scraped(job)] for job in jobs} == {
        "podMonitor/monitoring/mirror-ledger/0": ["ledger-mirrormaker2-0", "ledger-heartbeats-connect-0"],
        "podMonitor/monitoring/mirror-orders/0": ["orders-connect-0"],
    }
    (found,) = scraped(jobs[-1])
    assert found["__address__"].startswith("127.0.0.1:2000")
    assert found["job"] == "monitoring/mirror-orders"


def test_the_rendered_metric_relabelings_are_kept() -> None:
    (monitor,) = (each for each in rendered("PodMonitor") if each["metadata"]["name"] == "mirror-orders")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (_, job) = prometheus_config([monitor], TARGETS, RULES)["scrape_configs"]
    assert job["metric_relabel_configs"][-1] == {"target_label": "flow", "replacement": "orders"}
    assert len(job["metric_relabel_configs"]) == len(endpoint["metricRelabelings"])
    assert job["metric_relabel_configs"][0]["source_labels"] == ["__name__"]


def test_the_rule_files_hold_exactly_the_rendered_rules(tmp_path: Path) -> None:
    rules = sorted(rendered("PrometheusRule"), key=lambda rule: str(rule["metadata"]["name"]), reverse=True)
    files = rule_files(rules)
    assert files["monitoring-mirror-orders.yaml"] == {"groups": rules[0]["spec"]["groups"]}
    write_files(tmp_path, rendered("PodMonitor"), rules)
    assert sorted(file.name for file in (tmp_path / "rules").iterdir()) == sorted(files)
    write_files(tmp_path, [], rules[:1])
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
        prometheus_config([{**monitor, "spec": {**monitor["spec"], **spec}}], TARGETS, RULES)


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
