"""Ctrl-C in a run of the tests leaves no process behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.repository import ROOT

pytestmark = pytest.mark.process

CONFTEST = """
import os
from tests.interrupts import tear_down

nodes = []

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        os.setpgrp()

def pytest_testnodeready(node):
    nodes.append(node)

def pytest_keyboard_interrupt():
    if nodes:
        tear_down(nodes, 3)
"""
TESTS = """
import pathlib
import subprocess
import sys
import threading

import pytest

@pytest.fixture
def server():
    command = [sys.executable, "-c", "import signal; signal.pause()"]
    with subprocess.Popen(command, start_new_session=True) as process:
        pathlib.Path("server").write_text(str(process.pid))
        yield
        {tear_down}

def test_that_waits(server):
    threading.Event().wait()
"""

#: A shell without job control lets what it runs in the background ignore Ctrl-C, and these tests with it.
RUN = """
import signal
import sys

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main())
"""


@pytest.mark.parametrize(
    "tear_down",
    [
        pytest.param("process.terminate()", id="which its fixture stops"),
        pytest.param("threading.Event().wait()", id="whose fixture hangs"),
    ],
)
def test_a_server_has_ended_after_an_interrupt(tear_down: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_waiting.py").write_text(TESTS.replace("{tear_down}", tear_down))
    command = [sys.executable, "-c", RUN, "-n", "1", "-p", "no:cacheprovider", "-q"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    file = tmp_path / "server"

    def started() -> psutil.Process:
        if not file.exists() or not file.read_text():
            raise NotYetError("it has not started")
        return psutil.Process(int(file.read_text()))

    with subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, start_new_session=True) as run:
        server = wait_for("the server", started, 300)
        os.killpg(run.pid, signal.SIGINT)
        run.communicate(timeout=300)
    assert run.returncode == pytest.ExitCode.INTERRUPTED
    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
