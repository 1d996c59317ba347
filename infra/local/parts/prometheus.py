"""Prometheus as two parts of the stack: the real server, and the stand-in for the operator that configures it."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.artifacts import ensure_monitoring_crds
from kafka_replication.infra.local.parts.control_plane import api_client, apply_definitions
from kafka_replication.infra.local.parts.part import Launch, StackFacts, StackServer, expect_ok, plain_environment
from kafka_replication.infra.local.prometheus.configuration import CONFIG_FILE, write_files

#: The namespace that exists on a stack with Prometheus, for what a topology's `monitoring` deploys.
NAMESPACE = "monitoring"
_NAME = "prometheus"


def program() -> Path:
    """Return the Prometheus server on PATH. Raises CannotRunError with what to install."""
    server = shutil.which(_NAME)
    if server is None:
        what = f"`{_NAME}` was not found"
        why = "`replicate local up --monitoring` runs the real server, and does not build it."
        remedy = "install it, for example Debian's package `prometheus`, or start the stack without `--monitoring`"
        raise CannotRunError("prometheus-missing", what, "PATH", why, remedy)
    return Path(server)


def address(ports: Mapping[str, int]) -> str:
    """Return the address of the server of a stack with these ports."""
    return f"http://127.0.0.1:{ports[_NAME]}"


def _launch(site: StackFacts) -> Launch:
    server = program()
    # A restarted server continues with what is deployed.
    if not (paths.prometheus() / CONFIG_FILE).exists():
        write_files(paths.prometheus(), [], [], [])
    flags = {
        "config.file": paths.prometheus() / CONFIG_FILE,
        "storage.tsdb.path": paths.data() / _NAME,
        "storage.tsdb.retention.time": "1d",
        "web.listen-address": f"127.0.0.1:{site.ports[_NAME]}",
        "log.level": "warn",
    }
    words = (f"--{name}={value}" for name, value in flags.items())
    # The stand-in uses this to make the server read changed files.
    return Launch((server, *words, "--web.enable-lifecycle"), plain_environment())


def _probe(site: StackFacts) -> None:
    with httpx.Client(timeout=2.0, trust_env=False) as client:
        expect_ok(client, f"{address(site.ports)}/-/ready")


def _launch_operator(site: StackFacts) -> Launch:
    apply_definitions(site, ensure_monitoring_crds(Console()))
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    with api_client(site) as client:
        answer = client.post("/api/v1/namespaces", json=body)
        if answer.status_code != httpx.codes.CONFLICT:
            answer.raise_for_status()
    command = (
        sys.executable,
        *("-m", "kafka_replication.infra.local.prometheus"),
        *("--kubeconfig", paths.kubeconfig()),
        *("--folder", paths.prometheus()),
        *("--port", str(site.ports[_NAME])),
    )
    return Launch(command, plain_environment(PYTHONUNBUFFERED="1"))


PROMETHEUS = StackServer(_NAME, _launch, _probe, ports=(_NAME,))
PROMETHEUS_OPERATOR = StackServer("prometheus-operator", _launch_operator)
PARTS = (PROMETHEUS, PROMETHEUS_OPERATOR)
