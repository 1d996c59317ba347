"""Which tests start no process: `make quick` runs them first, and a guard fails one that starts a process after all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
_running: list[str] = []
"""The quick test that runs in this process, if any."""


def mark_process_tests(items: list[pytest.Item]) -> None:
    """Mark each test that starts a process, so that `-m process` and `-m "not process"` divide all tests."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if item.nodeid.startswith(PROCESS_FOLDERS) or PROCESS_FIXTURES.intersection(fixtures):
            item.add_marker(pytest.mark.process)


@contextmanager
def without_processes(item: pytest.Item) -> Iterator[None]:
    """Let a test without the mark `process` fail at the process that it starts."""
    if item.get_closest_marker("process") is not None:
        yield
        return
    _running.append(item.nodeid)
    try:
        yield
    finally:
        _running.clear()


def install_guard() -> None:
    """Watch what this Python process starts. Python cannot remove such a hook."""
    sys.addaudithook(_refuse_process)


def _refuse_process(event: str, arguments: tuple[Any, ...]) -> None:
    if not _running or event not in _STARTS:
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
