"""The workflow that a user with a folder of YAML copies: as safe as ours, and its commands run in such a repository."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.infra.review.pull_request import MARKER
from tests.infra.review.yaml.folders import FOLDER
from tests.repository import ROOT
from tests.workflows.test_actionlint import USES, lint
from tests.workflows.workflow import WORKFLOWS, Runner, commit, git, load, steps_of

FILE = ROOT / "infra" / "review" / "yaml" / "workflow.yaml"
WORKFLOW: dict[str, Any] = yaml.safe_load(FILE.read_text())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A machine with the package installed, on a branch of a repository that holds only YAML."""
    folder, temporary = tmp_path / "repository", tmp_path / "temporary"
    (folder / "kafka").mkdir(parents=True)
    temporary.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "change")
    for name, text in FOLDER.items():
        (folder / "kafka" / name).write_text(text)
    commit(folder)
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return Runner(folder, temporary, {"github.base_ref": "main"}, {"PATH": path, "PYTHONPATH": str(ROOT)})


def run(runner: Runner, old: str, new: str) -> tuple[bool, dict[str, Any]]:
    """Commit a change and run all steps except the installation; returns whether all succeeded, and their output."""
    file = runner.workspace / "kafka" / "mm2.yaml"
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))
    commit(runner.workspace)
    job = WORKFLOW["jobs"]["review"]
    steps = [step for step in job["steps"] if step.get("name") != "Install"]
    answers = runner.run_job({**job, "steps": steps})
    return all(answer.returncode == 0 for answer in answers.values()), json.loads(runner.outputs["review"])


def test_actionlint_finds_nothing() -> None:
    answer = lint(FILE)
    assert (answer.returncode, answer.stdout) == (0, "")


def test_the_workflow_uses_only_the_actions_of_our_own_workflows() -> None:
    ours = {step["uses"] for file in WORKFLOWS for step in steps_of(load(file.stem)) if "uses" in step}
    assert {step["uses"] for step in steps_of(WORKFLOW) if "uses" in step} <= ours
    lines = [line for line in FILE.read_text().splitlines() if "uses:" in line]
    assert all(USES.match(line) for line in lines)


def test_only_the_comment_job_may_write_and_it_runs_no_code_of_the_pull_request() -> None:
    assert WORKFLOW["permissions"] == {}
    rights = {name: job["permissions"] for name, job in WORKFLOW["jobs"].items()}
    assert rights == {"review": {"contents": "read"}, "comment": {"pull-requests": "write"}}
    (step,) = WORKFLOW["jobs"]["comment"]["steps"]
    assert step == load("review")["jobs"]["comment"]["steps"][0]
    assert f"startsWith('{MARKER}')" in step["with"]["script"]
    assert "secrets." not in FILE.read_text()


def test_no_command_contains_an_expression_and_no_token_is_kept() -> None:
    assert not [step for step in steps_of(WORKFLOW) if "${{" in step.get("run", "")]
    (checkout,) = [step for step in steps_of(WORKFLOW) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}


def test_the_comment_says_what_the_change_does(runner: Runner) -> None:
    succeeded, result = run(runner, "topicsPattern: stock", "topicsPattern: other")
    assert succeeded
    assert "The most severe effect: **data**" in result["comment"]
    assert result["comment"].strip() in runner.summary


def test_a_mistake_fails_the_job_and_is_still_posted(runner: Runner) -> None:
    succeeded, result = run(runner, "topicsPattern: stock", "topicsPattern: stock,orders")
    assert not succeeded
    assert "**Mistakes that this change introduces: 1**" in result["comment"]
