"""Stacks in a folder that Pulumi keeps: one that is not there, and one that is locked."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from components.contract.problems import CannotRunError
from infra.deploy.engine import deployment
from infra.deploy.engine.stack import open_stack
from infra.local.artifacts import ensure
from infra.stack.settings import read_settings, stack_file
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


def test_a_lock_that_a_killed_engine_left_is_named_and_released_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure(Console(quiet=True))
    project, state = tmp_path / "project", tmp_path / "state"
    shutil.copytree(STACKS, project / "stacks")
    shutil.copy(STACKS.parent / "Pulumi.yaml", project)
    (project / "infra").mkdir()
    state.mkdir()
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{state}")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "test")
    settings = read_settings(STACK, project / "stacks")
    with open_stack(settings, configured=False) as stack:
        locks = state / ".pulumi" / "locks" / "organization" / stack.workspace.project_settings().name / STACK
    locks.mkdir(parents=True, exist_ok=True)
    holder = {"pid": 1, "username": "ann", "hostname": "elsewhere", "timestamp": datetime.now(UTC).isoformat()}
    (locks / "1.json").write_text(json.dumps(holder))
    with (
        pytest.raises(CannotRunError, match="replicate up prod-us-west-2 --unlock") as refused,
        open_stack(settings, configured=False) as stack,
    ):
        stack.refresh()
    assert "ann@elsewhere" in str(refused.value)
    with open_stack(settings, configured=False, unlock=True) as stack:
        stack.refresh()
    assert not list(locks.glob("*.json"))
