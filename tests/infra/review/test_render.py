"""Rendered files: every object except the project's own Secrets, byte-equal each time. No other file is touched."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.deployments import flow_objects
from kafka_replication.infra.review.render import rendered_files, write_files
from kafka_replication.infra.stack.settings import read_settings
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology
from tests.infra.stacks import write_stack


def rendered(folder: Path, topology: dict[str, Any] | None = None, **config: Any) -> dict[str, str]:
    settings = read_settings("test", write_stack(folder, topology, **config))
    return rendered_files(settings, settings.values)


def test_the_files_are_the_objects_that_the_component_registers(tmp_path: Path) -> None:
    files = rendered(tmp_path)
    manifests = [yaml.safe_load(text) for name, text in files.items() if not name.endswith("kustomization.yaml")]
    assert manifests == [planned.manifest for planned in flow_objects(a_resolved_flow())]


def test_two_renders_of_the_same_input_are_byte_equal(tmp_path: Path) -> None:
    assert rendered(tmp_path) == rendered(tmp_path)


def test_a_secret_from_the_configuration_is_rendered_only_as_a_reference(tmp_path: Path) -> None:
    clusters = {"useast": a_cluster(tls={"trust": {"config": "useastCa"}}), "uswest": a_cluster("us-west-2")}
    files = rendered(tmp_path, a_topology(clusters=clusters), useastCa={"secure": "v1:abc"})
    assert yaml.safe_load(files["orders/required-secrets.yaml"]) == [
        {
            "name": "orders-source-credentials",
            "namespace": "mirror-orders",
            "keys": {"ca.crt": "configuration key useastCa"},
        }
    ]
    assert not [text for text in files.values() if "kind: Secret" in text or "v1:abc" in text]


def test_kustomizations_list_every_file_that_holds_an_object(tmp_path: Path) -> None:
    files = rendered(tmp_path)
    resources = yaml.safe_load(files["orders/kustomization.yaml"])["resources"]
    assert {f"orders/{name}" for name in resources} == {
        name for name in files if name.startswith("orders/") and not name.endswith("kustomization.yaml")
    }
    assert yaml.safe_load(files["kustomization.yaml"])["resources"] == ["orders"]


def test_the_users_of_a_region_are_rendered_apart_from_flows(tmp_path: Path) -> None:
    """The stack of a source's region may deploy no flow, but still declares the user that other stacks log in as."""
    password = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "useastPassword"}}
    source = a_cluster(authentication=password, kafkaUser={"cluster": "kafka", "namespace": "kafka"})
    topology = a_topology(clusters={"useast": source, "uswest": a_cluster("us-west-2")})
    files = rendered(tmp_path, topology, region="us-east-1", useastPassword={"secure": "v1:abc"})
    assert sorted(files) == [
        "kafka_users/kustomization.yaml",
        "kafka_users/required-secrets.yaml",
        "kafka_users/user-useast.yaml",
        "kustomization.yaml",
    ]
    assert yaml.safe_load(files["kafka_users/user-useast.yaml"])["kind"] == "KafkaUser"


def test_a_later_render_removes_the_files_of_a_removed_replication(tmp_path: Path) -> None:
    stacks, out = tmp_path / "stacks", tmp_path / "out"
    stacks.mkdir()
    two = a_topology(replications={"orders": a_flow(), "ledger": a_flow(topics=["ledger"])})
    write_files(rendered(stacks, two), out)
    assert (out / "ledger" / "connect.yaml").is_file()
    write_files(rendered(stacks), out)
    assert sorted(path.name for path in out.iterdir()) == ["kustomization.yaml", "orders"]


def test_a_folder_with_files_of_others_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    stacks, out = tmp_path / "stacks", tmp_path / "out"
    stacks.mkdir()
    out.mkdir()
    (out / "deployment.yaml").write_text("mine")
    with pytest.raises(CannotRunError, match="an earlier render did not write"):
        write_files(rendered(stacks), out)
    assert (out / "deployment.yaml").read_text() == "mine"
    assert [path.name for path in out.iterdir()] == ["deployment.yaml"]
