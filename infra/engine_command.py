"""Pulumi's command line out of the terminal's reach: a Ctrl-C comes to it once, from us, and is waited for.

The Automation API leaves an interrupted engine alone, closes the pipes to which it writes and stops the program whose
resources it registers, of which it dies in the midst of an operation.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from pulumi import automation
from pulumi.automation import CommandResult
from pulumi.automation.errors import create_command_error

Say = Callable[[str], object]


class EngineCommand(automation.PulumiCommand):
    """Runs in a session of its own. Interrupted, the engine cancels what has not begun, saves the state and gives its
    lock back; interrupted again, it ends at once."""

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Say | None = None,
        on_error: Say | None = None,
    ) -> CommandResult:
        """As `PulumiCommand.run`. Raises KeyboardInterrupt when the interrupted command has ended."""
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
            told = [readers.submit(_lines, *each) for each in ((process.stdout, on_output), (process.stderr, on_error))]
            interrupted = _interrupted_until_its_end(process)
            stdout, stderr = (each.result() for each in told)
        if interrupted:
            raise KeyboardInterrupt
        result = CommandResult(stdout=stdout, stderr=stderr, code=process.returncode)
        if result.code != 0:
            raise create_command_error(result)
        return result


def _lines(stream: IO[str] | None, say: Say | None) -> str:
    """Everything that a stream says, each line passed on as it comes."""
    lines = []
    for line in stream or ():
        lines.append(line.rstrip())
        if say is not None:
            say(lines[-1])
    return "\n".join(lines)


def _interrupted_until_its_end(process: "subprocess.Popen[str]") -> bool:
    """Wait for a process, pass each Ctrl-C on to it, and say whether there was one."""
    interrupted = False
    while process.returncode is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
    return interrupted
