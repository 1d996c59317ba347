"""The one place that waits: a probe asked again and again until a deadline. May be imported by anything."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class NotYetError(Exception):
    """Raised by a probe that has to be asked again; the message says what it saw."""


class DeadlineError(Exception):
    """What was waited for did not come; the message says for how long, and what was last seen."""


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
                raise DeadlineError(f"waited {deadline_seconds:g} s for {what}; last seen: {seen}") from seen
        pause.wait(min(interval_seconds, max(ends - time.monotonic(), 0.01)))
