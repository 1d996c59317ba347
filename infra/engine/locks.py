"""Releases the locks that a killed deployment left in Pulumi's file backend, if their engine is certainly dead.

A lock names the process that holds it, and its machine. Source: Pulumi's DIY backend, `.pulumi/locks`.
"""

import getpass
import json
import socket
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
from pulumi import automation

from components.contract.problems import CannotRunError
from infra.engine.file_backend import locks_folder
from infra.waiting import DeadlineError, NotYetError, wait_for

#: When its program is killed, an engine notices at the next message, stops its operations and saves the state.
_ORPHAN_SECONDS = 60.0
_CLOCK_TOLERANCE_SECONDS = 2.0


@dataclass(frozen=True)
class EngineLock:
    """Who holds a stack: `since` in seconds since the epoch."""

    pid: int
    user: str
    machine: str
    since: float

    @property
    def of_here(self) -> bool:
        """Whether its process runs on this machine as this user, so that we can look for it."""
        return self.machine == socket.gethostname() and self.user == getpass.getuser()

    @property
    def alive(self) -> bool:
        """Whether its process still runs; a process that started after the lock is another one with the same id."""
        try:
            process = psutil.Process(self.pid)
            younger = process.create_time() > self.since + _CLOCK_TOLERANCE_SECONDS
            return not younger and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


def engine_locks(backend: Path, project: str, stack: str) -> tuple[EngineLock, ...]:
    """The locks of a stack in a file backend; a lock that disappears meanwhile does not count."""
    found = []
    for file in sorted(locks_folder(backend, project, stack).glob("*.json")):
        try:
            found.append(_lock(file.read_text()))
        except FileNotFoundError:
            continue
    return tuple(found)


def _lock(text: str) -> EngineLock:
    """The holder that a lock names; a half-written lock names nobody here, so it is left to the engine."""
    try:
        data = json.loads(text)
        since = datetime.fromisoformat(data["timestamp"]).timestamp()
        return EngineLock(int(data["pid"]), str(data["username"]), str(data["hostname"]), since)
    except (KeyError, TypeError, ValueError):
        return EngineLock(0, "", "", 0)


def release_dead_locks(stack: automation.Stack, backend: Path, project: str) -> bool:
    """Release the locks of a stack if dead engines of ours hold all of them; returns whether any was released.

    Waits for a running engine, which may be about to end, and raises CannotRunError if it does not. A lock of another
    machine or user is left alone, and the engine names its holder.
    """
    locks = engine_locks(backend, project, stack.name)
    if not locks or not all(lock.of_here for lock in locks):
        return False

    def expect_dead() -> None:
        if living := [lock.pid for lock in engine_locks(backend, project, stack.name) if lock.alive]:
            raise NotYetError(f"process {', '.join(map(str, living))} holds it")

    try:
        wait_for(f"another deployment of `{stack.name}` to end", expect_dead, _ORPHAN_SECONDS)
    except DeadlineError as error:
        raise CannotRunError(
            "stack-locked",
            error.what,
            f"stack `{stack.name}`",
            "Two deployments of one stack would overwrite each other's state.",
            "wait until that process has ended, or end it, and run the command again.",
        ) from error
    if not engine_locks(backend, project, stack.name):
        return False
    stack.cancel()
    return True
