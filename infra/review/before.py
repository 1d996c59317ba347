"""Stacks as they were before a change. If the change is to the program, the earlier program renders them.

The stack files alone would show no change when the program makes different objects from the same files.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from components.contract.problems import CannotRunError, ReplicationError
from infra.environment import stack_environment
from infra.project import Project
from infra.review.bases import Base, extract
from infra.settings import read_settings

_RENDER_SECONDS = 300
#: The repository of a project that only installs the program does not contain an earlier program.
_PROGRAM = Path("infra") / "program.py"


@contextmanager
def open_bases(
    commit: str, label: str, stacks: Sequence[str], project: Project, *, rendered: bool
) -> Iterator[tuple[Base, ...]]:
    """What to compare `stacks` with, best first. The last base holds the stack files of the commit.

    If `rendered`, the base before it holds a folder for each stack that the program of the commit could render with the
    libraries that are installed now. It cannot render a stack of the local stack, or one that did not exist.
    """
    with TemporaryDirectory(prefix="replicate-review-") as temporary:
        before, made = Path(temporary) / "before", Path(temporary) / "rendered"
        before.mkdir()
        made.mkdir()
        extract(commit, project.folder, before)
        files = Base(label, before / project.stacks_inside())
        if not rendered or not (before / _PROGRAM).is_file():
            yield (files,)
            return
        for stack in stacks:
            if not _needs_the_local_stack(stack, files):
                _render(before, stack, made / stack)
        yield (Base(f"{label}, rendered by the program of that commit", made, rendered=True), files)


def _needs_the_local_stack(stack: str, files: Base) -> bool:
    try:
        return stack_environment(read_settings(stack, files.folder)).on_this_machine
    except (CannotRunError, ReplicationError):
        # Today's program cannot read it; the earlier one may be able to.
        return False


def _render(before: Path, stack: str, folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", "from infra.commands.app import main; main()", "render", stack, "--out", str(folder)],
        cwd=before,
        env={**os.environ, "PYTHONPATH": str(before)},
        capture_output=True,
        timeout=_RENDER_SECONDS,
        check=False,
    )
