"""Waits for a condition until a deadline. Nothing else in infra waits."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from components.contract.problems import CannotRunError

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
    """Return the first value that `probe` returns instead of raising NotYetError.

    It pauses for `interval_seconds` between two looks; by default for a tenth of the time that has passed, but for 0.1
    to 1 s. Any other exception of the probe ends the wait at once. The probe is asked at least once.

    Raises DeadlineError after `deadline_seconds`.
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
    """How long to pause before the next look after so much time."""
    return min(max(_SHORTEST_SECONDS, _PAUSE_OF_WAITED * waited_seconds), _LONGEST_SECONDS)
