"""A process is ours if its pid and creation time match: `down` stops all our processes and no others."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.parts.processes import ProcessRecord
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

pytestmark = pytest.mark.process

SLEEP = (sys.executable, "-c", "import signal; print('ready', flush=True); signal.pause()")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()",
)


@pytest.fixture
def started() -> Iterator[list[ProcessRecord]]:
    """Records of the processes that a test starts; they are stopped after the test."""
    records: list[ProcessRecord] = []
    yield records
    processes.stop_all(records, grace_seconds=0)


def a_process(started: list[ProcessRecord], folder: Path, command: tuple[str, ...] = SLEEP) -> ProcessRecord:
    """A process that runs: it has written to its log."""
    record = processes.start("a-part", command, folder / "logs" / "a-part.log", dict(os.environ))
    started.append(record)

    def expect_ready() -> None:
        if "ready" not in processes.last_lines(record.log):
            raise NotYetError("an empty log")

    wait_for("the process", expect_ready, 120)
    return record


def test_a_started_process_is_alive_until_it_is_stopped(started: list[ProcessRecord], tmp_path: Path) -> None:
    record = a_process(started, tmp_path)
    assert processes.alive(record)
    assert processes.stop(record)
    assert not processes.alive(record)
    assert not processes.stop(record)


def test_another_process_with_the_same_pid_is_not_ours_and_is_not_stopped(
    started: list[ProcessRecord], tmp_path: Path
) -> None:
    stranger = a_process(started, tmp_path)
    outdated = stranger.model_copy(update={"created": stranger.created - 3600})
    assert not processes.alive(outdated)
    assert not processes.stop(outdated)
    assert processes.family(outdated) == []
    assert processes.alive(stranger)


def test_a_process_that_ignores_sigterm_is_killed(started: list[ProcessRecord], tmp_path: Path) -> None:
    record = a_process(started, tmp_path, STUBBORN)
    assert processes.stop(record, grace_seconds=0.2)
    assert not processes.alive(record)


def test_a_killed_process_counts_as_dead_although_it_is_our_zombie(
    started: list[ProcessRecord], tmp_path: Path
) -> None:
    record = a_process(started, tmp_path)
    os.kill(record.pid, signal.SIGKILL)

    def expect_dead() -> None:
        if processes.alive(record):
            raise NotYetError("alive")

    wait_for("the end of the process", expect_dead, 120)


def test_a_process_that_ended_counts_as_dead_before_its_parent_reaps_it(
    started: list[ProcessRecord], tmp_path: Path
) -> None:
    parent = (
        sys.executable,
        "-c",
        "import signal, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "print('ready', flush=True)\nsignal.pause()",
    )
    child = processes.family(a_process(started, tmp_path, parent))[1]
    record = ProcessRecord(name="child", pid=child.pid, created=child.create_time())
    assert processes.stop(record, grace_seconds=20)
    assert child.status() == psutil.STATUS_ZOMBIE


def test_a_process_has_its_own_session_so_that_a_ctrl_c_does_not_reach_it(
    started: list[ProcessRecord], tmp_path: Path
) -> None:
    record = a_process(started, tmp_path)
    assert os.getsid(record.pid) == record.pid != os.getsid(0)


def test_the_log_is_private_and_goes_on_after_a_restart(started: list[ProcessRecord], tmp_path: Path) -> None:
    record = a_process(started, tmp_path)
    processes.stop(record)
    again = a_process(started, tmp_path)
    assert again.log is not None
    assert again.log.stat().st_mode & 0o777 == 0o600

    def expect_both() -> None:
        if processes.last_lines(again.log) != "ready\nready":
            raise NotYetError(processes.last_lines(again.log))

    wait_for("the lines of both processes", expect_both, 120)


def test_the_family_includes_what_a_part_started(started: list[ProcessRecord], tmp_path: Path) -> None:
    parent = (
        sys.executable,
        "-c",
        "import signal, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "print('ready', flush=True)\nsignal.pause()",
    )
    record = a_process(started, tmp_path, parent)
    family = processes.family(record)
    assert len(family) == 2
    child = family[1]
    started.append(ProcessRecord(name="child", pid=child.pid, created=child.create_time()))


def test_last_lines_gives_the_end_of_a_log_only(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.write_text("".join(f"line {number}\n" for number in range(100_000)))
    assert processes.last_lines(log, count=2) == "line 99998\nline 99999"
    assert processes.last_lines(tmp_path / "none.log") == ""


def test_a_process_that_never_existed_is_not_alive() -> None:
    # Above the highest process id that Linux assigns.
    assert not processes.alive(ProcessRecord(name="none", pid=2**22 + 1, created=psutil.boot_time()))
