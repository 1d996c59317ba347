"""Loads workflow files, and runs the commands of their steps as GitHub Actions does. It runs no action itself."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kafka_replication.infra.machine.paths import TOP, link_package
from tests.repository import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
_NOT_SOURCES = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "tests")
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)


def load(name: str) -> dict[str, Any]:
    """A workflow by the name of its file."""
    data: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yaml").read_text())
    return data


def steps_of(workflow: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every step of every job that does not call another workflow."""
    for job in workflow["jobs"].values():
        yield from job.get("steps", ())


@dataclass
class Runner:
    """The machine of a job: where the repository is checked out, and the values of the workflow's expressions.

    `values` maps the text of an expression to its value. An unknown expression or condition is an error.
    """

    workspace: Path
    temporary: Path
    values: Mapping[str, object]
    variables: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""

    def run_job(self, job: Mapping[str, Any]) -> dict[str, "subprocess.CompletedProcess[str]"]:
        """Run the commands of the job's steps whose conditions hold; returns the results by the steps' names."""
        answers: dict[str, subprocess.CompletedProcess[str]] = {}
        failed = False
        job_variables = {key: self._filled(value) for key, value in job.get("env", {}).items()}
        for step in job["steps"]:
            condition = step.get("if", "${{ success() }}")
            wanted = not failed if condition == "${{ success() }}" else self._value(condition, job_variables)
            if not wanted or "run" not in step:
                continue
            own = {key: self._filled(value) for key, value in step.get("env", {}).items()}
            answers[step["name"]] = answer = self._run(step, job_variables | own)
            failed = failed or answer.returncode != 0
        return answers

    def _run(self, step: Mapping[str, Any], variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        files = {name: self.temporary / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")}
        for file in files.values():
            file.write_text("")
        kept = {key: value for key, value in os.environ.items() if key in ("HOME", "PATH", "LANG")}
        given = {"CI": "true", "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(self.temporary)}
        given |= {name: str(file) for name, file in files.items()}
        # The environment of the tests holds the libraries; the program is that of the workspace.
        if (self.workspace / TOP).exists():
            link_package(self.workspace, self.temporary / "sources")
            given["PYTHONPATH"] = str(self.temporary / "sources")
        answer = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=self.workspace,
            env={**kept, **given, **self.variables, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        self.variables |= _lines(files["GITHUB_ENV"])
        self.outputs |= _lines(files["GITHUB_OUTPUT"])
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        return answer

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda match: _said(self._known(match.group(1))), str(text))

    def _known(self, expression: str) -> object:
        step, of, name = expression.partition(".outputs.")
        return self.outputs[name] if of and step.startswith("steps.") else self.values[expression]

    def _value(self, condition: str, variables: Mapping[str, str]) -> bool:
        (expression,) = _EXPRESSION.findall(condition)
        if compared := re.fullmatch(r"env\.(\w+) ([!=])= '(\w+)'", expression):
            name, sign, wanted = compared.groups()
            return (variables[name] == wanted) == (sign == "=")
        if there := re.fullmatch(r"!cancelled\(\) && hashFiles\('([^']+)'\) != ''", expression):
            return (self.workspace / there.group(1)).is_file()
        if expression == "!cancelled()":
            return True
        raise AssertionError(f"what `{expression}` comes to is not known here")


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lines(file: Path) -> dict[str, str]:
    """What a step passes on, one `name=value` a line. In the multi-line form, a value could set other names."""
    lines = file.read_text().splitlines()
    assert all("=" in line for line in lines), lines
    return dict(line.split("=", 1) for line in lines)


def set_up(workspace: Path, **programs: str) -> None:
    """Leave nothing for `make setup` to do: link the programs of the tests' environment, or write these scripts."""
    bin_folder = workspace / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    for name in ("python", "replicate"):
        (bin_folder / name).symlink_to(Path(sys.executable).parent / name)
    for name, script in programs.items():
        (bin_folder / name).unlink(missing_ok=True)
        (bin_folder / name).write_text(script)
        (bin_folder / name).chmod(0o755)
    (workspace / ".venv" / ".ready").touch()


def a_repository(folder: Path) -> Path:
    """This project as a repository of its own, on a branch that begins at origin/main."""
    shutil.copytree(ROOT, folder, ignore=_NOT_SOURCES)
    shutil.copyfile(ROOT / ".gitignore", folder / ".gitignore")
    git(folder, "init", "--quiet", "--initial-branch", "change")
    commit(folder)
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    return folder


def git(folder: Path, *arguments: str) -> None:
    """Run git with the name of some author."""
    identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def commit(folder: Path) -> None:
    """Commit everything in the work tree."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a change")
