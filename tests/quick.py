"""Which tests start no process: `make quick` runs them first, and a guard fails one that starts a process after all."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

PROCESS_FIXTURES = frozenset({"endpoints", "jars", "api_server_of"})
"""The fixtures that start brokers, workers, API servers or JVMs, or fetch what these need; many others ask for them."""

PROCESS_FOLDERS = ("tests/contract/", "tests/local/", "tests/workflows/")
"""The folders whose tests compare with real programs, or run commands as a user does."""

_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "os.spawn"})
#: Python's own module `platform` asks it for the processor.
_HARMLESS = frozenset({"uname"})


def mark_process_tests(items: list[pytest.Item]) -> None:
    """Mark each test that starts a process, so that `-m process` and `-m "not process"` divide all tests."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if item.nodeid.startswith(PROCESS_FOLDERS) or PROCESS_FIXTURES.intersection(fixtures):
            item.add_marker(pytest.mark.process)


def is_quick(config: pytest.Config) -> bool:
    """Whether this run leaves out the tests that start a process."""
    return bool(config.option.markexpr == "not process")


def install_guard() -> None:
    """Let each test that starts a process from now on fail. Python cannot remove such a hook."""
    sys.addaudithook(_refuse_process)


def _refuse_process(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _STARTS or "PYTEST_CURRENT_TEST" not in os.environ:
        return
    program = _program(event, arguments)
    if program in _HARMLESS:
        return
    # No `except Exception` of the code under test catches this.
    pytest.fail(f"it starts {program}: mark it with pytest.mark.process, or add the fixture to PROCESS_FIXTURES")


def _program(event: str, arguments: tuple[Any, ...]) -> str:
    """Return the name of the program that an audit event starts. Source: Python's table of audit events."""
    if event == "os.fork":
        return "a copy of itself"
    given = arguments[1] if event == "os.spawn" else arguments[0]
    if given is None and event == "subprocess.Popen":
        given = arguments[1]
    first = given if isinstance(given, (str, bytes, os.PathLike)) else given[0]
    return Path(os.fsdecode(first)).name
