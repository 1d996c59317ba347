"""`replicate validate --topology`: a topology file alone, without a stack, a project or Pulumi."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.infra.commands.app import app
from kafka_replication.infra.stack.settings import KubernetesAccess, read_settings, settings_of_topology
from kafka_replication.infra.validate import run as validation
from kafka_replication.infra.validate.run import ValidationRun
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.onboard.importing.resources import FLOW, MIRROR
from tests.infra.stacks import write_stack

LOGIN = {"type": "scram-sha-512", "username": "mirror"}


@pytest.fixture(autouse=True)
def no_pulumi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)


def document(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = ValidationRun(settings_of_topology(file, None), Path("r"), declared=True).document()
    return found


def test_the_parameters_are_those_of_a_stack_with_this_topology(tmp_path: Path) -> None:
    stacks = write_stack(tmp_path, a_topology(a_flow()))
    settings = read_settings("test", stacks)
    of_stack = ValidationRun(settings, Path("r"), declared=True).document()
    alone = document(settings.topology_file)
    assert (alone["topology"], "topology" in of_stack) == ("topologies/test.yaml", False)
    assert alone["flows"] == of_stack["flows"]
    assert alone["flows"]


def test_what_an_import_wrote_can_be_validated(tmp_path: Path) -> None:
    (tmp_path / "read.yaml").write_text(FLOW)
    CliRunner().invoke(app, ["import", "read.yaml", "--out", "out"])
    (flow,) = document(tmp_path / "out" / "stacks" / "topologies" / "prod.yaml")["flows"]
    assert [each["connector"] for each in flow["connectors"]] == ["source", "checkpoint"]
    assert flow["connectorOffsetsTopic"] == "workers-offsets"


CONFIGURED: dict[str, dict[str, Any]] = {
    "the address of `useast` is": {"bootstrapServers": {"config": "servers"}},
    "a credential of `useast` is": {"authentication": {**LOGIN, "password": {"config": "servers"}}},
}


@pytest.mark.parametrize(("words", "keys"), CONFIGURED.items(), ids=["address", "password"])
def test_a_configuration_key_is_refused_without_a_stack(tmp_path: Path, words: str, keys: dict[str, Any]) -> None:
    topology = a_topology(a_flow())
    topology["clusters"]["useast"] = a_cluster(**keys)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(topology))
    with pytest.raises(ReplicationError, match=f"config-without-stack: {words} the configuration key `servers`"):
        document(tmp_path / "mine.yaml")


def test_a_mistake_in_the_topology_is_reported_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(a_topology(a_flow(topics=["("]))))
    with pytest.raises(ReplicationError, match=r"mine\.yaml:\d+:\d+: bad-pattern"):
        document(tmp_path / "mine.yaml")


def test_a_file_that_does_not_exist_is_named() -> None:
    with pytest.raises(CannotRunError, match=r"no-such-file: there is no such topology file, at none\.yaml"):
        settings_of_topology(Path("none.yaml").resolve(), None)


@pytest.mark.parametrize("topic", ["(", 7], ids=["a bad pattern", "a wrong form"])
def test_a_topology_with_mistakes_exits_with_code_2(tmp_path: Path, topic: object) -> None:
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(a_topology(a_flow(topics=[topic]))))
    assert CliRunner().invoke(app, ["validate", "--topology", "mine.yaml"]).exit_code == 2


def test_a_kubernetes_object_is_refused_as_a_topology(tmp_path: Path) -> None:
    (tmp_path / "mm2.yaml").write_text(MIRROR)
    with pytest.raises(CannotRunError, match=r"kubernetes-object: .* KafkaMirrorMaker2, .* `replicate import FILE"):
        settings_of_topology(tmp_path / "mm2.yaml", None)


REFUSED = {
    "same-file: `--html` and `--report` name the same file": ["test", "--report", "a.json", "--html", "./a.json"],
    "report-not-written: its folder does not exist, at none/a.html": ["test", "--html", "none/a.html"],
    "nothing-named: ": [],
    "option-without-topology: ": ["test", "--context", "a"],
    "option-with-topology: a stack is given": ["test", "--topology", "a.yaml"],
    "quick-not-published: `--publish` is given with `--depth quick`": ["test", "--depth", "quick", "--publish"],
    "option-with-topology: --publish is given": ["--publish", "--topology", "a.yaml"],
}


@pytest.mark.parametrize(("words", "arguments"), REFUSED.items(), ids=REFUSED)
def test_arguments_that_contradict_each_other_are_refused(words: str, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["validate", *arguments])
    assert words in result.output + str(result.exception)


def test_the_job_starts_outside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts with the parameters of the file; this test does not run the job itself."""
    started: list[str] = []

    def run_job(command: list[str], _: object) -> int:
        parameters = Path(command[command.index("--parameters") + 1])
        started.append(json.loads(parameters.read_text())["stack"])
        return 0

    monkeypatch.setattr(validation, "run_job", run_job)
    monkeypatch.setattr(validation, "_about_connectors", lambda *_: [])
    monkeypatch.setenv("PATH", os.defpath)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(a_topology(a_flow())))
    result = CliRunner().invoke(app, ["validate", "--topology", "mine.yaml"])
    assert result.exit_code == 0, result.output + str(result.exception)
    assert "the job validates what mine.yaml declares, but does not check that this is deployed" in result.output
    assert started == ["mine"]


def test_an_unusable_kubeconfig_is_reported_with_the_topology_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(a_topology(a_flow())))
    (tmp_path / "kubeconfig").write_text("{}")
    settings = settings_of_topology((tmp_path / "mine.yaml").resolve(), "nowhere")
    (said,) = validation._about_connectors(
        ValidationRun(settings, Path("r"), declared=True), KubernetesAccess(str(tmp_path / "kubeconfig"), "nowhere")
    )
    assert "kubeconfig-unusable: " in said
    assert said.endswith(
        "at mine.yaml. The command reads from this cluster. Remedy: name another context with `--context`, or set "
        "KUBECONFIG."
    )
