"""Runs Pulumi's command line detached from the terminal, so that a Ctrl-C reaches it once, and waits for its end.

The Automation API does not wait for an interrupted engine. It closes the pipes to which the engine writes and stops the
program whose resources the engine registers, and the engine then dies in the middle of an operation.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO

from pulumi import automation
from pulumi.automation import CommandResult
from pulumi.automation.errors import create_command_error

Say = Callable[[str], object]
_LOOK_SECONDS = 1.0


class EngineCommand(automation.PulumiCommand):
    """Runs in its own session. At the first interrupt the engine cancels whatever has not begun, saves the state and
    releases its lock; at the second it ends at once.
    """

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Say | None = None,
        on_error: Say | None = None,
    ) -> CommandResult:
        """Like `PulumiCommand.run`. After an interrupt, raises KeyboardInterrupt once the command has ended."""
        environment = {**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        if Path(self.command).is_absolute():
            environment["PATH"] = os.pathsep.join([str(Path(self.command).parent), environment["PATH"]])
        with (
            subprocess.Popen(
                [self.command, "--non-interactive", *(each for each in args if each != "--non-interactive")],
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
            outputs = [
                readers.submit(_lines, *each) for each in ((process.stdout, on_output), (process.stderr, on_error))
            ]
            interrupted = _wait_passing_interrupts(process)
            stdout, stderr = (each.result() for each in outputs)
        if interrupted:
            raise KeyboardInterrupt
        result = CommandResult(stdout=stdout, stderr=stderr, code=process.returncode)
        if result.code != 0:
            raise create_command_error(result)
        return result


def _lines(stream: IO[str] | None, say: Say | None) -> str:
    """The whole output of a stream; each line is passed on as it arrives."""
    lines = []
    for line in stream or ():
        lines.append(line.rstrip())
        if say is not None:
            say(lines[-1])
    return "\n".join(lines)


def _wait_passing_interrupts(process: "subprocess.Popen[str]") -> bool:
    """Wait for a process and pass each Ctrl-C on to it; returns whether there was one.

    A signal handler passes it on: with exceptions, a second Ctrl-C that arrives while the first is handled could get
    lost. Python runs the handler between two looks at the process; during one endless wait, it would not run.
    """
    interrupted = False

    def pass_on(_signal: int, _frame: object) -> None:
        nonlocal interrupted
        interrupted = True
        process.send_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        process.wait()
        return False
    before = signal.signal(signal.SIGINT, pass_on)
    try:
        while process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_SECONDS)
    finally:
        signal.signal(signal.SIGINT, before)
    return interrupted
