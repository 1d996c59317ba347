"""`replicate diff` against what runs, as `replicate import` reads it: what deploying the stack instead would change."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from components.contract.problems import CannotRunError
from infra.commands.app import app
from infra.onboard.importing.deployment_changes import changes_of_imports
from infra.onboard.importing.reading import read_objects
from infra.onboard.importing.topologies import imported_topologies
from tests.infra.onboard.importing.resources import CASES, edited
from tests.infra.readmes import shown

SEVERAL_OR_WRONG = {
    *("both-directions-in-one", "dedicated-mirrormaker", "image-built-by-the-operator", "leftovers-of-older-apis"),
    *("one-alias-for-two-clusters", "one-worker-group-for-two", "other-connectors", "two-flows-on-one-connect"),
}
#: Those of which the import makes one stack without an error.
COMPARABLE = [file for file in CASES if file.stem not in SEVERAL_OR_WRONG]
MIRROR = shown("metadata: {name: mm2,")
OTHER = (
    MIRROR.replace("name: mm2,", "name: other,")
    .replace("mirrormaker2-cluster", "other")
    .replace("orders,payments-.*", "logs")
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that was imported from `running.yaml`, and is the working directory."""
    (tmp_path / "running.yaml").write_text(MIRROR)
    imported = CliRunner().invoke(app, ["import", str(tmp_path / "running.yaml"), "--out", str(tmp_path / "mirrors")])
    assert imported.exit_code == 0, imported.output
    monkeypatch.chdir(tmp_path / "mirrors")
    return tmp_path / "mirrors"


def diff(*arguments: str, text: str | None = None) -> tuple[int, dict[str, Any]]:
    answer = CliRunner().invoke(app, ["diff", "--json", *arguments], input=text)
    if isinstance(answer.exception, CannotRunError):
        raise answer.exception
    (stack,) = json.loads(answer.output)["stacks"]
    return answer.exit_code, stack


def edit(project: Path, old: str, new: str) -> None:
    topology = project / "stacks" / "topologies" / "prod.yaml"
    assert old in topology.read_text()
    topology.write_text(topology.read_text().replace(old, new))


