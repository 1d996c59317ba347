"""Workflow files are valid, have the fewest permissions, and run no code that others could change."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.infra.review.pull_request import MARKER
from tests.go_programs import ACTIONLINT, go_program
from tests.repository import ROOT
from tests.workflows.workflow import WORKFLOWS, load, steps_of

ALLOWED = {
    "actions/attest",
    "actions/cache",
    "actions/checkout",
    "actions/download-artifact",
    "actions/github-script",
    "actions/setup-go",
    "actions/setup-java",
    "actions/setup-python",
    "actions/upload-artifact",
    "pulumi/actions",
    "sigstore/cosign-installer",
}
USES = re.compile(r"^ *(?:- )?uses: (?P<action>[\w./-]+)@(?P<commit>[0-9a-f]{40}) # v\d+\.\d+\.\d+$")

#: What the jobs of a workflow may write.
WRITING = {
    "review": {"comment": {"pull-requests"}, "preview": {"pull-requests"}},
    "release": {
        "publish": {"id-token", "attestations"},
        "publish-image": {"id-token", "attestations", "packages"},
        "release": {"contents"},
    },
}

each_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)


def lint(file: Path) -> "subprocess.CompletedProcess[str]":
    # shellcheck and pyflakes are separate programs, which not every machine has.
    command = [str(go_program(ACTIONLINT)), "-no-color", "-shellcheck=", "-pyflakes=", str(file)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_there_is_a_workflow_for_each_purpose() -> None:
    assert {"ci", "promote", "release", "review", "site"} <= {file.stem for file in WORKFLOWS}


@each_workflow
def test_actionlint_finds_nothing(file: Path) -> None:
    answer = lint(file)
    assert (answer.returncode, answer.stdout) == (0, "")


def test_actionlint_finds_a_mistake(tmp_path: Path) -> None:
    """A linter that is called incorrectly finds nothing either."""
    workflow = load("review")
    workflow["jobs"]["comment"]["needs"] = "nothing"
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(workflow))
    answer = lint(tmp_path / "wrong.yaml")
    assert answer.returncode == 1
    assert '"nothing"' in answer.stdout


@each_workflow
def test_every_action_is_a_well_known_one_pinned_by_commit_with_its_version(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if re.match(r" *(- )?uses: (?!\./)", line)]
    found = [USES.match(line) for line in lines]
    assert lines
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    assert {match["action"] for match in found if match} <= ALLOWED


def test_an_action_has_one_version_in_all_workflows() -> None:
    used = {step["uses"] for file in WORKFLOWS for step in steps_of(load(file.stem)) if "uses" in step}
    names = [each.split("@")[0] for each in used]
    assert sorted(names) == sorted(set(names))


@each_workflow
def test_workflows_have_no_permissions_and_only_jobs_that_comment_or_publish_may_write(file: Path) -> None:
    workflow = load(file.stem)
    assert workflow["permissions"] == {}
    given = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    writing = {name: {key for key, value in rights.items() if value == "write"} for name, rights in given.items()}
    assert {name: keys for name, keys in writing.items() if keys} == WRITING.get(file.stem, {})


@each_workflow
def test_no_checkout_leaves_its_token_behind(file: Path) -> None:
    checkouts = [step for step in steps_of(load(file.stem)) if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@each_workflow
def test_no_command_contains_an_expression(file: Path) -> None:
    """An expression would run the name of a branch as code; a variable does not."""
    assert [step["run"] for step in steps_of(load(file.stem)) if "${{" in step.get("run", "")] == []


def test_the_comment_job_runs_no_code_and_the_preview_job_only_with_credentials() -> None:
    jobs = load("review")["jobs"]
    assert [step["uses"].split("@")[0] for step in jobs["comment"]["steps"]] == ["actions/github-script"]
    conditions = {step["name"] if "name" in step else step["uses"]: step["if"] for step in jobs["preview"]["steps"]}
    condition = conditions.pop("Say that there are no credentials")
    assert condition == "${{ env.CREDENTIALS != 'true' }}"
    assert set(conditions.values()) == {"${{ env.CREDENTIALS == 'true' }}"}


def test_an_earlier_comment_is_found_by_the_marker_at_its_beginning() -> None:
    (step,) = load("review")["jobs"]["comment"]["steps"]
    assert f"startsWith('{MARKER}')" in step["with"]["script"]


def test_no_two_promotions_run_at_once_and_each_environment_has_its_own_approval() -> None:
    workflow = load("promote")
    assert workflow["concurrency"] == {"group": "promote", "cancel-in-progress": False}
    job = workflow["jobs"]["promote"]
    assert job["environment"] == "${{ matrix.environment }}"
    assert (job["strategy"]["max-parallel"], job["strategy"]["fail-fast"]) == (1, True)


@each_workflow
def test_credentials_are_given_to_jobs_of_an_environment_only(file: Path) -> None:
    """An environment restricts them by reviewers and branches; everyone who may push a branch gets a repository's."""
    jobs = load(file.stem)["jobs"]
    assert {name for name, job in jobs.items() if "secrets." in str(job)} <= {
        name for name, job in jobs.items() if "environment" in job
    }


def test_only_the_main_branch_is_promoted() -> None:
    jobs = load("promote")["jobs"]
    assert jobs["plan"]["if"] == "${{ github.ref == 'refs/heads/main' }}"
    assert jobs["promote"]["needs"] == "plan"


def test_workflows_run_the_engine_and_the_provider_that_requirements_pin() -> None:
    pins = dict(re.findall(r"(?m)^(pulumi|pulumi-kubernetes)==([\d.]+)", (ROOT / "requirements.txt").read_text()))
    engines = {step["with"]["pulumi-version"] for step in _steps_with("pulumi/actions@")}
    assert engines == {pins["pulumi"]}
    (install,) = [step["run"] for step in steps_of(load("promote")) if "plugin install" in step.get("run", "")]
    assert install.endswith(f" kubernetes {pins['pulumi-kubernetes']}")


def _steps_with(action: str) -> list[dict[str, Any]]:
    return [step for file in WORKFLOWS for step in steps_of(load(file.stem)) if step.get("uses", "").startswith(action)]
