"""Lifetimes that tests share: a local stack for each process of a run, apart from the one of the demo.

With `-n 2` two processes run units of tests side by side: whole folders, and files that share nothing with theirs.
"""

import asyncio
import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Read when infra.local.paths is imported: the tests' stack keeps its state, ports and processes to itself.
_OWN = Path(__file__).resolve().parent.parent / ".local" / "test"
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
os.environ["REPLICATE_LOCAL"] = str(Path(os.environ.get("REPLICATE_TEST_LOCAL") or _OWN) / _WORKER)
# Compiling well costs the short Spark jobs of tests more than it gains them.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

import psutil
import pytest
from rich.console import Console
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

from infra.local import paths, stack
from infra.local.endpoints import Endpoints
from infra.local.locks import exclusive
from infra.local.waiting import NotYetError, wait_for

_OTHER_RUN_SECONDS = 3600
_TEAR_DOWN_SECONDS = 300
_APART = ("tests/local/test_announced", "tests/local/test_promot")
"""Beginnings of files that deploy stacks of their own, and need nothing that the tests of their folder share."""
_LONGEST = ("local", "spark", *_APART, "operator", "local_parts", "contract", "provider")

_workers: list[Any] = []


class UnitScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a process whole units: tests of a folder share what they start, and some depend on their order."""

    def _split_scope(self, nodeid: str) -> str:
        return _unit(nodeid)


def _unit(nodeid: str) -> str:
    """The folder of a test, or the beginning of its file's name that is apart."""
    file = nodeid.split("::")[0]
    return next((name for name in _APART if file.startswith(name)), file.split("/")[1])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> UnitScheduling:
    config.option.loadscopereorder = False
    return UnitScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest units first, so that no process ends long after the other."""
    places = {unit: place for place, unit in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(_unit(item.nodeid), len(places)))


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        # A terminal's Ctrl-C would reach it beside the signal that it gets below, and interrupt its tearing down.
        os.setpgrp()


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
    with exclusive(paths.LOCAL / "tests.lock", Console(), "running the tests", _OTHER_RUN_SECONDS):
        with capture.global_and_fixture_disabled():
            console = Console(stderr=True, force_terminal=False if _WORKER else None)
            console.print("\nstarting the local stack of the tests")
            running = stack.up(console)
        yield running
        stack.down(Console(quiet=True), purge=True)


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
