"""Fixtures that tests share: each process of a run has a local stack and a Spark session of its own.

With `-n 4` four processes run units of tests side by side: a unit is a folder, or a file of a folder whose files share
nothing but these fixtures. Three of the processes have a local stack: they mostly wait. The last one runs units that
need none; the others take what is left of them in the end.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.scheduling import ON_A_STACK, UnitScheduling, place_of, runs_without_stack, unit_of
from tests.spark.uncompiled import INTERPRETED, conf_words

# Read when infra.local.paths is imported: the tests' stack keeps its state, ports and processes to itself.
_OWN = Path(__file__).resolve().parent.parent / ".local" / "test"
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
os.environ["REPLICATE_LOCAL"] = str(Path(os.environ.get("REPLICATE_TEST_LOCAL") or _OWN) / _WORKER)
# Compiling well costs the short Spark jobs of tests more than it gains them.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")
# A third of the processor time of an API server is the collection of garbage in a small heap.
os.environ.setdefault("GOGC", "400")
# Nor does compiling their queries pay off. The job that tests start by spark-submit reads no such variable.
os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join((*conf_words(INTERPRETED), "pyspark-shell"))

import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from xdist.scheduler import LoadFileScheduling, LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

from kafka_replication.infra.local import stack
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.machine import toolchain
from kafka_replication.infra.machine.jdk import class_archive, find_jdk
from kafka_replication.infra.machine.waiting import exclusive
from kafka_replication.infra.stack.project import local_folder
from kafka_replication.spark.read.sessions import SessionOptions, Spark, session, spark_jvm
from tests.building import building, without_limit
from tests.interrupts import tear_down
from tests.quick import PROCESS_FOLDERS, install_guard, is_quick, mark_process_tests

_OTHER_RUN_SECONDS = 3600
_TEAR_DOWN_SECONDS = 300
_workers: list[Any] = []


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    # The tests have an order, see below. xdist's own begins with the files that have the most tests, not the longest.
    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log) if is_quick(config) else UnitScheduling(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make quick` does not import the folders that it leaves out."""
    return True if is_quick(config) and f"{collection_path}/".endswith(PROCESS_FOLDERS) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest units first, so that all processes end at about the same time."""
    mark_process_tests(items)
    asking = {unit_of(item.nodeid) for item in items if "endpoints" in getattr(item, "fixturenames", ())}
    if unknown := sorted(unit for unit in asking if not unit.startswith(ON_A_STACK)):
        raise pytest.UsageError(f"tests/scheduling.py: ON_A_STACK lacks {', '.join(unknown)}")
    items.sort(key=lambda item: place_of(unit_of(item.nodeid)))


def pytest_configure(config: pytest.Config) -> None:
    if is_quick(config):
        install_guard()
    if hasattr(config, "workerinput"):
        # A terminal's Ctrl-C would reach it beside the signal that it gets below, and interrupt its tearing down.
        os.setpgrp()
        if runs_without_stack(_WORKER, int(os.environ["PYTEST_XDIST_WORKER_COUNT"])):
            # Those that wait for a stack have deadlines.
            os.nice(10)


def pytest_testnodeready(node: Any) -> None:
    _workers.append(node)


def pytest_keyboard_interrupt() -> None:
    if _workers:
        tear_down(_workers, _TEAR_DOWN_SECONDS)


@pytest.fixture(scope="session")
def endpoints(request: pytest.FixtureRequest) -> Iterator[Endpoints]:
    """The running local stack of the tests: API server, two Kafka regions, operator."""
    without_limit()
    capture = request.config.pluginmanager.getplugin("capturemanager")
    # Another run of the tests would share this stack, and remove it at its own end.
    with exclusive(local_folder() / "tests.lock", Console(), "running the tests", _OTHER_RUN_SECONDS):
        with capture.global_and_fixture_disabled():
            console = Console(stderr=True, force_terminal=False if _WORKER else None)
            console.print("\nstarting the local stack of the tests")
            # A run that was killed leaves processes, topics and objects behind.
            stack.down(Console(quiet=True), purge=True)
            running = stack.up(console)
        yield running
        stack.down(Console(quiet=True), purge=True)


@pytest.fixture(scope="session")
def jars() -> Path:
    """The jars of spark/pom.xml; a local stack that starts at the same time fetches them too."""
    with building("building the local stack's parts") as console:
        return toolchain.ensure_jars(toolchain.SPARK, find_jdk(), console)


@pytest.fixture(scope="session")
def spark(jars: Path) -> Iterator[SparkSession]:
    """The validation job's own session on two cores: one JVM for every test of this process that runs the job."""
    jdk = find_jdk()
    os.environ["JAVA_HOME"] = str(jdk.home)
    archive = class_archive(jdk, "tests", jars, sys.executable)
    os.environ["SPARK_SUBMIT_OPTS"] = " ".join((os.environ["SPARK_SUBMIT_OPTS"], *archive))
    os.environ["REPLICATE_SPARK_JARS"] = str(jars)
    with session(SessionOptions(master="local[2]", jars_dir=jars)) as running:
        yield running


@pytest.fixture(scope="session")
def started(spark: SparkSession) -> Iterator[Spark]:
    """The same, as a job finds it that begins while it runs: Spark then reads whatever parity compares."""
    assert spark
    with spark_jvm(SessionOptions()) as found:
        yield found


@pytest.fixture
def stopped_programs() -> Iterator[None]:
    """Let go of the programs that Pulumi's engine stopped: it leaves them suspended, and such a coroutine asks for a
    running event loop when it is collected. In another test it would find none, and be reported there."""
    yield

    async def let_go() -> None:
        gc.collect()

    # Not `asyncio.run`, which leaves the thread without the loop that Pulumi's own tests of components take.
    loop = asyncio.new_event_loop()
    loop.run_until_complete(let_go())
    loop.close()


@pytest.fixture
def heeded() -> Iterator[None]:
    """A Ctrl-C is Python's own: Spark leaves a handler of its own behind, and a shell's background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
