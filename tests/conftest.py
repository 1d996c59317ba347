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

import psutil
import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

from infra.local import stack
from infra.local.build.artifacts import COLD_BUILD_SECONDS
from infra.local.endpoints import Endpoints
from infra.machine import jars as maven
from infra.machine import paths as machine_paths
from infra.machine.class_archives import class_archive
from infra.machine.jdk import find_jdk
from infra.machine.locks import exclusive
from infra.project import local_folder
from infra.waiting import NotYetError, wait_for
from spark.sessions import SessionOptions, Spark, session, spark_jvm

_OTHER_RUN_SECONDS = 3600
_TEAR_DOWN_SECONDS = 300
_APART = {"local", "spark", "infra/operator", "infra/provider"}
"""Folders of which each file is a unit."""

_ALONE = {"contract/test_running_connect.py"}
"""Files that are a unit of their own, although the rest of their folder is one: that shares three API servers."""

_LONGEST = (
    "local/example",
    "local/test_promotion.py",
    "local/test_pair.py",
    "local/test_announced_effects.py",
    "infra/operator/test_running_stack.py",
    "local/test_api_switch.py",
    "infra/provider/test_deployment.py",
    "local/",
    "spark/test_standalone.py",
    "infra/operator/test_running_v1beta2.py",
    "infra/operator/test_worker_pods.py",
    "spark/test_incremental.py",
    "spark/test_forged_flows.py",
    "infra/operator/test_running_mirror_maker2.py",
    "contract",
    "model",
    "spark/",
    "infra/",
)
"""Beginnings of the names of units, the longest unit first."""

_SPARK_ON_A_STACK = (
    "arriving_heartbeats changed_headers checkpoint_reading deleted_topics few_records filtered forged_flows "
    "forged_shapes forged_starts forged_transactions heartbeats incremental kept_on_clusters movement "
    "open_transactions quick recreated refusals short_partitions small_reads standalone submitted sync_reading "
    "timeouts topic_settings"
)

_ON_A_STACK = (
    "local/",
    "contract/test_running_connect.py",
    "infra/operator/test_running",
    "infra/operator/test_worker_pods.py",
    "infra/provider/test_deployment.py",
    "infra/provider/test_own_process.py",
    *(f"spark/test_{name}.py" for name in _SPARK_ON_A_STACK.split()),
)
"""Beginnings of the names of units whose tests ask for `endpoints`."""

_workers: list[Any] = []


class UnitScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives whole units to a process: the tests of a unit share what they start, and some depend on their order."""

    def _split_scope(self, nodeid: str) -> str:
        return _unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if _without_stack(node.gateway.id, self.numnodes):
            unit = next((each for each in self.workqueue if not each.startswith(_ON_A_STACK)), None)
            if unit is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)


def _without_stack(worker: str, workers: int) -> bool:
    """Whether this process, such as gw2 of 3, only runs units that need no local stack: the last of three or more."""
    return workers > 2 and int(worker.removeprefix("gw")) == workers - 1


def _unit(nodeid: str) -> str:
    """The file of a test, or its folder if the tests of the folder share more."""
    file = nodeid.split("::")[0].removeprefix("tests/")
    folder = file.rpartition("/")[0]
    return file if folder in _APART or file in _ALONE else folder


def _place(unit: str) -> tuple[bool, int]:
    """Units on a stack come first, so that none of them waits for a process that runs anything else."""
    longest = next((place for place, name in enumerate(_LONGEST) if unit.startswith(name)), len(_LONGEST))
    return not unit.startswith(_ON_A_STACK), longest


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> UnitScheduling:
    config.option.loadscopereorder = False
    return UnitScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest units first, so that all processes end at about the same time."""
    asking = {_unit(item.nodeid) for item in items if "endpoints" in getattr(item, "fixturenames", ())}
    if unknown := sorted(unit for unit in asking if not unit.startswith(_ON_A_STACK)):
        raise pytest.UsageError(f"tests/conftest.py: _ON_A_STACK lacks {', '.join(unknown)}")
    items.sort(key=lambda item: _place(_unit(item.nodeid)))


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        # A terminal's Ctrl-C would reach it beside the signal that it gets below, and interrupt its tearing down.
        os.setpgrp()
        if _without_stack(_WORKER, int(os.environ["PYTEST_XDIST_WORKER_COUNT"])):
            # Those that wait for a stack have deadlines.
            os.nice(10)


def pytest_testnodeready(node: Any) -> None:
    _workers.append(node)


def pytest_keyboard_interrupt() -> None:
    """Let the processes tear down what they started: pytest-xdist gives them seconds, then kills them."""
    for process in psutil.Process().children() if _workers else ():
        os.killpg(process.pid, signal.SIGINT)
    wait_for("the processes to tear down", _expect_torn_down, _TEAR_DOWN_SECONDS)


def _expect_torn_down() -> None:
    if busy := [worker.gateway.id for worker in _workers if not worker.channel.isclosed()]:
        raise NotYetError(f"{', '.join(busy)} still at it")


@pytest.fixture(scope="session")
def endpoints(request: pytest.FixtureRequest) -> Iterator[Endpoints]:
    """The running local stack of the tests: API server, two Kafka regions, operator."""
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
    console = Console(stderr=True)
    with exclusive(machine_paths.build_lock(), console, "building the local stack's parts", COLD_BUILD_SECONDS):
        return maven.ensure_jars(maven.SPARK, find_jdk(), console)


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
