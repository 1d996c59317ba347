"""Locks of a file backend: a dead engine's lock is released, a living or foreign engine's is not."""

import getpass
import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from components.contract.problems import CannotRunError
from infra.deploy.engine import file_backend
from infra.deploy.engine.file_backend import engine_locks as locks_of
from infra.deploy.engine.file_backend import release_dead_locks


class Stack:
    """The part of the Automation API's stack that is needed here: `cancel` removes every lock."""

    name = "local"

    def __init__(self, backend: Path) -> None:
        self.folder = backend / ".pulumi" / "locks" / "organization" / "replication" / self.name
        self.folder.mkdir(parents=True)

    def lock(self, **overrides: Any) -> None:
        here = {"username": getpass.getuser(), "hostname": socket.gethostname()}
        content = {"pid": dead_process(), **here, "timestamp": "2026-03-04T11:00:00.123456789Z", **overrides}
        (self.folder / f"{len(list(self.folder.iterdir()))}.json").write_text(json.dumps(content))

    def cancel(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()

    @property
    def locked(self) -> bool:
        return any(self.folder.iterdir())


def dead_process() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def release(stack: Stack, backend: Path) -> bool:
    return release_dead_locks(stack, backend, "replication")  # type: ignore[arg-type]


def now() -> str:
    return datetime.now(UTC).isoformat()


def test_a_stack_without_locks_is_left_alone(tmp_path: Path) -> None:
    assert release(Stack(tmp_path), tmp_path) is False


def test_the_lock_of_a_dead_engine_is_released(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    stack.lock()
    assert release(stack, tmp_path) is True
    assert not stack.locked


def test_a_process_that_started_after_the_lock_does_not_hold_it(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    stack.lock(pid=os.getpid(), timestamp="2020-01-01T00:00:00Z")
    assert release(stack, tmp_path) is True


def test_the_lock_of_a_living_engine_is_kept_and_the_error_names_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_backend, "_ORPHAN_SECONDS", 0.2)
    stack = Stack(tmp_path)
    stack.lock(pid=os.getpid(), timestamp=now())
    with pytest.raises(CannotRunError, match=f"process {os.getpid()} holds it"):
        release(stack, tmp_path)
    assert stack.locked


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pid": "x"}'])
def test_a_half_written_lock_is_left_to_the_engine(tmp_path: Path, text: str) -> None:
    stack = Stack(tmp_path)
    stack.lock()
    (stack.folder / "half.json").write_text(text)
    assert release(stack, tmp_path) is False
    assert stack.locked


@pytest.mark.parametrize("other", [{"hostname": "elsewhere"}, {"username": "somebody"}], ids=["machine", "user"])
def test_a_lock_that_may_not_be_ours_is_kept(tmp_path: Path, other: dict[str, str]) -> None:
    """`pulumi cancel` would remove other holders' locks along with ours."""
    stack = Stack(tmp_path)
    stack.lock()
    stack.lock(**other)
    assert release(stack, tmp_path) is False
    assert stack.locked
    assert len(locks_of(tmp_path, "replication", "local")) == 2
