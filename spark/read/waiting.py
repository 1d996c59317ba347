"""Waits for a condition with a deadline; the only place in this package that waits."""

import threading
import time
from collections.abc import Callable


def wait_until(probe: Callable[[], bool], deadline_seconds: float, every_seconds: float = 0.5) -> bool:
    """Return whether `probe` became true before the deadline; it is called at least once."""
    end = time.monotonic() + deadline_seconds
    pause = threading.Event()
    while True:
        if probe():
            return True
        left = end - time.monotonic()
        if left <= 0:
            return False
        pause.wait(min(every_seconds, left))
