"""Waiting for what is built once: the parts of the local stack, jars, Go programs."""

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from kafka_replication.infra.local.artifacts import COLD_BUILD_SECONDS
from kafka_replication.infra.machine import paths
from kafka_replication.infra.machine.waiting import exclusive


def without_limit() -> None:
    """Let the test that runs take any time."""
    faulthandler.cancel_dump_traceback_later()


@contextmanager
def building(what: str) -> Iterator[Console]:
    """Hold the lock of all builds; yields the console for their progress. On a new machine, the test that waits for it
    takes longer than a test may.
    """
    without_limit()
    console = Console(stderr=True)
    with exclusive(paths.build_lock(), console, what, COLD_BUILD_SECONDS):
        yield console
