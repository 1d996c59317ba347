"""Starts Spark's JVM, passes on its output, and records why Spark ended it or found no executors."""

import os
import re
from collections.abc import Mapping
from threading import Thread
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from components.contract.problems import CannotRunError

#: The JVM's message when Spark refuses a setting. A JVM that is too old prints something else.
_REFUSAL = re.compile(
    r'Exception in thread "main" '
    r"(?:org\.apache\.spark\.[\w.]+|java\.lang\.(?:IllegalArgument|NumberFormat)Exception): (.+)"
)
#: Lines in Spark's log that say Kubernetes refuses a pod, or that executor pods end.
_ABOUT_PODS = re.compile(
    r"\.KubernetesClientException: .* Message: (.+?)\. Received status|ERROR ExecutorPodsLifecycleManager: (.+)"
)
_STDERR = 2
_WARNING = "WARNING: "
"""How the JVM begins each warning about modules, which Spark's launcher chooses. Spark's own log begins with a time."""

#: What Spark's log of this process said about executor pods, oldest first.
log_of_pods: list[str] = []


def start_jvm(settings: Mapping[str, str]) -> None:
    """Start the JVM with the session's settings, unless this process has one already."""
    if SparkContext._gateway is not None:
        return
    read_end, write_end = os.pipe()
    refusals: list[str] = []
    relay = Thread(target=_relay, args=(read_end, refusals), name="spark-stderr", daemon=True)
    relay.start()
    try:
        gateway = _launched(settings, write_end)
    except PySparkException:
        # It ends with the JVM.
        relay.join()
        if refusals:
            raise refused(
                refusals[0], settings.get("spark.master", ""), "Spark's JVM ended before a session began."
            ) from None
        raise
    SparkContext._ensure_initialized(gateway=gateway)


def _launched(settings: Mapping[str, str], stderr: int) -> Any:
    try:
        conf = SparkConf().setAll(list(settings.items()))
        return launch_gateway(conf, {"stderr": stderr})  # type: ignore[no-untyped-call]
    finally:
        os.close(stderr)


def refused(what: str, master: str, why: str) -> CannotRunError:
    remedy = "correct --master, --driver-memory or --spark-conf, or what the stack file says of them."
    return CannotRunError("spark-refused", what, f"Spark master {master}", why, remedy)


def _relay(read_end: int, refusals: list[str]) -> None:
    """Copy what the JVM writes to stderr, without its warnings, until it ends; `refusals` gets the reasons why Spark
    ended it.
    """
    with os.fdopen(read_end, errors="replace") as lines:
        for line in lines:
            if refusal := _REFUSAL.match(line):
                refusals.append(refusal[1].strip())
            if about := _ABOUT_PODS.search(line):
                log_of_pods.append(about[1] or about[2])
            if not line.startswith(_WARNING):
                os.write(_STDERR, line.encode())
