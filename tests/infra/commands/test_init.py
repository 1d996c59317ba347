"""`replicate init`: what it writes is valid at once, and a refusal leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from components.contract.problems import CannotRunError, ReplicationError
from infra.commands.app import app
from infra.new_project import files
from infra.new_project.answers import Answers, ClusterAnswers
from infra.new_project.files import project_files, write_project
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
    package="kafka-replication==0.1.0",
)
REPLICATE = (sys.executable, "-c", "from infra.commands.app import main; main()")
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


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    write_project(ANSWERS, folder)
    return folder


def test_a_new_project_can_be_checked_and_rendered_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "mine", "--yes").exit_code == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert run("check").output == "✓ local: 0 errors, 0 warnings\n✓ prod-us-west-2: 0 errors, 0 warnings\n"
    assert run("render", "prod-us-west-2", "--out", str(tmp_path / "out")).exit_code == 0
    assert (tmp_path / "out" / "useast-to-uswest" / "connect.yaml").is_file()
    assert json.loads(run("environments").output) == ["prod"]
    acls = run("acls", "prod-us-west-2")
    assert "User:validator on useast" in acls.stdout
    assert acls.stderr == "", "what `replicate validate` needs beside the ACLs that are printed"


def test_the_facts_that_no_option_gave_are_listed_as_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a reader takes a made-up region or address for one of their own."""
    monkeypatch.chdir(tmp_path)
    given = ("--source", "fra", "--source-region", "eu-central-1", "--topics", "orders", "--groups", "checkout-.*")
    assert (
        "Examples, because these options were not given: --source-servers kafka.fra.example.com:9093 --target uswest "
        "--target-region us-west-2 --target-servers kafka.uswest.example.com:9093 --strimzi 1.2\n"
        "Correct them in mine/stacks/topologies/prod.yaml. If the region of the target is wrong, start again in a new "
        "folder with --target-region: the stack is named after it.\n"
    ) in run("init", "mine", "--yes", *given).output
    west = run("init", "west", "--yes", *given, "--target-region", "us-west-2").output
    assert "Correct them in west/stacks/topologies/prod.yaml.\n" in west
    rest = ("--source-servers", "a:1", "--target", "b", "--target-region", "c", "--target-servers", "d:1")
    assert "Examples" not in run("init", "ours", "--yes", *given, *rest, "--strimzi", "1.2").output


def test_the_flow_gets_the_name_of_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "mine", "--yes", "--flow", "sales").exit_code == 0
    topology = yaml.safe_load((tmp_path / "mine" / "stacks" / "topologies" / "prod.yaml").read_text())
    assert list(topology["replications"]) == ["sales"]
    assert "create the namespace `mirror-sales`" in (tmp_path / "mine" / "README.md").read_text()


def test_a_requirement_that_only_this_machine_can_install_is_pointed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first command of the new README installs it, and so does every workflow."""
    monkeypatch.chdir(tmp_path)
    hint = "Before anybody else installs it, replace that with a wheel or a Git URL."
    assert hint in run("init", "mine", "--yes").output
    assert hint not in run("init", "ours", "--yes", "--package", "./replication.whl").output
    assert "\n./replication.whl\n" in (tmp_path / "ours" / "requirements.txt").read_text()


def test_the_answers_are_in_the_files(project: Path) -> None:
    topology = yaml.safe_load((project / "stacks" / "topologies" / "prod.yaml").read_text())
    assert topology["clusters"]["uswest"]["bootstrapServers"] == ANSWERS.target.servers
    assert topology["replications"]["useast-to-uswest"] == {
        "kind": "flow",
        "source": "useast",
        "target": "uswest",
        "topics": ["orders", "payments-.*"],
        "groups": ["checkout-.*"],
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


def test_the_local_stack_of_a_new_project_is_that_of_this_repository(project: Path) -> None:
    """The traffic that `replicate local` makes is for its topics and groups. Copy these files into the templates."""
    for file in ("Pulumi.local.yaml", "topologies/local.yaml", "topology.schema.json", "promotion.schema.json"):
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
        pytest.param({"strimzi": "latest"}, "not-accepted", "strimzi", id="no version of Strimzi"),
        pytest.param({"topics": ()}, "no-topics", "replications.useast-to-uswest.topics", id="no topic"),
        pytest.param(
            {"topics": ("(",)}, "bad-pattern", "replications.useast-to-uswest.topics.0", id="a broken pattern"
        ),
    ],
)
def test_a_wrong_answer_is_reported_and_nothing_is_written(
    tmp_path: Path, change: dict[str, Any], code: str, where: str
) -> None:
    with pytest.raises(ReplicationError) as raised:
        write_project(replace(ANSWERS, **change), tmp_path / "mine")
    assert [(problem.code, problem.where) for problem in raised.value.problems] == [(code, where)]
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


def test_the_program_of_a_new_project_runs_beside_folders_named_like_our_packages(project: Path) -> None:
    """Without the engine there is no configuration, so the program loads and then reports what is missing."""
    for name in ("components", "infra"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("")
    code = "import runpy; runpy.run_path('.', run_name='__main__')"
    answer = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)
    assert "no-topology" in answer.stderr.splitlines()[-1], answer.stderr


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["init", str(tmp_path / "mine"), "--source", "eu"], input="never read\n")
    assert answer.exit_code == 0
    assert "eu:" in (tmp_path / "mine" / "stacks" / "topologies" / "prod.yaml").read_text()


def test_the_next_commands_can_be_pasted_into_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "  cd 'my project'\n" in run("init", "my project", "--yes").output


@pytest.mark.usefixtures("heeded")
def test_ctrl_c_at_a_question_ends_with_130_and_writes_nothing(tmp_path: Path) -> None:
    """Otherwise a script would take it for a refusal, which ends with 1."""
    terminal, stdin = os.openpty()
    command = [*REPLICATE, "init", str(tmp_path / "mine")]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        question = process.stdout.read(len("Name of the project"))
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=60) == 130, question
        finally:
            process.kill()
    os.close(stdin)
    os.close(terminal)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_is_refused_before_any_question(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("theirs")
    terminal, stdin = os.openpty()
    command = [*REPLICATE, "init", str(tmp_path)]
    answer = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False, timeout=60)
    os.close(stdin)
    os.close(terminal)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "folder-not-empty" in answer.stderr
