"""Pulumi's file backend: where its folder is, and the broken files and locks that a killed engine leaves in it.

A lock names the process that holds it, and its machine. Source: Pulumi's DIY backend, `.pulumi/locks`.
"""

import getpass
import json
import os
import pwd
import socket
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
from pulumi import automation

from components.contract.problems import CannotRunError
from infra.machine.waiting import DeadlineError, NotYetError, wait_for

_FILES = "file://"
_ORGANIZATION = "organization"


def file_backend(url: str, folder: Path) -> Path | None:
    """Folder of a file backend, from its URL, for commands that run in `folder`; None for any other backend.

    Source: Pulumi's DIY backend, where `~` is the account's home whatever HOME says.
    """
    if not url.startswith(_FILES):
        return None
    path = url.removeprefix(_FILES).partition("?")[0]
    return folder / (f"{pwd.getpwuid(os.getuid()).pw_dir}{path[1:]}" if path.startswith("~") else path)


def locks_folder(backend: Path, project: str, stack: str) -> Path:
    """Folder with the locks of a stack."""
    return backend / ".pulumi" / "locks" / _ORGANIZATION / project / stack


def remove_torn_attributes(backend: Path, project: str, stack: str) -> None:
    """Remove half-written attribute files beside a stack's files: with them no engine can open the stack.

    Nothing needs the attributes: they are a media type and an unused checksum. Source: gocloud.dev's fileblob, which
    writes attributes in place and every other file under a temporary name first.
    """
    state = (backend / ".pulumi" / "stacks" / project).glob(f"{stack}.json*.attrs")
    for file in (*state, *locks_folder(backend, project, stack).glob("*.attrs")):
        try:
            json.loads(file.read_text())
        except FileNotFoundError:
            continue
        except ValueError:
            file.unlink(missing_ok=True)


#: An engine whose program is killed notices at the next message, stops its operations and saves the state.
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
        """Whether its process belongs to this machine and user, so that we can look for it."""
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
    """The locks of a stack in a file backend; a lock that disappears while it is read does not count."""
    found = []
    for file in sorted(locks_folder(backend, project, stack).glob("*.json")):
        try:
            found.append(_lock(file.read_text()))
        except FileNotFoundError:
            continue
    return tuple(found)


def _lock(text: str) -> EngineLock:
    """The holder that a lock names; a half-written lock names no holder on this machine, so it is left to the
    engine.
    """
    try:
        data = json.loads(text)
        since = datetime.fromisoformat(data["timestamp"]).timestamp()
        return EngineLock(int(data["pid"]), str(data["username"]), str(data["hostname"]), since)
    except (KeyError, TypeError, ValueError):
        return EngineLock(0, "", "", 0)


def release_dead_locks(stack: automation.Stack, backend: Path, project: str) -> bool:
    """Release the locks of a stack if dead engines of ours hold all of them; returns whether any was released.

    Waits for a running engine, which may be about to end, and raises CannotRunError if it does not end. A lock of
    another machine or user is left alone, and the engine names its holder.
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
            "wait until that process has ended, or stop it, and run the command again.",
        ) from error
    if not engine_locks(backend, project, stack.name):
        return False
    stack.cancel()
    return True
