"""`replicate import --context` reads an API server that serves both of Strimzi's API versions, and writes nothing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.infra.kubernetes.api import KubernetesApi, reference
from tests.contract.api_servers import BOTH, NAMESPACE, ApiServer
from tests.infra.onboard.importing.resources import FLOW, OLD_MIRROR

TOPICS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "selected"}, "data": {"topics": "orders"}}
PROVIDER = {
    "config.providers": "maps",
    "config.providers.maps.class": "io.strimzi.kafka.KubernetesConfigMapConfigProvider",
}


def resources() -> list[dict[str, Any]]:
    """A flow whose topics are in a ConfigMap, and a KafkaMirrorMaker2 of the older version."""
    connect, source, checkpoint = yaml.safe_load_all(FLOW)
    connect["spec"]["config"] |= PROVIDER
    for each in (source, checkpoint):
        each["spec"]["config"]["topics"] = f"${{maps:{NAMESPACE}/selected:topics}}"
    found = [TOPICS, connect, source, checkpoint, yaml.safe_load(OLD_MIRROR)]
    return [{**each, "metadata": {**each["metadata"], "namespace": NAMESPACE}} for each in found]


@pytest.fixture
def server(api_server_of: Callable[[str], ApiServer]) -> Iterator[ApiServer]:
    """A server of both versions with these resources; they are removed afterwards."""
    found = api_server_of(BOTH)
    for each in resources():
        found.api.apply(each)
    yield found
    for each in resources():
        found.api.delete(reference(each))


def versions(api: KubernetesApi) -> list[str]:
    kept = (api.get(reference(each)) for each in resources())
    return [str(each["metadata"]["resourceVersion"]) for each in kept if each is not None]


def imported(server: ApiServer, folder: Path, namespace: str) -> tuple[str, subprocess.CompletedProcess[str]]:
    """Run the command as a process, because the client reads KUBECONFIG only once a process; return the context too."""
    context = str(yaml.safe_load(server.kubeconfig.read_text())["current-context"])
    options = ["--context", context, "--namespace", namespace, "--out", str(folder)]
    ran = subprocess.run(
        [sys.executable, "-c", "from kafka_replication.infra.commands.app import main; main()", "import", *options],
        env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    return context, ran


def test_import_reads_a_cluster_and_changes_nothing_in_it(server: ApiServer, tmp_path: Path) -> None:
    before = versions(server.api)
    context, ran = imported(server, tmp_path / "out", NAMESPACE)
    assert versions(server.api) == before
    topologies = [yaml.safe_load(each.read_text()) for each in sorted((tmp_path / "out").rglob("topologies/*.yaml"))]
    found = {name: each for topology in topologies for name, each in topology["replications"].items()}
    assert {topology["strimzi"] for topology in topologies} == {"v1", "v1beta2"}, ran.stdout + ran.stderr
    assert {name: (each["kind"], each["topics"]) for name, each in found.items()} == {
        "workers": ("flow", ["orders"]),
        "mm2": ("mirrorMaker2", ["orders"]),
    }
    stack = yaml.safe_load((tmp_path / "out" / "stacks" / "Pulumi.prod.yaml").read_text())
    assert stack["config"]["kubernetes:context"] == context


def test_a_namespace_without_mirrormaker_is_reported(server: ApiServer, tmp_path: Path) -> None:
    _, ran = imported(server, tmp_path / "out", "default")
    assert ran.returncode != 0
    assert "nothing-to-import" in ran.stdout + ran.stderr
