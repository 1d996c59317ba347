"""Stacks in a folder that Pulumi keeps: one that is not there, and one that is locked."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.deploy.engine import command, deployment
from kafka_replication.infra.deploy.engine.deployment import open_stack
from kafka_replication.infra.local.artifacts import ensure
from kafka_replication.infra.stack.settings import read_settings, stack_file
from tests.repository import STACKS

pytestmark = pytest.mark.process

STACK = "prod-us-west-2"


def test_reading_or_destroying_a_stack_that_was_never_deployed_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the wrong backend, this would create a stack there and write another salt to the stack file."""
    ensure(Console(quiet=True))
    state = tmp_path / "state"
    state.mkdir()
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{state}")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "test")
    settings, before = read_settings(STACK, STACKS), stack_file(STACK, STACKS).read_text()
    said: list[str] = []
    assert deployment.outputs_if_deployed(settings) == {}
    assert deployment.destroy(settings, said.append) == {}
    assert said == [f"stack `{STACK}` is not deployed in the backend that Pulumi is logged in to"]
    assert not list(state.rglob("*.json"))
    assert stack_file(STACK, STACKS).read_text() == before


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the locks of a stack that is deployed from `tmp_path / "project"`."""
    ensure(Console(quiet=True))
    project, state = tmp_path / "project", tmp_path / "state"
    shutil.copytree(STACKS, project / "stacks")
    shutil.copy(STACKS.parent / "Pulumi.yaml", project)
    (project / "infra").mkdir()
    state.mkdir()
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{state}")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "test")
    with open_stack(read_settings(STACK, project / "stacks"), configured=False) as stack:
        folder = state / ".pulumi" / "locks" / "organization" / stack.workspace.project_settings().name / STACK
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def hold(locks: Path, pid: int, user: str, machine: str) -> None:
    holder = {"pid": pid, "username": user, "hostname": machine, "timestamp": datetime.now(UTC).isoformat()}
    (locks / "1.json").write_text(json.dumps(holder))


def refresh(tmp_path: Path, *, unlock: bool = False) -> None:
    with open_stack(read_settings(STACK, tmp_path / "project" / "stacks"), configured=False, unlock=unlock) as stack:
        stack.refresh()


def test_the_lock_of_another_machine_is_named_and_released_on_request(tmp_path: Path, locks: Path) -> None:
    hold(locks, 1, "ann", "elsewhere")
    with pytest.raises(CannotRunError, match="replicate up prod-us-west-2 --unlock") as refused:
        refresh(tmp_path)
    assert "ann@elsewhere" in str(refused.value)
    refresh(tmp_path, unlock=True)
    assert not list(locks.glob("*.json"))


def test_the_lock_of_an_engine_that_was_killed_here_is_released(tmp_path: Path, locks: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    hold(locks, ended.pid, getpass.getuser(), socket.gethostname())
    refresh(tmp_path)
    assert not list(locks.glob("*.json"))


def test_the_lock_of_an_engine_that_runs_here_is_kept(
    tmp_path: Path, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_ORPHAN_SECONDS", 0.1)
    hold(locks, os.getpid(), getpass.getuser(), socket.gethostname())
    with pytest.raises(CannotRunError, match=f"pid {os.getpid()}"):
        refresh(tmp_path)
    assert list(locks.glob("*.json"))
