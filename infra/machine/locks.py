"""A lock between processes: two commands must not start or build the same thing at once."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

from components.contract.problems import CannotRunError
from infra.machine.waiting import DeadlineError, NotYetError, wait_for


@contextmanager
def exclusive(file: Path, console: Console, what: str, deadline_seconds: float) -> Iterator[None]:
    """Hold the lock on `file` while the body runs. The kernel releases it even after a kill -9.

    Raises CannotRunError if another process keeps it for longer than `deadline_seconds`.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)

    def expect_free() -> None:
        if not try_lock(handle):
            raise NotYetError("it is held")

    try:
        if not try_lock(handle):
            console.print(f"  another process is {what}; waiting for it", highlight=False)
            try:
                wait_for(f"the lock {file}", expect_free, deadline_seconds)
            except DeadlineError as error:
                raise CannotRunError(
                    "locked",
                    f"another process has been {what} for more than {deadline_seconds:g} s",
                    str(file),
                    "Only one process at a time may do this.",
                    "wait for it to end, or end the process that holds this file",
                ) from error
        yield
    finally:
        os.close(handle)


def try_lock(handle: int | TextIO) -> bool:
    """Try to lock an open file, and return whether that worked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
