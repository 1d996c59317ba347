"""Starts, finds and stops the stack's processes by process id and creation time, and finds free ports."""

import contextlib
import os
import random
import socket
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict

from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for

#: Creation times are relative to the boot time, which moves when the clock is set.
CLOCK_TOLERANCE_SECONDS = 2.0
#: How long the kernel may take to end a killed process.
KILL_SECONDS = 10.0
#: The processes that this process started. One that has ended must be reaped, or it would seem to be alive.
_children: dict[int, subprocess.Popen[bytes]] = {}


class ProcessRecord(BaseModel):
    """A started process: `created` is its creation time in seconds since the epoch, `log` its output file."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    name: str
    pid: int
    created: float
    log: Path | None = None


def start(
    name: str, command: Sequence[str | Path], log: Path, env: Mapping[str, str], cwd: Path | None = None
) -> ProcessRecord:
    """Start a process in a session of its own, so that a Ctrl-C at the terminal does not reach it."""
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    finally:
        os.close(handle)
    _children[process.pid] = process
    return ProcessRecord(name=name, pid=process.pid, created=psutil.Process(process.pid).create_time(), log=log)


def alive(record: ProcessRecord) -> bool:
    """Return whether the recorded process is running; false if another process has its process id."""
    return find(record) is not None


def exit_code(record: ProcessRecord) -> int | None:
    """Return the exit code of a process that this process started, negative for a signal; None if it is unknown."""
    child = _children.get(record.pid)
    return None if child is None else child.poll()


def is_ending(record: ProcessRecord) -> bool:
    """Return whether a process that this one started has ended its first thread but not another."""
    child = _children.get(record.pid)
    return child is not None and child.poll() is None


def stop(record: ProcessRecord, grace_seconds: float = 30.0) -> bool:
    """Stop the process with SIGTERM, and with SIGKILL after `grace_seconds`. False if it was not running."""
    return stop_all([record], grace_seconds) == 1


def stop_all(records: Iterable[ProcessRecord], grace_seconds: float) -> int:
    """Stop the processes together, as `stop` does, and return how many were running. Raises DeadlineError."""
    ours = [record for record in records if alive(record)]

    def expect_gone() -> None:
        # psutil's wait would also wait until init reaps the process, which may take seconds.
        if left := [f"{record.name} ({record.pid})" for record in ours if alive(record)]:
            raise NotYetError(f"still there: {', '.join(left)}")

    _signal(ours, psutil.Process.terminate)
    try:
        wait_for("processes to end", expect_gone, grace_seconds, interval_seconds=0.05)
    except DeadlineError:
        _signal(ours, psutil.Process.kill)
        wait_for("killed processes to end", expect_gone, KILL_SECONDS, interval_seconds=0.05)
    return len(ours)


def _signal(records: Iterable[ProcessRecord], send: Callable[[psutil.Process], None]) -> None:
    for record in records:
        process = find(record)
        if process is not None:
            # A process that has already ended needs no signal.
            with contextlib.suppress(psutil.NoSuchProcess):
                send(process)


def family(record: ProcessRecord) -> list[psutil.Process]:
    """Return the recorded process and its descendants; empty if it is not running."""
    process = find(record)
    if process is None:
        return []
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def last_lines(log: Path | None, count: int = 15) -> str:
    """Return the end of a log: at most `count` lines and 64 KiB."""
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - 65536, 0))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])


def find(record: ProcessRecord) -> psutil.Process | None:
    """Return the recorded process, or None if it has ended, even if another process has its process id."""
    if (child := _children.get(record.pid)) is not None:
        child.poll()
    try:
        process = psutil.Process(record.pid)
        if abs(process.create_time() - record.created) > CLOCK_TOLERANCE_SECONDS:
            return None
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


#: Below the kernel's range for outgoing connections, which could take the port of a stopped part.
FIRST, LAST = 20000, 32000


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        # Servers set it too: connections in TIME_WAIT from the last run do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def is_open(port: int) -> bool:
    """Return whether a server accepts connections on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port(taken: Iterable[int] = ()) -> int:
    """Return a free port that is not in `taken`: those ports are reserved, even if they are not in use yet."""
    promised = set(taken)
    choice = random.SystemRandom()
    while True:
        port = choice.randint(FIRST, LAST)
        if port not in promised and is_free(port):
            return port


def becomes_free(port: int) -> bool:
    """Wait while no process listens on the port and yet it is not free: one that was killed keeps it until its last
    thread has ended.
    """

    def look() -> bool:
        if is_free(port):
            return True
        if _listener(port) is None:
            raise NotYetError("its process is ending")
        return False

    try:
        return wait_for(f"port {port}", look, KILL_SECONDS, interval_seconds=0.1)
    except DeadlineError:
        return False


def holder(port: int) -> str:
    """Return the process that listens on the port, if this user may see it."""
    process = _listener(port)
    return "a process of another user" if process is None else f"process {process.pid} ({process.name()})"


def _listener(port: int) -> psutil.Process | None:
    for process in psutil.process_iter(["pid", "name"]):
        try:
            for connection in process.net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return process
        except psutil.Error:
            continue
    return None
