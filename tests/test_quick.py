"""`make quick` runs no test that starts a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import ROOT

pytestmark = pytest.mark.process

CONFTEST = """
import pytest
from tests.quick import install_guard, is_quick, mark_process_tests

@pytest.fixture
def endpoints():
    raise AssertionError("it starts a stack")

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_process_tests(items)

def pytest_configure(config):
    config.addinivalue_line("markers", "process: starts a process")
    if is_quick(config):
        install_guard()
"""
TESTS = """
import subprocess
import sys

import pytest

def test_with_a_fixture_that_starts_processes(endpoints):
    pass

@pytest.mark.process
def test_with_the_mark():
    raise AssertionError("it starts a process")

def test_that_starts_none():
    pass

def test_that_starts_one():
    try:
        subprocess.run([sys.executable, "-c", ""], check=True)
    except Exception:
        pass
"""


def test_a_process_fails_the_test_that_starts_it_without_the_mark(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-m", "not process", "-p", "no:cacheprovider", "-q"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    answer = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300)
    assert "1 failed, 1 passed, 2 deselected" in answer.stdout, answer.stdout
    assert f"it starts {Path(sys.executable).name}" in answer.stdout
