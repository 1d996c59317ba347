"""A run of tests ends whatever one of them does."""

import os
import subprocess
import sys
from pathlib import Path

from tests.repository import ROOT

CONFTEST = """
from tests.scheduling import UnitScheduling

def pytest_xdist_make_scheduler(config, log):
    return UnitScheduling(config, log)
"""
HANGING = """
import threading

def test_before():
    pass

def test_that_hangs():
    threading.Event().wait()

def test_after():
    pass
"""
OTHERS = """
import pytest

@pytest.mark.parametrize("number", range(5))
def test_other(number):
    pass
"""


def test_a_test_that_hangs_fails_once_with_its_stack_and_the_others_still_run(tmp_path: Path) -> None:
    for name, text in (("conftest", CONFTEST), ("test_hanging", HANGING), ("test_others", OTHERS)):
        (tmp_path / f"{name}.py").write_text(text)
    limits = ("-o", "faulthandler_timeout=1", "-o", "faulthandler_exit_on_timeout=true")
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "-q", *limits]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    answer = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert "1 failed, 7 passed" in answer.stdout, answer.stdout
    assert "crashed while running 'test_hanging.py::test_that_hangs'" in answer.stdout
    assert "in test_that_hangs" in answer.stderr
    assert answer.returncode == 1
