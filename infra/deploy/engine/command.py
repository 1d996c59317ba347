"""Runs Pulumi's command line detached from the terminal, so that a Ctrl-C reaches it once, and waits for its end.

The Automation API does not wait for an interrupted engine. It closes the pipes to which the engine writes and stops the
program whose resources the engine registers, and the engine then dies in the middle of an operation.
"""

import getpass
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Self

import psutil
from pulumi import automation
from pulumi.automation import CommandResult
from pulumi.automation.errors import create_command_error

from kafka_replication.components.contract.wording import numbered
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for

Say = Callable[[str], object]
_LOOK_SECONDS = 1.0
_ORPHAN_SECONDS = 60.0
_CLOCK_TOLERANCE_SECONDS = 2.0
#: What a provider says of a request that it did not finish because the engine was interrupted.
_CANCELLED = re.compile(r"context canceled|client rate limiter")
#: Lines of the engine about one resource: while it works, and before its diagnostics.
_STEP = re.compile(r"\s*[-+~]+ +(\S+) (\S+) ")
_HEADING = re.compile(r"\s+(\S+) \((\S+)\):$")
#: A line for each lock of a stack. Source: Pulumi's DIY backend, checkForLock.
_HOLDER = re.compile(r"created by ([^\s@]+)@(\S+) \(pid (\d+)\) at (\S+)")


class EngineCommand(automation.PulumiCommand):
    """Runs Pulumi in a session of its own. At the first interrupt the engine cancels what has not begun, saves the
    state and releases its lock; at the second it ends at once.
    """

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Say | None = None,
        on_error: Say | None = None,
    ) -> CommandResult:
        """Do what `PulumiCommand.run` does. After an interrupt, raises KeyboardInterrupt once the command has ended.

        If processes of this machine and user that have ended hold the stack, cancels what they began and runs again.
        """
        try:
            return self._run(args, cwd, additional_env, on_output, on_error)
        except automation.CommandError as error:
            if not _have_ended(str(error)):
                raise
            self._run(["cancel", "--yes", *args[args.index("--stack") :][:2]], cwd, additional_env, on_output, on_error)
            return self._run(args, cwd, additional_env, on_output, on_error)

    def _run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Say | None,
        on_error: Say | None,
    ) -> CommandResult:
        environment = {**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        if Path(self.command).is_absolute():
            environment["PATH"] = os.pathsep.join([str(Path(self.command).parent), environment["PATH"]])
        with (
            _Interrupts() as interrupts,
            subprocess.Popen(
                [self.command, "--non-interactive", *(arg for arg in args if arg != "--non-interactive")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=environment,
                encoding="utf-8",
                start_new_session=True,
            ) as process,
            ThreadPoolExecutor(2) as readers,
        ):
            interrupts.pass_on_to(process)
            cancelled = _CancelledRequests(interrupts)
            outputs = [
                readers.submit(_lines, stream, say and cancelled.leave_out(say))
                for stream, say in ((process.stdout, on_output), (process.stderr, on_error))
            ]
            while process.returncode is None:
                # Python runs a signal handler between two looks; during one endless wait, it would not run.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_SECONDS)
            interrupts.restore()
            stdout, stderr = (output.result() for output in outputs)
        if interrupts.heard:
            if cancelled.resources and on_output is not None:
                on_output(cancelled.text)
            raise KeyboardInterrupt
        result = CommandResult(stdout=stdout, stderr=stderr, code=process.returncode)
        if result.code != 0:
            raise create_command_error(result)
        return result


@dataclass(frozen=True)
class LockHolder:
    """Who holds a stack, as the engine names it; `since` in seconds since the epoch."""

    user: str
    machine: str
    pid: int
    since: float

    @property
    def runs(self) -> bool:
        """Whether it may still run. A process that started after the lock is another one with the same id."""
        if (self.machine, self.user) != (socket.gethostname(), getpass.getuser()):
            return True
        try:
            process = psutil.Process(self.pid)
            is_younger = process.create_time() > self.since + _CLOCK_TOLERANCE_SECONDS
            return not is_younger and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


def _have_ended(said: str) -> bool:
    """Wait until whoever holds the stack has ended, by the error of an engine that found it locked. An engine whose
    program was killed notices, saves the state and ends."""
    holders = [
        LockHolder(user, machine, int(pid), datetime.fromisoformat(since).timestamp())
        for user, machine, pid, since in _HOLDER.findall(said)
    ]

    def expect_ended() -> None:
        if any(holder.runs for holder in holders):
            raise NotYetError("another deployment runs")

    if not holders or any(holder.machine != socket.gethostname() for holder in holders):
        return False
    try:
        wait_for("another deployment to end", expect_ended, _ORPHAN_SECONDS)
    except DeadlineError:
        return False
    return True


def _lines(stream: IO[str] | None, say: Say | None) -> str:
    """Return the whole output of a stream; each line is passed on as it arrives."""
    lines = []
    for line in stream or ():
        lines.append(line.rstrip())
        if say is not None:
            say(lines[-1])
    return "\n".join(lines)


class _CancelledRequests:
    """Leaves out what an interrupted engine prints about requests that its providers then cancelled, and counts their
    resources.

    The engine tells its providers to cancel, and each request that has not ended fails. Source: Pulumi
    deploymentExecutor.Execute; client-go, rate.Limiter.Wait.
    """

    def __init__(self, interrupts: "_Interrupts") -> None:
        self.resources: set[tuple[str, str]] = set()
        self._interrupts = interrupts

    def leave_out(self, say: Say) -> Say:
        """Return what prints the lines of one stream."""
        # The name of a resource, whose errors follow: it is printed with the first of them.
        heading: list[str] = []

        def say_others(line: str) -> None:
            if not self._interrupts.heard:
                say(line)
            elif _HEADING.match(line):
                heading[:] = [line]
            elif _CANCELLED.search(line):
                if step := _STEP.match(line):
                    self.resources.add((step[1], step[2]))
                heading.clear()
            else:
                for text in (*heading, line):
                    say(text)
                heading.clear()

        return say_others

    @property
    def text(self) -> str:
        return (
            f"Interrupted: {numbered(len(self.resources), 'request[|s] to Kubernetes [was|were] cancelled')} before "
            "the answer. Run the command again; it continues with these objects."
        )


class _Interrupts:
    """Passes each Ctrl-C on to a process, from before it starts until it has ended.

    A signal handler passes it on: with exceptions, a second Ctrl-C that arrives while the first is handled could get
    lost, and one that arrives before the process is waited for would only be heeded after its end.
    """

    def __init__(self) -> None:
        self.heard = False
        self._process: subprocess.Popen[str] | None = None
        self._early = 0
        self._before: Any = None

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def pass_on_to(self, process: "subprocess.Popen[str]") -> None:
        """The process has started: it gets the Ctrl-Cs that came before, and each later one."""
        self._process = process
        for _ in range(self._early):
            process.send_signal(signal.SIGINT)

    def restore(self) -> None:
        """From now on, Ctrl-C does what it did before."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _pass_on(self, _signal: int, _frame: object) -> None:
        self.heard = True
        if self._process is None:
            self._early += 1
        else:
            self._process.send_signal(signal.SIGINT)
