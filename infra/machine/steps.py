"""Runs a long command and shows its progress: what it does, for how long, and the last line that it printed."""

import collections
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from components.contract.problems import CannotRunError

TICK_SECONDS = 1.0
PLAIN_TICK_SECONDS = 30.0
"""How often a line is printed if there is no terminal to update one in place."""

STALLED_SECONDS = 600.0
"""A build or download that makes progress prints something more often. Maven waits for a stalled connection for half an
hour, Go for ever."""


class _Output:
    """The last lines of a process, and when the last of them came."""

    def __init__(self) -> None:
        self.lines: collections.deque[str] = collections.deque(maxlen=400)
        self.last_at = time.monotonic()

    def tail(self) -> str:
        return "\n".join(list(self.lines)[-20:])


def run_step(
    console: Console,
    title: str,
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    remedy: str,
    cwd: Path | None = None,
) -> None:
    """Run `command` and print one line with the time that it took.

    Raises CannotRunError with the last lines of its output if it fails, or if it prints nothing for ten minutes; it is
    ended then. A Ctrl-C ends the command as well.
    """
    began = time.monotonic()
    said = _Output()
    place = str(cwd or Path.cwd())
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=dict(env),
        cwd=cwd,
    )
    reader = threading.Thread(target=_collect, args=(process, said), daemon=True)
    reader.start()
    try:
        _watch(console, title, process, said, began)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        what = f"{title} printed nothing for {STALLED_SECONDS:g} s"
        why = "A download may have stalled. Its last lines are below."
        raise CannotRunError(
            "step-stalled", what, place, why, f"run the command again; if it stalls again, {remedy}", said.tail()
        ) from None
    except BaseException:
        process.kill()
        process.wait()
        raise
    reader.join()
    took = time.monotonic() - began
    if process.returncode != 0:
        what = f"{title} failed after {took:.0f} s (exit code {process.returncode})"
        raise CannotRunError("step-failed", what, place, "Its last lines are below.", remedy, said.tail())
    console.print(f"  [green]✓[/] {escape(title)} [dim]{took:.1f} s[/]", highlight=False)


def _collect(process: subprocess.Popen[str], said: _Output) -> None:
    if process.stdout is None:
        raise RuntimeError("the process was started without a pipe")
    for line in process.stdout:
        said.lines.append(line.rstrip())
        said.last_at = time.monotonic()


def _watch(console: Console, title: str, process: subprocess.Popen[str], said: _Output, began: float) -> None:
    """Show the step until the process ends: on the terminal's last line, or else as a line every so often.

    Raises TimeoutExpired if it prints nothing for too long.
    """
    if not console.is_terminal:
        console.print(f"  … {escape(title)}", highlight=False)
        while _running(process, said, PLAIN_TICK_SECONDS):
            console.print(f"    {escape(title)}: {_now(said, began)}", highlight=False)
        return
    with Status(escape(title), console=console) as status:
        while _running(process, said, TICK_SECONDS):
            status.update(f"{escape(title)} [dim]{escape(_now(said, began))}[/]")


def _now(said: _Output, began: float) -> str:
    last = said.lines[-1][:80] if said.lines else ""
    return f"{time.monotonic() - began:.0f} s {last}".rstrip()


def _running(process: subprocess.Popen[str], said: _Output, tick_seconds: float) -> bool:
    left = said.last_at + STALLED_SECONDS - time.monotonic()
    try:
        process.wait(min(tick_seconds, max(left, 0)))
    except subprocess.TimeoutExpired:
        if time.monotonic() >= said.last_at + STALLED_SECONDS:
            raise
        return True
    return False
