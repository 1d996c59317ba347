"""A rendered folder as Argo CD and Flux read it: the real kustomize builds every object once and unchanged."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.flows.resolved import config_values
from kafka_replication.infra.review.render import rendered_files, write_files
from kafka_replication.infra.stack.settings import StackSettings, read_settings, stack_names
from tests.builders import a_cluster, a_flow, a_topology
from tests.go_programs import KUSTOMIZE, go_program
from tests.infra.stacks import write_stack
from tests.repository import STACKS

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def kustomize() -> Path:
    return go_program(KUSTOMIZE)


def addresses_of(settings: StackSettings) -> dict[str, str]:
    """An address for every value that a topology takes from the configuration, as on the local stack."""
    clusters = settings.topology.clusters.values()
    return {value.config: "kafka.example.com:9093" for cluster in clusters for value in config_values(cluster)}


def objects_in(files: dict[str, str]) -> list[dict[str, Any]]:
    """The rendered objects, without kustomizations and lists of required Secrets."""
    names = [name for name in files if not name.endswith(("kustomization.yaml", "required-secrets.yaml"))]
    return [yaml.safe_load(files[name]) for name in names]


def built(kustomize: Path, folder: Path) -> list[dict[str, Any]]:
    answer = subprocess.run([kustomize, "build", str(folder)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == "", "kustomize warns of nothing"
    return list(yaml.safe_load_all(answer.stdout))


def by_identity(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(
        objects, key=lambda each: (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"])
    )


@pytest.mark.parametrize("stack", stack_names(STACKS))
def test_kustomize_builds_exactly_the_objects_of_every_example(stack: str, kustomize: Path, tmp_path: Path) -> None:
    settings = read_settings(stack, STACKS)
    files = rendered_files(settings, addresses_of(settings))
    write_files(files, tmp_path)
    objects = built(kustomize, tmp_path)
    assert by_identity(objects) == by_identity(objects_in(files))
    kinds = [each["kind"] for each in objects]
    assert kinds == sorted(kinds, key="Namespace".__ne__), "what lies in a namespace comes after it"


def test_kustomize_ignores_the_lists_of_required_secrets(kustomize: Path, tmp_path: Path) -> None:
    """The folder builds without credentials: required-secrets.yaml is not an object, and no kustomization lists it."""
    password = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "useastPassword"}}
    source = a_cluster(authentication=password, kafkaUser={"cluster": "kafka", "namespace": "kafka"})
    topology = a_topology(clusters={"useast": source, "uswest": a_cluster("us-west-2")})
    files = rendered(tmp_path, topology, useastPassword={"secure": "v1:abc"})
    write_files(files, tmp_path / "out")
    assert {"orders/required-secrets.yaml", "kafka_users/required-secrets.yaml"} <= set(files)
    assert by_identity(built(kustomize, tmp_path / "out")) == by_identity(objects_in(files))


def test_kustomize_builds_two_flows_in_a_namespace_that_one_of_them_creates(kustomize: Path, tmp_path: Path) -> None:
    flows = {
        "orders": a_flow(namespace={"name": "mirror"}),
        "ledger": a_flow(topics=["ledger"], namespace={"name": "mirror", "create": False}),
    }
    files = rendered(tmp_path, a_topology(replications=flows))
    write_files(files, tmp_path / "out")
    assert by_identity(built(kustomize, tmp_path / "out")) == by_identity(objects_in(files))


def test_adding_or_removing_a_flow_changes_no_file_of_the_other_flows(tmp_path: Path) -> None:
    """Whoever reviews a rendered folder sees the files of the flow and one changed line in the top kustomization."""
    orders, ledger, audit = (a_flow(), a_flow(topics=["ledger"]), a_flow(topics=["audit"]))
    two = rendered(tmp_path, a_topology(replications={"orders": orders, "audit": audit}))
    three = rendered(tmp_path, a_topology(replications={"orders": orders, "ledger": ledger, "audit": audit}))
    changed = {name for name in two | three if two.get(name) != three.get(name)}
    assert {name.split("/")[0] for name in changed} == {"kustomization.yaml", "ledger"}
    lines = [text.splitlines() for text in (two["kustomization.yaml"], three["kustomization.yaml"])]
    assert [line for line in lines[1] if line not in lines[0]] == ["- ledger"]
    assert [line for line in lines[1] if line != "- ledger"] == lines[0]


def rendered(folder: Path, topology: dict[str, Any], **config: Any) -> dict[str, str]:
    settings = read_settings("test", write_stack(folder, topology, **config))
    return rendered_files(settings, settings.values)
