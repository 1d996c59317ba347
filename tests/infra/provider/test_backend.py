"""We ask Pulumi where it keeps a stack, so that locks are found after a `pulumi login`, too."""

import getpass
import json
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pulumi import automation
from rich.console import Console

from infra.deploy.engine import deployment
from infra.deploy.engine.file_backend import engine_locks, release_dead_locks, remove_torn_attributes
from infra.deploy.engine.stack import chosen_backend
from infra.local.build.artifacts import ensure
from infra.stack.settings import read_settings, stack_file
from tests.infra.deploy.engine.test_engine_locks import dead_process
from tests.infra.provider.programs import engine_environment, engine_options
from tests.repository import STACKS

PROJECT = "backend"
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


def test_a_stack_opens_again_after_its_torn_attributes_are_removed(tmp_path: Path) -> None:
    ensure(Console(quiet=True))
    environment, state = engine_environment(tmp_path), tmp_path / "state"
    options = engine_options(tmp_path, environment)

    def opened(select: Callable[..., automation.Stack]) -> automation.Stack:
        return select("test", project_name=PROJECT, program=lambda: None, opts=options)

    opened(automation.create_stack)
    (state / ".pulumi" / "stacks" / PROJECT / "test.json.attrs").write_text("")
    with pytest.raises(automation.CommandError, match="failed to load checkpoint: EOF"):
        opened(automation.select_stack)
    remove_torn_attributes(state, PROJECT, "test")
    assert opened(automation.select_stack).name == "test"


def test_a_dead_engines_lock_is_released_in_the_backend_that_pulumi_is_logged_in_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure(Console(quiet=True))
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    environment, state = engine_environment(tmp_path), tmp_path / "state"
    url = environment.pop("PULUMI_BACKEND_URL")
    options = engine_options(tmp_path, environment)
    assert options.pulumi_command is not None
    options.pulumi_command.run(["login", url], str(tmp_path), environment)
    stack = automation.create_stack("test", project_name=PROJECT, program=lambda: None, opts=options)
    locks = state / ".pulumi" / "locks" / "organization" / PROJECT / "test"
    locks.mkdir(parents=True, exist_ok=True)
    holder = {"pid": dead_process(), "username": getpass.getuser(), "hostname": socket.gethostname()}
    (locks / "1.json").write_text(json.dumps({**holder, "timestamp": datetime.now(UTC).isoformat()}))
    backend = chosen_backend(stack.workspace)
    assert backend == state
    assert release_dead_locks(stack, backend, PROJECT)
    assert engine_locks(state, PROJECT, "test") == ()
