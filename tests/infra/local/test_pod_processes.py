"""A Pod's process: its files, how it ends, and what remains afterwards."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafka_replication.infra.local import kubelet
from kafka_replication.infra.local.kubelet import UNKNOWN_EXIT_CODE, PodProcesses
from kafka_replication.infra.local.operator.ledger import PodRecord
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

pytestmark = pytest.mark.process

POD = "mirror-orders/a"
SECRET = "/etc/replication/secrets/login"
WAITS = "import signal; print('ready', flush=True); signal.pause()"
LEADERLESS = """
import ctypes, os, pathlib, platform, threading
os.mkfifo("go")
def end():
    pathlib.Path("go").read_text()
    os._exit(7)
threading.Thread(target=end).start()
# The system call ends the thread that calls it; `ctypes` releases the interpreter's lock before the call.
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
"""
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[PodProcesses]:
    found = PodProcesses(tmp_path)
    yield found
    found.stop_all()


def a_process(pods: PodProcesses, program: str) -> PodRecord:
    pods.start(POD, "u", [sys.executable, "-c", program], dict(os.environ), {SECRET: b"hunter2"})
    record = pods.ledger.get("u")
    assert record is not None
    return record


def ready(record: PodRecord) -> None:
    if "ready" not in processes.last_lines(record.log):
        raise NotYetError("an empty log")


def code_of(pods: PodProcesses, record: PodRecord) -> int:
    def ended() -> int:
        code = pods.exit_code(record)
        if code is None:
            raise NotYetError("it runs")
        return code

    return wait_for("the end", ended, 20, interval_seconds=0.05)


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_exit_code_of_a_process_is_known(pods: PodProcesses, code: int) -> None:
    assert code_of(pods, a_process(pods, f"raise SystemExit({code})")) == code


def test_a_process_reads_its_mounted_files_and_nobody_else_can(pods: PodProcesses) -> None:
    record = a_process(pods, "import pathlib; print(pathlib.Path('etc/replication/secrets/login').read_text())")
    file = pods.folder(POD) / SECRET.lstrip("/")
    assert file.stat().st_mode & 0o077 == 0
    assert code_of(pods, record) == 0
    assert processes.last_lines(record.log) == "hunter2"


def test_credentials_are_deleted_after_the_process_and_its_log_with_the_pod(pods: PodProcesses) -> None:
    record = a_process(pods, "print('done')")
    code_of(pods, record)
    pods.clean(record)
    folder = pods.folder(POD)
    assert [each.name for each in folder.iterdir()] == ["log"]
    pods.forget(record)
    assert (folder.exists(), pods.ledger.get("u")) == (False, None)


def test_stopping_a_pod_sends_sigterm_to_its_process(pods: PodProcesses) -> None:
    record = a_process(pods, WAITS)
    wait_for("the process", lambda: ready(record), 20, interval_seconds=0.05)
    assert not pods.stop(record)
    assert code_of(pods, record) == 128 + 15
    assert pods.stop(record)


def test_a_process_that_ignores_sigterm_is_killed(pods: PodProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet, "KILL_AFTER_SECONDS", -1)
    record = a_process(pods, STUBBORN)
    wait_for("the process", lambda: ready(record), 20, interval_seconds=0.05)
    pods.stop(record)
    asked = pods.ledger.get("u")
    assert asked is not None
    pods.stop(asked)
    assert code_of(pods, record) == 128 + 9


def test_a_process_whose_first_thread_has_ended_still_runs(pods: PodProcesses) -> None:
    """It looks like a zombie without an exit code. If it counted as ended, a Job that passes would fail."""
    record = a_process(pods, LEADERLESS)

    def leaderless() -> None:
        if psutil.Process(record.pid).status() != psutil.STATUS_ZOMBIE:
            raise NotYetError("its first thread runs")

    wait_for("the first thread to end", leaderless, 20, interval_seconds=0.05)
    assert pods.exit_code(record) is None
    (pods.folder(POD) / "go").write_text("")
    assert code_of(pods, record) == 7


def test_a_restarted_operator_finds_the_process_but_not_its_exit_code(pods: PodProcesses, tmp_path: Path) -> None:
    record = a_process(pods, WAITS)
    again = PodProcesses(tmp_path)
    found = again.ledger.get("u")
    assert found == record
    processes.stop(record, 5)
    # A process that has ended may not have been collected yet.
    code_of(pods, record)
    processes._children.clear()
    assert again.exit_code(found) == UNKNOWN_EXIT_CODE
