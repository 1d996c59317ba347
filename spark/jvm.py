"""Starts the JVM of a session on this machine, and keeps the JVM's own warnings off the terminal."""

import os
from collections.abc import Mapping
from threading import Thread

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_STDERR = 2
_WARNING = "WARNING: "
"""How the JVM begins each warning about modules, which Spark's launcher chooses. Spark's own log begins with a time."""


def start_jvm(settings: Mapping[str, str]) -> None:
    """Start the JVM with the session's settings, unless this process has one already."""
    if SparkContext._gateway is not None:
        return
    read_end, write_end = os.pipe()
    Thread(target=_relay, args=(read_end,), name="spark-stderr", daemon=True).start()
    try:
        conf = SparkConf().setAll(list(settings.items()))
        gateway = launch_gateway(conf, {"stderr": write_end})  # type: ignore[no-untyped-call]
    finally:
        os.close(write_end)
    SparkContext._ensure_initialized(gateway=gateway)


def _relay(read_end: int) -> None:
    """Copy what the JVM writes to stderr, without its warnings, until the JVM ends."""
    with os.fdopen(read_end, errors="replace") as lines:
        for line in lines:
            if not line.startswith(_WARNING):
                os.write(_STDERR, line.encode())
