"""Locks of a file backend: a dead engine's is given back, a living or foreign one is not."""

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

from infra import engine_locks
from infra.engine_locks import engine_locks as locks_of
from infra.engine_locks import release_dead_locks
from infra.errors import CannotRunError


class Stack:
    """As much of a stack of the Automation API as is needed: `cancel` removes every lock."""

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


def test_the_lock_of_a_dead_engine_is_given_back(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    stack.lock()
    assert release(stack, tmp_path) is True
    assert not stack.locked


def test_a_younger_process_with_the_same_id_is_a_stranger(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    stack.lock(pid=os.getpid(), timestamp="2020-01-01T00:00:00Z")
    assert release(stack, tmp_path) is True


def test_the_lock_of_a_living_engine_is_kept_and_its_process_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_locks, "_ORPHAN_SECONDS", 0.2)
    stack = Stack(tmp_path)
    stack.lock(pid=os.getpid(), timestamp=now())
    with pytest.raises(CannotRunError, match=f"process {os.getpid()} holds it"):
        release(stack, tmp_path)
    assert stack.locked


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pid": "x"}'])
def test_a_lock_that_was_not_written_to_its_end_is_left_to_the_engine(tmp_path: Path, text: str) -> None:
    stack = Stack(tmp_path)
    stack.lock()
    (stack.folder / "half.json").write_text(text)
    assert release(stack, tmp_path) is False
    assert stack.locked


@pytest.mark.parametrize("other", [{"hostname": "elsewhere"}, {"username": "somebody"}], ids=["machine", "user"])
def test_a_lock_that_is_not_provably_ours_is_kept(tmp_path: Path, other: dict[str, str]) -> None:
    """`pulumi cancel` would remove the others with ours."""
    stack = Stack(tmp_path)
    stack.lock()
    stack.lock(**other)
    assert release(stack, tmp_path) is False
    assert stack.locked
    assert len(locks_of(tmp_path, "replication", "local")) == 2
