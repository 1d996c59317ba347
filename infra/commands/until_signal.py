"""Runs the work of a command that has no end of its own."""

import os
import signal
import threading
from collections.abc import Callable
from typing import NoReturn

_INTERRUPTED = 130


def until_signal(*works: Callable[[], None]) -> NoReturn:
    """Run each work in a thread, and end this process at SIGINT or SIGTERM. Raises what the first to fail raises."""
    ended = threading.Event()
    stopped_by: list[int] = []
    errors: list[BaseException] = []

    def stop(number: int, _: object) -> None:
        stopped_by.append(number)
        ended.set()

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # the main thread raises it
            errors.append(error)
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    for work in works:
        # The others do not keep the process alive once one has failed.
        threading.Thread(target=run, args=(work,), daemon=True).start()
    ended.wait()
    if errors:
        raise errors[0]
    # A question that hangs must not keep the process alive.
    os._exit(_INTERRUPTED if stopped_by == [signal.SIGINT] else 0)
