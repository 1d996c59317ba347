"""Waits for a condition until a deadline. Nothing else in infra waits."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from components.contract.problems import CannotRunError

T = TypeVar("T")


class NotYetError(Exception):
    """Raised by a probe that must be repeated; the message says what it saw."""


class DeadlineError(CannotRunError):
    """Something did not happen in time; `what` says how long we waited for it and what was last seen."""


def wait_for(what: str, probe: Callable[[], T], deadline_seconds: float, interval_seconds: float = 0.1) -> T:
    """Return the first value that `probe` returns instead of raising NotYetError.

    Any other exception of the probe ends the wait at once. The probe is asked at least once.

    Raises DeadlineError after `deadline_seconds`.
    """
    pause = threading.Event()
    ends = time.monotonic() + deadline_seconds
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
        pause.wait(min(interval_seconds, max(ends - time.monotonic(), 0.01)))
