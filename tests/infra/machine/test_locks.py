"""The lock between commands: two simultaneous `up` do not start every server twice."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.machine.waiting import exclusive

pytestmark = pytest.mark.process

HOLD = """
import fcntl, signal, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.usefixtures("held")
def test_waiting_too_long_for_the_lock_is_an_error_that_says_what_the_holder_does(tmp_path: Path) -> None:
    expected = pytest.raises(CannotRunError, match=r"another process has been starting the stack for more than 0\.2 s")
    with expected, exclusive(tmp_path / "lock", Console(quiet=True), "starting the stack", 0.2):
        pytest.fail("the lock was given to two")


def test_a_lock_whose_holder_was_killed_is_free(held: subprocess.Popen[str], tmp_path: Path) -> None:
    held.kill()
    held.wait()
    entered = False
    with exclusive(tmp_path / "lock", Console(quiet=True), "starting the stack", 10):
        entered = True
    assert entered
