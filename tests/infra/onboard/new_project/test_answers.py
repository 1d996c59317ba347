"""What a new project is made from: any valid answers make a valid project, and wrong ones leave nothing behind."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.infra.onboard.new_project import files
from kafka_replication.infra.onboard.new_project.answers import Answers, ClusterAnswers, assumed
from kafka_replication.infra.onboard.new_project.files import project_files, write_project
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.infra.stack.stack_checks import problems
from kafka_replication.infra.stack.validation_job import in_cluster
from tests.go_programs import ACTIONLINT, go_program
from tests.repository import ROOT, STACKS

ANSWERS = Answers(
    name="mine",
    environment="prod",
    source=ClusterAnswers("useast", "us-east-1", "kafka.useast.example.com:9093"),
    target=ClusterAnswers("uswest", "us-west-2", "b1.example.com:9093,b2.example.com:9093"),
    topics=("orders", "payments-.*"),
    groups=("checkout-.*",),
    strimzi="1.2",
    context="west",
    package="kafka-replication==1.0.0",
)
WORKFLOWS = ("review", "promote", "drift")
INSTALL = (
    "python -m venv .venv\n.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt\n"
)
#: A command in this repository's workflows -> the command in a user's workflows, which have no Makefile.
THEIRS = {
    "make setup": INSTALL,
    "make touched-stacks": '.venv/bin/replicate touched --against "$BASE"',
    "make review": '.venv/bin/replicate review --against "$BASE" --out review',
    "make promote": '.venv/bin/replicate promote --yes --environment "$ENVIRONMENT"',
    "make --silent environments": ".venv/bin/replicate environments",
    "make --silent drift": ".venv/bin/replicate diff --against cluster --markdown --fail-on none",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    write_project(ANSWERS, folder)
    return folder


def test_the_answers_are_in_the_files(project: Path) -> None:
    topology = yaml.safe_load((project / "stacks" / "topologies" / "prod.yaml").read_text())
    assert topology["clusters"]["uswest"]["bootstrapServers"] == ANSWERS.target.servers
    assert topology["replications"]["useast-to-uswest"] == {
        "kind": "flow",
        "source": "useast",
        "target": "uswest",
        "topics": ["orders", "payments-.*"],
        "groups": ["checkout-.*"],
        "connect": {"resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}}},
        "namespace": {"create": False},
    }
    assert yaml.safe_load((project / "stacks" / "Pulumi.prod-us-west-2.yaml").read_text()) == {
        "config": {"replication:topology": "prod", "replication:region": "us-west-2", "kubernetes:context": "west"}
    }
    assert yaml.safe_load((project / "Pulumi.yaml").read_text())["name"] == "mine"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            {"source": ClusterAnswers("US_East", "a", "[2001:db8::1]:9093")}, id="an alias with an underscore"
        ),
        pytest.param({"strimzi": "0.50"}, id="the older API"),
        pytest.param({"topics": ("on", "1.5", "no"), "groups": ("null",)}, id="words that YAML reads as other types"),
        pytest.param(
            {"source": ClusterAnswers("no", "on", "a:1"), "environment": "true"},
            id="names that YAML reads as other types",
        ),
    ],
)
def test_unusual_answers_make_a_valid_project(tmp_path: Path, change: dict[str, Any]) -> None:
    write_project(replace(ANSWERS, **change), tmp_path / "mine")


def test_no_placeholder_is_left(project: Path) -> None:
    left = {
        path.name: found
        for path in project.rglob("*")
        if path.is_file() and (found := re.findall(r"@[A-Z_]+@", path.read_text()))
    }
    assert left == {}


SCHEMAS = tuple(f"{name}.schema.json" for name in ("topology", "stack", "promotion"))


def test_the_local_stack_of_a_new_project_is_that_of_this_repository(project: Path) -> None:
    """The traffic that `replicate local` makes is for its topics and groups. Copy these files into the templates."""
    for file in ("Pulumi.local.yaml", "topologies/local.yaml", *SCHEMAS):
        assert (project / "stacks" / file).read_text() == (STACKS / file).read_text()


def test_the_readme_of_a_new_project_is_short(project: Path) -> None:
    assert len((project / "README.md").read_text().splitlines()) <= 40


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_workflows_of_a_new_project_match_those_of_this_repository(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{name}.yaml").read_text()
    workflow = yaml.safe_load(text)
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            for ours, theirs in THEIRS.items():
                if ours in step.get("run", ""):
                    step["run"] = step["run"].replace(ours, theirs)
            if step.get("name") == "Set up":
                step["name"] = "Install"
    assert yaml.safe_load(project_files(ANSWERS)[f".github/workflows/{name}.yaml"]) == workflow


@pytest.mark.process
def test_actionlint_finds_no_problem_in_the_workflows_of_a_new_project(project: Path) -> None:
    workflows = [str(project / ".github" / "workflows" / f"{name}.yaml") for name in WORKFLOWS]
    command = [str(go_program(ACTIONLINT)), "-no-color", "-shellcheck=", "-pyflakes=", *workflows]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        pytest.param({"name": "a name"}, "bad-project-name", "--name", id="a name that Pulumi refuses"),
        pytest.param({"environment": "Prod"}, "bad-environment", "--environment", id="an environment in capitals"),
        pytest.param({"flow": "My_Flow"}, "bad-flow-name", "--flow", id="a flow's name that Kubernetes refuses"),
        pytest.param({"flow": ""}, "bad-flow-name", "--flow", id="an empty name of the flow"),
        pytest.param({"environment": "local"}, "bad-environment", "--environment", id="the name of the local stack"),
        pytest.param(
            {"source": ClusterAnswers("us.east", "a", "b:1")}, "alias-breaks-topic-names", "--source", id="a dot"
        ),
        pytest.param({"target": ClusterAnswers("", "a", "b:1")}, "alias-breaks-topic-names", "--target", id="no alias"),
        pytest.param(
            {"target": ClusterAnswers("b-", "a", "b:1")}, "alias-breaks-topic-names", "--target", id="a dash at the end"
        ),
        pytest.param({"target": ANSWERS.source}, "equal-aliases", "--target", id="equal aliases"),
        pytest.param(
            {"target": ClusterAnswers("USEAST", "a", "b:1")},
            "aliases-share-secrets",
            "--target",
            id="aliases that share Secrets",
        ),
        pytest.param({"source": ClusterAnswers("a", "", "b:1")}, "bad-region", "--source-region", id="no region"),
        pytest.param(
            {"source": ClusterAnswers("a", "b", "c")}, "server-without-port", "--source-servers", id="no port"
        ),
        pytest.param(
            {"target": ClusterAnswers("a", "b", "c:1,")}, "server-without-port", "--target-servers", id="a comma"
        ),
        pytest.param(
            {"target": ClusterAnswers("a", "b", "c:70000")},
            "server-without-port",
            "--target-servers",
            id="no such port",
        ),
        pytest.param({"strimzi": "latest"}, "not-accepted", "--strimzi", id="no version of Strimzi"),
        pytest.param({"topics": ()}, "no-topics", "--topics", id="no topic"),
        pytest.param({"topics": ("(",)}, "bad-pattern", "--topics", id="a broken pattern"),
    ],
)
def test_a_wrong_answer_is_reported_and_nothing_is_written(
    tmp_path: Path, change: dict[str, Any], code: str, where: str
) -> None:
    with pytest.raises(ReplicationError) as raised:
        write_project(replace(ANSWERS, **change), tmp_path / "mine")
    (problem,) = raised.value.problems
    assert (problem.code, problem.where, problem.place) == (code, where, None), "its file is not written"
    assert list(tmp_path.iterdir()) == []


def test_all_wrong_answers_are_reported_at_once(tmp_path: Path) -> None:
    wrong = replace(ANSWERS, name="", environment="", source=ClusterAnswers(".", "", ""))
    with pytest.raises(ReplicationError) as raised:
        write_project(wrong, tmp_path / "mine")
    assert {problem.where for problem in raised.value.problems} == {
        *("--name", "--environment", "--source", "--source-region", "--source-servers")
    }


@pytest.mark.parametrize("is_file", [False, True], ids=["a folder with a file", "a file"])
def test_init_refuses_to_overwrite_files(tmp_path: Path, is_file: bool) -> None:
    folder = tmp_path / "mine"
    kept = folder if is_file else folder / "Pulumi.yaml"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("theirs")
    with pytest.raises(CannotRunError, match="folder-not-empty"):
        write_project(ANSWERS, folder)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]
    assert kept.read_text() == "theirs"


def test_a_folder_with_only_a_git_repository_and_a_venv_counts_as_empty(tmp_path: Path) -> None:
    for name in (".git", ".venv"):
        (tmp_path / name).mkdir()
    write_project(ANSWERS, tmp_path)
    assert (tmp_path / "Pulumi.yaml").is_file()
    assert {".git", ".venv"} <= {path.name for path in tmp_path.iterdir()}


def test_a_full_disk_leaves_no_files_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "read_settings", full)
    with pytest.raises(OSError, match="No space"):
        write_project(ANSWERS, tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_the_program_of_a_new_project_runs_beside_folders_named_like_our_packages(project: Path) -> None:
    """Without the engine there is no configuration, so the program loads and then reports what is missing."""
    for name in ("components", "infra"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("")
    code = "import runpy; runpy.run_path('.', run_name='__main__')"
    answer = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)
    assert "no-topology" in answer.stderr.splitlines()[-1], answer.stderr


def test_each_assumed_fact_names_a_key_of_its_file_and_every_value_of_it(project: Path) -> None:
    """A key of a template that was renamed would send the reader to a place that does not exist."""
    facts = list(assumed(replace(ANSWERS, context="west"), ()))
    assert len(facts) > 12
    for file, (key, text) in facts:
        document = yaml.safe_load((project / file).read_text())
        for value in at_key(document.get("config", document), key.split(".")):
            assert [leave for leave in leaves(value) if leave.lower() not in text.lower()] == [], key


def at_key(document: Any, key: list[str]) -> list[Any]:
    if not key:
        return [document]
    keys = list(document) if key[0] == "*" else key[:1]
    return [found for each in keys for found in at_key(document[each], key[1:])]


def leaves(value: Any) -> list[str]:
    """The texts in a value; what follows from another fact, such as that a namespace exists, is no text."""
    if isinstance(value, dict | list):
        return [leaf for each in (value.values() if isinstance(value, dict) else value) for leaf in leaves(each)]
    return [value] if isinstance(value, str) else []


def test_the_commented_validation_of_the_stack_is_valid_once_its_image_is_filled_in(project: Path) -> None:
    """It is the only thing in a new project that publishes verdicts between deployments."""
    file = project / "stacks" / "Pulumi.prod-us-west-2.yaml"
    before, _, commented = file.read_text().partition("  # replication:validation:")
    file.write_text(f"{before}  replication:validation:{commented.replace('  #', ' ').replace('DIGEST', '0' * 64)}")
    settings = read_settings("prod-us-west-2", project / "stacks")
    assert problems(settings) == []
    assert in_cluster(settings.validation) == InCluster(
        image=f"registry.example.com/replication-validation@sha256:{'0' * 64}"
    )
