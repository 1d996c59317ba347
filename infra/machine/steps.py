"""Runs a long command and shows its progress: what it does, for how long, and the last line that it printed."""

import collections
import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from kafka_replication.components.contract.problems import CannotRunError

TICK_SECONDS = 1.0
#: How often a line is printed if there is no terminal to update one in place.
PLAIN_TICK_SECONDS = 30.0
#: A build or download that makes progress prints something more often. Maven waits for a stalled connection for half an
#: hour, Go for ever.
STALLED_SECONDS = 600.0


class _Output:
    """The last lines of a process, and when the last of them came."""

    def __init__(self) -> None:
        self.lines: collections.deque[str] = collections.deque(maxlen=400)
        self.last_at = time.monotonic()

    def collect(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.lines.append(line.rstrip())
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
    """Run `command` and print one line with the time that it took. A Ctrl-C ends it as well.

    Raises CannotRunError with its last lines if it fails, or if it prints nothing for ten minutes.
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
    assert process.stdout is not None
    reader = threading.Thread(target=said.collect, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        with _shown(console, escape(title)) as (tick_seconds, show):
            while process.poll() is None:
                left = said.last_at + STALLED_SECONDS - time.monotonic()
                if left <= 0:
                    what = f"{title} printed nothing for {STALLED_SECONDS:g} s"
                    why = "A download may have stalled. Its last lines are below."
                    again = f"run the command again; if it stalls again, {remedy}"
                    raise CannotRunError("step-stalled", what, place, why, again, said.tail())
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(min(tick_seconds, left))
                    break
                last = said.lines[-1][:80] if said.lines else ""
                show(escape(f"{time.monotonic() - began:.0f} s {last}".rstrip()))
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


@contextlib.contextmanager
def _shown(console: Console, title: str) -> Iterator[tuple[float, Callable[[str], None]]]:
    """Yield how to show the state of a step and how often: on the terminal's last line, or else as lines of its own."""
    if console.is_terminal:
        with Status(title, console=console) as status:
            yield TICK_SECONDS, lambda now: status.update(f"{title} [dim]{now}[/]")
    else:
        console.print(f"  … {title}", highlight=False)
        yield PLAIN_TICK_SECONDS, lambda now: console.print(f"    {title}: {now}", highlight=False)
