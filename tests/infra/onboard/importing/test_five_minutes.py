"""From a user's YAML to a verdict, as the README shows it: every command that needs no cluster is run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.infra.readmes import chapter, shown
from tests.repository import ROOT

pytestmark = pytest.mark.process

TITLE = "Five minutes from somebody's YAML to a verdict"
#: `pip` has already run on the test machine, and `kubectl` needs clusters.
ELSEWHERE = {"kubectl", "pip"}


def commands() -> list[list[str]]:
    return [shlex.split(line[2:], comments=True) for line in chapter(TITLE).splitlines() if line.startswith("$ ")]


def test_every_command_that_needs_no_cluster_runs_as_shown(tmp_path: Path) -> None:
    (tmp_path / "running.yaml").write_text(shown("metadata: {name: mm2,"))
    folder, done = tmp_path, []
    for words in commands():
        if words[0] in ELSEWHERE or {"validate", "--validate"} & set(words):
            continue
        if words[0] == "cd":
            folder /= words[1]
            continue
        run = [sys.executable, "-c", "from kafka_replication.infra.commands.app import main; main()", *words[1:]]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(tmp_path / "none")}
        answer = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, f"{words}: {answer.stdout}{answer.stderr}"
        done.append(words[1])
    assert done == ["import", "check", "explain", "acls", "runbook", "render"]
    stack = yaml.safe_load((folder / "stacks" / "Pulumi.prod.yaml").read_text())
    assert stack["config"]["kubernetes:context"] == "prod-us-west-2"
    assert list((folder / "rendered" / "prod").rglob("mirror-maker2.yaml"))


def test_the_validation_logins_in_the_readme_are_imported(tmp_path: Path) -> None:
    (tmp_path / "running.yaml").write_text(shown("metadata: {name: mm2,"))
    (tmp_path / "logins.yaml").write_text(shown("username: validator"))
    (words,) = [command for command in commands() if "--validation-login" in command]
    run = [sys.executable, "-c", "from kafka_replication.infra.commands.app import main; main()", *words[1:-1]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, f"{answer.stdout}{answer.stderr}"
    topology = yaml.safe_load((tmp_path / "mirrors" / "stacks" / "topologies" / "prod.yaml").read_text())
    users = [cluster["validation"]["authentication"]["username"] for cluster in topology["clusters"].values()]
    assert users == ["validator", "validator"]
