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

    Raises CannotRunError with the last lines of its output if it fails. A Ctrl-C ends the command as well.
    """
    began = time.monotonic()
    said: collections.deque[str] = collections.deque(maxlen=400)
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
    except BaseException:
        process.kill()
        process.wait()
        raise
    reader.join()
    took = time.monotonic() - began
    if process.returncode != 0:
        tail = "\n".join(list(said)[-20:])
        what = f"{title} failed after {took:.0f} s (exit code {process.returncode})"
        raise CannotRunError("step-failed", what, str(cwd or Path.cwd()), "Its last lines are below.", remedy, tail)
    console.print(f"  [green]✓[/] {escape(title)} [dim]{took:.1f} s[/]", highlight=False)


def _collect(process: subprocess.Popen[str], said: collections.deque[str]) -> None:
    if process.stdout is None:
        raise RuntimeError("the process was started without a pipe")
    for line in process.stdout:
        said.append(line.rstrip())


def _watch(
    console: Console, title: str, process: subprocess.Popen[str], said: collections.deque[str], began: float
) -> None:
    """Show the step until the process ends: on the terminal's last line, or else as a line every so often."""
    if not console.is_terminal:
        console.print(f"  … {escape(title)}", highlight=False)
        while _running(process, PLAIN_TICK_SECONDS):
            console.print(f"    {escape(title)}: {_now(said, began)}", highlight=False)
        return
    with Status(escape(title), console=console) as status:
        while _running(process, TICK_SECONDS):
            status.update(f"{escape(title)} [dim]{escape(_now(said, began))}[/]")


def _now(said: collections.deque[str], began: float) -> str:
    last = said[-1][:80] if said else ""
    return f"{time.monotonic() - began:.0f} s {last}".rstrip()


def _running(process: subprocess.Popen[str], patience_seconds: float) -> bool:
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        return True
    return False
