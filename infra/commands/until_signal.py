"""Runs the work of a command that has no end of its own."""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

_INTERRUPTED = 130


def until_signal(work: Callable[[], None]) -> NoReturn:
    """Run the work in a thread, and end this process at SIGINT or SIGTERM. Raises what the work raises."""
    ended = threading.Event()
    stopped_by: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped_by.append(number)
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    working = ThreadPoolExecutor(1).submit(work)
    working.add_done_callback(lambda _: ended.set())
    ended.wait()
    if working.done():
        working.result()
    # A question that hangs must not keep the process alive.
    os._exit(_INTERRUPTED if stopped_by == [signal.SIGINT] else 0)
