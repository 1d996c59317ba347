"""`replicate import --as-flows`: the flow that is written for a mirror does what the mirror does."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from components.contract.problems import CannotRunError
from infra.commands.app import app
from tests.infra.readmes import Readme
from tests.repository import ROOT

BLOCKS = list(Readme(ROOT / "infra" / "README.md").blocks())
(RESOURCE,) = [each.text for each in BLOCKS if "name: mm2, namespace: kafka" in each.text]


def imported(folder: Path, text: str, *words: str) -> tuple[int, str, dict[str, Any]]:
    file = folder / "running.yaml"
    file.write_text(text)
    out = folder / "mirrors"
    answer = CliRunner().invoke(
        app, ["import", str(file), "--out", str(out), "--as-flows", *words], catch_exceptions=False
    )
    topology = yaml.safe_load((out / "stacks" / "topologies" / "prod.yaml").read_text())
    return answer.exit_code, " ".join(answer.output.split()), topology["replications"]


def test_a_mirror_becomes_a_flow_that_changes_nothing_but_its_workers(tmp_path: Path) -> None:
    code, said, replications = imported(tmp_path, RESOURCE)
    assert code == 0, said
    assert "✓ mm2: moving it would change neither records nor offsets" in said
    assert "replicate adopt prod --from kafka/mm2" in said
    assert "--declared" not in said, "nothing runs under the names of the project"
    assert replications["mm2"]["kind"] == "flow"
    assert "groupId" not in replications["mm2"].get("connect", {}), "the flow would join the workers of the mirror"


def test_each_mirror_of_a_resource_becomes_a_flow_of_its_own(tmp_path: Path) -> None:
    body = yaml.safe_load(RESOURCE)
    mirrors = body["spec"]["mirrors"]
    second = {**mirrors[0], "source": {"alias": "eucentral", "bootstrapServers": "kafka.eucentral.example.com:9092"}}
    body["spec"]["mirrors"] = [*mirrors, {**second, "topicsPattern": "clicks"}]
    code, said, replications = imported(tmp_path, yaml.safe_dump(body))
    assert code == 0, said
    sources = {name: (each["source"], each["topics"]) for name, each in replications.items()}
    assert sources == {
        "mm2-from-useast": ("useast", ["orders", "payments-.*"]),
        "mm2-from-eucentral": ("eucentral", ["clicks"]),
    }
    assert "✓ mm2-from-useast, mm2-from-eucentral: moving each would change neither records nor offsets" in said


def test_what_runs_under_other_names_cannot_be_validated(tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="not-validated"):
        imported(tmp_path, RESOURCE, "--validate")


@pytest.mark.parametrize(("heartbeats", "said"), [(False, True), (True, False)], ids=["without", "with"])
def test_who_would_not_be_called_is_said_with_what_to_do(tmp_path: Path, heartbeats: bool, said: bool) -> None:
    """Nobody noticed that a flow from a mirror without heartbeats has no alert on them."""
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
    assert ("No heartbeats: mm2." in output) == said
    assert ("set `connectors.heartbeat.enabled: true`" in output) == said
