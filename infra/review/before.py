"""Stacks as they were before a change, made by the program as it was then wherever the change is one of the program.

Stack files alone would say that nothing changes when the program makes other objects of the same files.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from components.problems import ReplicationError
from infra.errors import CannotRunError
from infra.review.bases import Base, extract
from infra.settings import ROOT, read_settings

_RENDER_SECONDS = 300


@contextmanager
def open_bases(commit: str, label: str, stacks: Sequence[str], *, rendered: bool) -> Iterator[tuple[Base, ...]]:
    """What to compare `stacks` with, best first: the last are the stack files of the commit.

    If `rendered`, the one before them holds a folder for each stack that the program of the commit could render, with
    the libraries that are installed now; it cannot where a stack is of the local stack, or was not there.
    """
    with TemporaryDirectory(prefix="replicate-review-") as temporary:
        before, made = Path(temporary) / "before", Path(temporary) / "rendered"
        before.mkdir()
        made.mkdir()
        extract(commit, ROOT, before)
        files = Base(label, before / "stacks")
        if not rendered:
            yield (files,)
            return
        for stack in stacks:
            if not _needs_the_local_stack(stack, files):
                _render(before, stack, made / stack)
        yield (Base(f"{label}, rendered by the program of then", made, rendered=True), files)


def _needs_the_local_stack(stack: str, files: Base) -> bool:
    try:
        return read_settings(stack, files.folder).local
    except (CannotRunError, ReplicationError):
        # The program of now cannot read it; that of then may have.
        return False


def _render(before: Path, stack: str, folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", "from infra.cli import main; main()", "render", stack, "--out", str(folder)],
        cwd=before,
        env={**os.environ, "PYTHONPATH": str(before)},
        capture_output=True,
        timeout=_RENDER_SECONDS,
        check=False,
    )
