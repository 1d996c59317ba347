"""Lets processes run for only a share of the time, as if each had its own slower machine."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import psutil

_PERIOD_SECONDS = 0.1
_LOOK_SECONDS = 1.0


@contextmanager
def limited(words: str, share: float) -> Iterator[None]:
    """While the body runs, every descendant of this process whose command line contains `words` runs for a `share` of
    each tenth of a second, between 0 and 1, and none while another one runs."""
    done = threading.Event()
    keeper = threading.Thread(target=_keep, args=(words, share, done), name="shares", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()


def _keep(words: str, share: float, done: threading.Event) -> None:
    found: list[psutil.Process] = []
    looked = 0.0
    try:
        while not done.is_set():
            if time.monotonic() - looked > _LOOK_SECONDS:
                found, looked = list(_descendants(words)), time.monotonic()
                _each(found, "suspend")
            # One after the other: otherwise the brokers would have to serve all of them at the same moment.
            for each in found:
                _each([each], "resume")
                done.wait(_PERIOD_SECONDS * share)
                _each([each], "suspend")
            done.wait(_PERIOD_SECONDS * (1 - share * len(found)))
    finally:
        _each(found, "resume")


def _descendants(words: str) -> Iterator[psutil.Process]:
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if words in " ".join(each.cmdline()):
                yield each


def _each(processes: Iterable[psutil.Process], what: str) -> None:
    for each in processes:
        with suppress(psutil.Error):
            getattr(each, what)()
