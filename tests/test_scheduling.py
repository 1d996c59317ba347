"""A run of tests ends whatever one of them does."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.repository import ROOT
from tests.scheduling import UnitScheduling, unit_of

pytestmark = pytest.mark.process

CONFTEST = """
from tests.scheduling import UnitScheduling

def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False
    return UnitScheduling(config, log)
"""
ENDING = """
import threading

def test_before():
    pass

def test_that_ends_its_process():
    {ends}

def test_after():
    pass
"""
SHORT = """
def test_short():
    pass
"""
UNITS = {"a": SHORT, "b": ENDING, "c": SHORT, "d": SHORT}


@pytest.mark.parametrize(
    ("ends", "processes"),
    [
        pytest.param("threading.Event().wait()", 1, id="hangs"),
        pytest.param("import os; os._exit(3)", 1, id="crashes"),
        pytest.param("import os; os._exit(3)", 3, id="crashes beside others"),
    ],
)
def test_a_test_that_ends_its_process_fails_once_and_all_others_run(ends: str, processes: int, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name, text in UNITS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"test_{name}.py").write_text(text.replace("{ends}", ends))
    limits = ("-o", "faulthandler_timeout=10", "-o", "faulthandler_exit_on_timeout=true")
    command = [sys.executable, "-m", "pytest", "-n", str(processes), "-p", "no:cacheprovider", "-q", *limits]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    answer = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=900)
    assert "1 failed, 5 passed" in answer.stdout, answer.stdout
    assert "crashed while running 'b/test_b.py::test_that_ends_its_process'" in answer.stdout
    assert ("in test_that_ends_its_process" in answer.stderr) == ("wait" in ends), (
        "a test that hangs is seen by its stack"
    )
    assert answer.returncode == 1


class _Ended:
    """A process that has ended, which xdist has not heard of yet."""

    gateway = SimpleNamespace(id="gw0")

    def send_runtest_some(self, _: list[int]) -> None:
        raise OSError("cannot send (already closed?)")


def test_units_that_were_sent_to_an_ended_process_run_in_another_one() -> None:
    scheduling = UnitScheduling(SimpleNamespace(getvalue=lambda _: ["popen"]), None)
    node, tests = _Ended(), ["a/test_a.py::test_one", "b/test_b.py::test_two"]
    scheduling.registered_collections[node] = tests
    scheduling.assigned_work[node] = {}
    scheduling.workqueue.update({unit_of(test): {test: False} for test in tests})
    scheduling._assign_work_unit(node)
    assert scheduling.remove_node(node) == tests[0]
    assert list(scheduling.workqueue) == [unit_of(tests[1])]
