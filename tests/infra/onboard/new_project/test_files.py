"""The `requirements.txt` of a new project can be installed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kafka_replication.infra.commands.app import app
from kafka_replication.infra.onboard.new_project.files import advice, requirement_of

pytestmark = pytest.mark.process


def test_pip_can_install_the_requirements_of_a_new_project(tmp_path: Path) -> None:
    """Installs as the first command of its README does, but without the dependencies of our package."""
    assert CliRunner().invoke(app, ["init", str(tmp_path / "mine"), "--yes"]).exit_code == 0
    options = ["--dry-run", "--ignore-installed", "--no-deps", "--no-index", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "install", *options, "-r", str(tmp_path / "mine" / "requirements.txt")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Would install kafka-replication-" in answer.stdout, answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("recorded", "wanted"),
    [
        pytest.param(None, "kafka-replication[prove]==1.0", id="from an index"),
        pytest.param(
            {"url": "file:///src/ours", "dir_info": {"editable": True}},
            "kafka-replication[prove] @ file:///src/ours",
            id="from a checkout",
        ),
        pytest.param(
            {"url": "file:///dist/ours.whl", "archive_info": {}},
            "kafka-replication[prove] @ file:///dist/ours.whl",
            id="from a wheel",
        ),
        pytest.param(
            {
                "url": "https://git.example.com/ours.git",
                "vcs_info": {"vcs": "git", "commit_id": "abc", "requested_revision": "main"},
                "subdirectory": "python",
            },
            "kafka-replication[prove] @ git+https://git.example.com/ours.git@abc#subdirectory=python",
            id="from a repository",
        ),
    ],
)
def test_a_new_project_requires_the_package_that_created_it(recorded: dict[str, Any] | None, wanted: str) -> None:
    assert requirement_of("1.0", None if recorded is None else json.dumps(recorded)) == wanted


@pytest.mark.parametrize("url", ["file:///src/ours", "git+file:///src/ours@abc"])
def test_a_requirement_with_a_path_on_this_machine_gets_advice(url: str) -> None:
    assert advice(f"kafka-replication[prove] @ {url}")
    assert advice("kafka-replication[prove] @ git+https://git.example.com/ours.git@abc") is None
