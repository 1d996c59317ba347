"""Reports how much of a long Spark job is done and how long the rest may take."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from spark.flows import Progress

EVERY_SECONDS = 10.0


@contextmanager
def estimates(
    spark: SparkSession, progress: Progress, what: str, every_seconds: float = EVERY_SECONDS
) -> Iterator[None]:
    """While the body runs one Spark job, report its progress every ten seconds; report nothing for a shorter job."""
    done = threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(spark, progress, what, every_seconds, done), name="estimates", daemon=True
    )
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def estimate(what: str, share: float, seconds: float) -> str:
    """The sentence for a `share` of the work, between 0 and 1, that took this many seconds."""
    return f"{what}: {share:.0%}, about {seconds * (1 - share) / share:.0f} s left"


def _watch(spark: SparkSession, progress: Progress, what: str, every_seconds: float, done: threading.Event) -> None:
    began = time.monotonic()
    while not done.wait(every_seconds):
        try:
            share = _share(spark)
        except (Py4JError, OSError):
            # The code that waits for the job reports why Spark does not answer.
            return
        if share:
            progress(estimate(what, share, time.monotonic() - began))


def _share(spark: SparkSession) -> float:
    """The share of the active stages' tasks that have ended; 0 if nothing runs or nothing has ended."""
    tracker = spark.sparkContext.statusTracker()
    stages = [info for each in tracker.getActiveStageIds() if (info := tracker.getStageInfo(each)) is not None]
    total = sum(each.numTasks for each in stages)
    return sum(each.numCompletedTasks for each in stages) / total if total else 0.0
