"""`replicate import --as-flows`: the flow that is written for a mirror does what the mirror does."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.commands.app import app
from tests.infra.readmes import shown

RESOURCE = shown("name: mm2, namespace: kafka")


def imported(folder: Path, text: str, *words: str) -> tuple[int, str, dict[str, Any]]:
    file = folder / "running.yaml"
    file.write_text(text)
    out = folder / "mirrors"
    answer = CliRunner().invoke(
        app, ["import", str(file), "--out", str(out), "--as-flows", *words], catch_exceptions=False
    )
    topology = yaml.safe_load((out / "stacks" / "topologies" / "prod.yaml").read_text())
    return answer.exit_code, " ".join(answer.output.split()), topology["replications"]


def test_a_mirror_becomes_a_flow_that_changes_only_its_workers(tmp_path: Path) -> None:
    code, printed, replications = imported(tmp_path, RESOURCE)
    assert code == 0, printed
    assert "✓ mm2: moving it would change neither records nor offsets" in printed
    assert "replicate adopt prod --from kafka/mm2" in printed
    assert "--declared" not in printed, "nothing runs under the names of the project"
    assert replications["mm2"]["kind"] == "flow"
    assert "groupId" not in replications["mm2"].get("connect", {}), "the flow would join the workers of the mirror"


def test_each_mirror_of_a_resource_becomes_a_flow_of_its_own(tmp_path: Path) -> None:
    body = yaml.safe_load(RESOURCE)
    mirrors = body["spec"]["mirrors"]
    second = {**mirrors[0], "source": {"alias": "eucentral", "bootstrapServers": "kafka.eucentral.example.com:9092"}}
    body["spec"]["mirrors"] = [*mirrors, {**second, "topicsPattern": "clicks"}]
    code, printed, replications = imported(tmp_path, yaml.safe_dump(body))
    assert code == 0, printed
    sources = {name: (each["source"], each["topics"]) for name, each in replications.items()}
    assert sources == {
        "mm2-from-useast": ("useast", ["orders", "payments-.*"]),
        "mm2-from-eucentral": ("eucentral", ["clicks"]),
    }
    assert "✓ mm2-from-useast, mm2-from-eucentral: moving each would change neither records nor offsets" in printed


def test_as_flows_refuses_to_validate_because_the_mirror_has_other_names(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="not-validated"):
        imported(tmp_path, RESOURCE, "--validate")


@pytest.mark.parametrize(("heartbeats", "reported"), [(False, True), (True, False)], ids=["without", "with"])
def test_a_flow_without_heartbeats_is_reported_with_the_key_that_enables_them(
    tmp_path: Path, heartbeats: bool, reported: bool
) -> None:
    """A flow made from a mirror without heartbeats has no alert on heartbeats, and nobody noticed that before."""
    body = yaml.safe_load(RESOURCE)
    if heartbeats:
        body["apiVersion"] = "kafka.strimzi.io/v1beta2"
        target = body["spec"].pop("target")
        (mirror,) = body["spec"]["mirrors"]
        source = mirror.pop("source")
        mirror |= {"sourceCluster": "useast", "targetCluster": "uswest", "heartbeatConnector": {}}
        target = {key: each for key, each in target.items() if key in ("alias", "bootstrapServers")}
        body["spec"] |= {"connectCluster": "uswest", "clusters": [source, target]}
    _, output, replications = imported(tmp_path, yaml.safe_dump(body))
    assert replications["mm2"]["kind"] == "flow"
    assert ("No heartbeats: mm2." in output) == reported
    assert ("set `connectors.heartbeat.enabled: true`" in output) == reported
