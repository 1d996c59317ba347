"""Lifetimes that tests share: one local stack for the whole run, apart from the one of the demo."""

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path

# Read when infra.local.paths is imported: the tests' stack keeps its state, ports and processes to itself.
_OWN = Path(__file__).resolve().parent.parent / ".local" / "test"
os.environ["REPLICATE_LOCAL"] = os.environ.get("REPLICATE_TEST_LOCAL") or str(_OWN)

import pytest
from rich.console import Console

from infra.local import paths, stack
from infra.local.endpoints import Endpoints
from infra.local.locks import exclusive

_OTHER_RUN_SECONDS = 3600


@pytest.fixture(scope="session")
def endpoints(request: pytest.FixtureRequest) -> Iterator[Endpoints]:
    """The running local stack of the tests: API server, two Kafka regions, operator."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    # Another run of the tests would share this stack, and remove it at its own end.
    with exclusive(paths.LOCAL / "tests.lock", Console(), "running the tests", _OTHER_RUN_SECONDS):
        with capture.global_and_fixture_disabled():
            console = Console()
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

    asyncio.run(let_go())
