"""The Prometheus operator's own definitions accept the monitoring objects of a stack, which then reach Prometheus.

Otherwise the API server of a cluster might refuse a PodMonitor or drop a field of it.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.api import ApiError, Reference, reference
from kafka_replication.infra.local.artifacts import ensure_monitoring_crds
from kafka_replication.infra.local.operator.reconcile import CachedReads
from kafka_replication.infra.local.prometheus.__main__ import Configurer
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.builders import a_flow, a_topology
from tests.contract.api_servers import BOTH, NAMESPACE, ApiServer, running, strict_apply

SERVED_SECONDS = 300
OBJECTIVES = {"lagSeconds": 30, "readAgain": 100}
METRICS = {"metrics": {"type": "jmxPrometheusExporter"}}
MONITORING = {"namespace": NAMESPACE, "exporter": True, "labels": {"release": "prometheus"}, "runbooks": "https://r"}


def objects() -> list[dict[str, Any]]:
    """Every PodMonitor and PrometheusRule of a flow and a KafkaMirrorMaker2."""
    mirror = a_flow(kind="mirrorMaker2", topics=["ledger"], connect=METRICS, objectives=OBJECTIVES)
    replications = {"orders": a_flow(connect=METRICS, objectives=OBJECTIVES), "ledger": mirror}
    topology = parse_topology(a_topology(replications=replications, monitoring=MONITORING))
    return [each.manifest for each in monitoring_objects(topology, "prod", None) if each.kind != "ConfigMap"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server with the Prometheus operator's kinds; other tests need one without them."""
    with running(BOTH, tmp_path_factory.mktemp("monitoring")) as found:
        for file in ensure_monitoring_crds(Console(quiet=True)):
            found.api.apply(yaml.safe_load(file.read_text()))
        wait_for("the kinds to be served", lambda: _expect_served(found), SERVED_SECONDS)
        yield found


def _expect_served(server: ApiServer) -> None:
    try:
        for each in objects():
            server.api.list_all(each["apiVersion"], each["kind"])
    except ApiError as error:
        raise NotYetError(str(error)) from error


def test_the_prometheus_operators_definitions_accept_every_object_whole(server: ApiServer) -> None:
    assert {str(reference(each)): strict_apply(server, each) for each in objects()} == {
        str(reference(each)): [] for each in objects()
    }


def test_a_misspelt_field_is_refused_by_name(server: ApiServer) -> None:
    """Without this check the test above might accept anything."""
    (monitor, *_) = objects()
    assert (
        "podMetricEndpoints"
        in strict_apply(server, {**monitor, "spec": {**monitor["spec"], "podMetricEndpoints": []}})[0]
    )


class Prometheus(HTTPServer):
    """Counts the requests to reload its files, and answers them with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Reload)
        self.status, self.reloads = 200, 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Reload(BaseHTTPRequestHandler):
    server: Prometheus

    def do_POST(self) -> None:
        self.server.reloads += self.path == "/-/reload"
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"bad rule")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def prometheus() -> Iterator[Prometheus]:
    with Prometheus() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_applied_objects_reach_prometheus_and_deleted_ones_are_removed_from_it(
    server: ApiServer, prometheus: Prometheus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CachedReads(server.kubeconfig, field_manager="test") as api:
        configurer = Configurer(api, tmp_path, prometheus.address)
        configurer.round()
        configurer.round()
        assert prometheus.reloads == 1, "only what has changed is read again"
        for each in objects():
            server.api.apply(each)
        prometheus.status = 500
        configurer.round()
        configurer.round()
        assert [each.message for each in caplog.records] == ["Prometheus keeps its earlier configuration: bad rule"]
        prometheus.status = 200
        configurer.round()
        assert jobs(tmp_path) == {
            "mirror-exporter",
            *(f"podMonitor/{NAMESPACE}/mirror-{each}/0" for each in ("ledger", "orders")),
        }
        assert {each.name for each in (tmp_path / "rules").iterdir()} == {
            f"{NAMESPACE}-mirror-{each}.yaml" for each in ("ledger", "orders")
        }
        for each in objects():
            server.api.delete(Reference(each["apiVersion"], each["kind"], NAMESPACE, each["metadata"]["name"]))
        configurer.round()
        assert jobs(tmp_path) == {"mirror-exporter"}
        assert list((tmp_path / "rules").iterdir()) == []


def jobs(folder: Path) -> set[str]:
    return {each["job_name"] for each in yaml.safe_load((folder / "prometheus.yaml").read_text())["scrape_configs"]}