@pytest.mark.parametrize("file", COMPARABLE, ids=[file.stem for file in COMPARABLE])
def test_an_imported_project_changes_what_the_import_said(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_objects([str(file)], "default")
    (topology,), _ = imported_topologies(read, None, "imported")
    CliRunner().invoke(app, ["import", str(file), "--out", str(tmp_path / "mirrors")])
    monkeypatch.chdir(tmp_path / "mirrors")
    _, stack = diff("prod", "--against", str(file))
    said = [effect for change in changes_of_imports(topology, read.of("ConfigMap")) for effect in change.effects]
    assert sorted((effect["code"], effect["what"]) for effect in stack["effects"]) == sorted(
        (effect.code, effect.what) for effect in said
    )


def test_a_topic_that_the_stack_no_longer_selects_is_a_data_effect_at_its_line(project: Path) -> None:
    edit(project, "    - payments-.*\n", "")
    code, stack = diff("prod", "--against", "../running.yaml", "--fail-on", "data")
    assert code == 1
    worst = stack["effects"][0]
    assert (worst["severity"], worst["code"]) == ("data", "topics-stop")
    assert worst["place"].startswith("stacks/topologies/prod.yaml:")


@pytest.mark.usefixtures("project")
def test_what_the_stack_does_not_declare_keeps_running_and_is_named() -> None:
    _, stack = diff("--against", "-", text=f"{MIRROR}---\n{OTHER}")
    assert stack["against"] == "standard input"
    assert "deploying it leaves them running: KafkaMirrorMaker2 kafka/other." in stack["notAsked"]
    assert {effect["severity"] for effect in stack["effects"]} == {"restart"}


@pytest.mark.usefixtures("project")
def test_several_files_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(OTHER)
    _, stack = diff("--against", "../running.yaml", "--against", "../other.yaml")
    assert "KafkaMirrorMaker2 kafka/other" in stack["notAsked"]


@pytest.mark.usefixtures("project")
def test_what_does_not_run_yet_is_added() -> None:
    _, stack = diff("--against", "-", text=OTHER)
    assert ("added", "KafkaMirrorMaker2", "mm2") in {
        (change["change"], change["kind"], change["name"]) for change in stack["objects"]
    }


@pytest.mark.usefixtures("project")
def test_a_credential_in_the_input_is_not_printed() -> None:
    secret = "{sync.topic.acls.enabled: false, ssl.key.password: hunter2, producer.override.sasl.jaas.config: hunter2}"
    _, stack = diff("--against", "-", text=edited(MIRROR, ("{sync.topic.acls.enabled: false}", secret)))
    assert "plain-text-credential" in stack["notAsked"]
    assert "hunter2" not in json.dumps(stack)


@pytest.mark.usefixtures("project")
def test_a_value_without_a_rule_is_counted_as_not_judged() -> None:
    text = edited(MIRROR, ("replicas: 1", "replicas: 1\n  jvmOptions: {-Xmx: 3g}"))
    answer = CliRunner().invoke(app, ["diff", "--against", "-"], input=text)
    assert "restart known, 1 change not judged" in " ".join(answer.output.split())


def test_a_dedicated_mirror_maker_is_compared_with_the_replication_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("clusters = east, west", "east.bootstrap.servers = east:9092", "west.bootstrap.servers = west:9092")
    text = "\n".join((*lines, "east->west.enabled = true", "east->west.topics = orders", "east->west.groups = app"))
    (tmp_path / "mm2.properties").write_text(text)
    CliRunner().invoke(app, ["import", str(tmp_path / "mm2.properties"), "--out", str(tmp_path / "mirrors")])
    monkeypatch.chdir(tmp_path / "mirrors")
    edit(tmp_path / "mirrors", "- orders", "- returns")
    _, stack = diff("--against", "../mm2.properties")
    assert "topics-stop" in {effect["code"] for effect in stack["effects"]}


@pytest.mark.usefixtures("project")
def test_a_folder_of_a_kustomization_is_refused_with_the_command_that_prints_it(tmp_path: Path) -> None:
    (tmp_path / "kustomized").mkdir()
    (tmp_path / "kustomized" / "mm2.yaml").write_text(MIRROR)
    (tmp_path / "kustomized" / "kustomization.yaml").write_text("resources: [mm2.yaml]\nnamePrefix: prod-\n")
    with pytest.raises(CannotRunError, match=r"kustomize build \.\./kustomized"):
        diff("--against", "../kustomized")


@pytest.mark.usefixtures("project")
def test_a_folder_without_anything_to_compare_with_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CannotRunError, match="nothing-to-compare-with"):
        diff("--against", "../empty")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("changed", "twice"),
    [
        pytest.param([], True, id="the same topics"),
        pytest.param([("orders,payments-.*", "logs")], False, id="other topics"),
        pytest.param([("kafka.useast", "kafka.eunorth")], False, id="another source"),
    ],
)
def test_what_keeps_running_under_another_name_replicates_twice(changed: list[tuple[str, str]], twice: bool) -> None:
    text = edited(MIRROR.replace("mirrormaker2-cluster", "other"), ("name: mm2,", "name: other,"), *changed)
    code, stack = diff("prod", "--against", "-", "--fail-on", "data", text=text)
    assert code == int(twice)
    what = "KafkaMirrorMaker2 kafka/other keeps running between the same clusters, and each record of a topic that both"
    found = [effect["what"] for effect in stack["effects"] if effect["code"] == "runs-beside"]
    assert found == ([f"{what} select is written twice"] if twice else [])


@pytest.mark.usefixtures("project")
def test_what_keeps_running_and_cannot_be_compared_is_named() -> None:
    _, stack = diff("--against", "-", text=f"{MIRROR}---\n{edited(OTHER, ('replicas: 1', 'replicas: 0'))}")
    assert stack["notAsked"].endswith("written twice is unknown for KafkaMirrorMaker2 kafka/other.")
