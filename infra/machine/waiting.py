"""Waits: for a condition until a deadline, and for a lock between processes. Nothing else in infra waits."""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeVar

from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError

T = TypeVar("T")

#: A wait is longer than it must be by a twentieth on average. A look often opens a connection, which costs both sides
#: more than what it asks.
_PAUSE_OF_WAITED = 0.1
_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.1, 1.0


class NotYetError(Exception):
    """Raised by a probe that must be repeated; the message says what it saw."""


class DeadlineError(CannotRunError):
    """Something did not happen in time; `what` says how long we waited for it and what was last seen."""


def wait_for(what: str, probe: Callable[[], T], deadline_seconds: float, interval_seconds: float | None = None) -> T:
    """Return the first value that `probe`, which is asked at least once, returns instead of raising NotYetError.

    Between two looks it pauses for `interval_seconds`, by default for a tenth of the time that has passed, but for 0.1
    to 1 s. Raises DeadlineError after `deadline_seconds`, and any other exception of the probe at once.
    """
    pause = threading.Event()
    began = time.monotonic()
    ends = began + deadline_seconds
    while True:
        try:
            return probe()
        except NotYetError as seen:
            if time.monotonic() >= ends:
                raise DeadlineError(
                    "deadline-passed",
                    f"waited {deadline_seconds:g} s for {what}; last seen: {seen}",
                    "the deadline",
                    "It takes less time on a healthy machine.",
                    "correct what was last seen, and run the command again.",
                ) from seen
        now = time.monotonic()
        seconds = pause_seconds(now - began) if interval_seconds is None else interval_seconds
        pause.wait(min(seconds, max(ends - now, 0.01)))


def pause_seconds(waited_seconds: float) -> float:
    """Return how long to pause before the next look after so much time."""
    return min(max(_SHORTEST_SECONDS, _PAUSE_OF_WAITED * waited_seconds), _LONGEST_SECONDS)


@contextmanager
def exclusive(file: Path, console: Console, what: str, deadline_seconds: float) -> Iterator[None]:
    """Hold the lock on `file`, which the kernel releases even after a kill -9. Raises CannotRunError if it is taken."""
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
