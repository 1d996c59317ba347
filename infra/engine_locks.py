"""Locks that a killed deployment left in a file backend of Pulumi: given back only when their engine is surely dead.

A lock says which process of which machine holds it. Source: Pulumi's DIY backend, `.pulumi/locks`.
"""

import getpass
import json
import socket
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
from pulumi import automation

from infra.errors import CannotRunError
from infra.file_backend import locks_folder
from infra.local.waiting import DeadlineError, NotYetError, wait_for

#: An engine whose program was killed notices at its next message, stops its operations and saves the state.
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
        """Whether its process is one of ours on this machine, so that it can be looked for."""
        return self.machine == socket.gethostname() and self.user == getpass.getuser()

    @property
    def alive(self) -> bool:
        """Whether its process still runs; a younger one with the same id is a stranger."""
        try:
            process = psutil.Process(self.pid)
            younger = process.create_time() > self.since + _CLOCK_TOLERANCE_SECONDS
            return not younger and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


def engine_locks(backend: Path, project: str, stack: str) -> tuple[EngineLock, ...]:
    """The locks of a stack in a file backend; one that is being removed is none."""
    found = []
    for file in sorted(locks_folder(backend, project, stack).glob("*.json")):
        try:
            found.append(_lock(file.read_text()))
        except FileNotFoundError:
            continue
    return tuple(found)


def _lock(text: str) -> EngineLock:
    """Whom a lock names; nobody of here where it was not written to its end, so that it is left to the engine."""
    try:
        data = json.loads(text)
        since = datetime.fromisoformat(data["timestamp"]).timestamp()
        return EngineLock(int(data["pid"]), str(data["username"]), str(data["hostname"]), since)
    except (KeyError, TypeError, ValueError):
        return EngineLock(0, "", "", 0)


def release_dead_locks(stack: automation.Stack, backend: Path, project: str) -> bool:
    """Give back the locks of a stack when every one of them is of a dead engine of ours; whether there was one.

    Waits for an engine that still runs: it may be about to end. Raises CannotRunError when it does not. A lock of
    another machine or user is left to whoever holds it: the engine names it.
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
            str(error),
            f"stack `{stack.name}`",
            "Two deployments of one stack would overwrite each other's state.",
            "wait until it has ended, or end that process, and run the command again.",
        ) from error
    if not engine_locks(backend, project, stack.name):
        return False
    stack.cancel()
    return True
