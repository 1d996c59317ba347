"""Finds what a stack is compared with: a git ref, a folder of stack files, or an earlier render.

If the program changed, the earlier program renders the stacks as they were: the stack files alone would show no change
when the program renders different objects from the same files.
"""

import io
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.infra.machine import paths
from kafka_replication.infra.review.render import is_rendered
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.project import FILE_NAME, Project, stacks_folder
from kafka_replication.infra.stack.settings import PROJECT, read_settings, readable_config, stack_file, stack_names

#: The main branch is the first of these that exists.
MAIN_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


@dataclass(frozen=True)
class Base:
    """A folder of stack files, or of an earlier render if `rendered`; `label` is its name in reports."""

    label: str
    folder: Path
    rendered: bool = False


@contextmanager
def open_base(against: str | None, stacks: Path) -> Iterator[Base]:
    """Yield the folder that `against` names, or the stack files of a git ref in a temporary folder: by default of the
    commit where the branch left the main branch, or of the last commit on the main branch itself."""
    if against is not None and Path(against).is_dir():
        base = stack_files_of(Path(against))
        if base is None:
            what = "the folder contains no stack files, no earlier render and nothing that `replicate import` reads"
            why = "A stack is compared with Pulumi.STACK.yaml and topologies/, with a render, or with what runs."
            remedy = "name another folder or a git ref; for a branch with the name of a folder, write refs/heads/NAME."
            raise CannotRunError("nothing-to-compare-with", what, against, why, remedy)
        yield base
        return
    ref = against if against is not None else _merge_base(stacks)
    commit = _commit(ref, stacks, or_folder=True)
    label = f"{ref} ({commit[:10]})" if against is not None else f"{commit[:10]}, where this branch began"
    with TemporaryDirectory(prefix="replicate-diff-") as temporary:
        extract(commit, stacks, Path(temporary), _stacks_of(commit, stacks))
        yield Base(label, Path(temporary))


def stack_files_of(folder: Path) -> Base | None:
    """Return stack files, a checkout with stack files in `stacks`, or an earlier render of one or several stacks."""
    if any(map(is_rendered, (folder, *folder.glob("*/")))):
        return Base(str(folder), folder, rendered=True)
    for place in (folder, folder / "stacks"):
        if any(place.glob("Pulumi.*.yaml")) or (place / "topologies").is_dir():
            return Base(str(folder), place)
    return None


def _merge_base(stacks: Path) -> str:
    for branch in MAIN_BRANCHES:
        if git(stacks, "rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}").returncode == 0:
            answer = git(stacks, "merge-base", "HEAD", branch)
            if answer.returncode == 0:
                return answer.stdout.decode().strip()
    why = (
        "Without `--against` it is the commit at which the branch left the main branch, but this branch has no "
        f"commit in common with any of {', '.join(MAIN_BRANCHES)}. A shallow clone may lack that commit."
    )
    remedy = "name a git ref or a folder with `--against`, or fetch the whole history."
    raise CannotRunError("no-base-commit", "there is no commit to compare with", str(stacks), why, remedy)


def branch_point(against: str | None, stacks: Path) -> str:
    """Return the commit at which the branch of `stacks` left the ref `against`, or the main branch without it."""
    if against is None:
        return _merge_base(stacks)
    answer = git(stacks, "merge-base", "HEAD", _commit(against, stacks))
    if answer.returncode != 0:
        what = f"this branch and `{against}` have no commit in common"
        why = "A review shows what a branch added since it left the other; a shallow clone may lack that commit."
        remedy = "name the ref that the branch will be merged into, or fetch the whole history."
        raise CannotRunError("no-common-commit", what, str(stacks), why, remedy)
    return answer.stdout.decode().strip()


def _commit(ref: str, stacks: Path, *, or_folder: bool = False) -> str:
    answer = git(stacks, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if answer.returncode != 0:
        what = f"`{ref}` is neither a folder nor a git ref" if or_folder else f"`{ref}` is not a git ref"
        why = "The stack files of a ref are read from the repository that contains the current ones."
        remedy = f"name a branch, tag or commit that `git rev-parse` knows{', or a folder' if or_folder else ''}."
        raise CannotRunError("unknown-git-ref", what, str(stacks), why, remedy)
    return answer.stdout.decode().strip()


def _stacks_of(commit: str, stacks: Path) -> str:
    """Return the folder of the stack files in a commit: today's, or what the commit's nearest Pulumi.yaml names."""
    today = _prefix(stacks)
    if _has(commit, today, stacks):
        return today
    for folder in Path(today).parents:
        file = (folder / FILE_NAME).as_posix()
        if _has(commit, file, stacks):
            named = stacks_folder(git(stacks, "show", f"{commit}:{file}").stdout, f"{file} of {commit[:10]}")
            return Path(os.path.normpath(folder / named)).as_posix()
    return today


def _prefix(folder: Path) -> str:
    return git(folder, "rev-parse", "--show-prefix").stdout.decode().strip().rstrip("/")


def _has(commit: str, path: str, repository: Path) -> bool:
    return git(repository, "cat-file", "-e", f"{commit}:{'' if path == '.' else path}").returncode == 0


def extract(commit: str, stacks: Path, folder: Path, prefix: str | None = None) -> None:
    """Write what a commit has in `prefix` (by default in `stacks`) to `folder`; nothing if it does not have it."""
    prefix = _prefix(stacks) if prefix is None else prefix
    if not _has(commit, prefix, stacks):
        return
    tree = f"{commit}:{'' if prefix == '.' else prefix}"
    # Git can archive a part of a tree only from the top of the work tree.
    top = Path(git(stacks, "rev-parse", "--show-toplevel").stdout.decode().rstrip("\n"))
    archive = git_output(top, "archive", "--format=tar", tree)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def git(stacks: Path, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run git in a folder's repository, with `given` as its input; the caller judges the exit code. Raises
    CannotRunError without either."""
    executable = shutil.which("git")
    if executable is None:
        remedy = "install git, or compare with a folder."
        raise CannotRunError("git-missing", "`git` is not installed", "PATH", "It is needed to read refs.", remedy)
    answer = subprocess.run([executable, "-C", str(stacks), *arguments], input=given, capture_output=True, check=False)
    if answer.returncode == 128 and b"not a git repository" in answer.stderr:
        what = "the stack files are not in a git repository"
        why = "Refs are read from the repository of the stack files."
        remedy = "keep them in one; without it, `replicate diff --against DIR` compares with a folder."
        raise CannotRunError("no-git-repository", what, str(stacks), why, remedy)
    return answer


def git_output(folder: Path, *arguments: str) -> bytes:
    """Return what git prints in a folder's repository. Raises CannotRunError if it fails."""
    answer = git(folder, *arguments)
    if answer.returncode != 0:
        raise git_failure(folder, f"`git {shlex.join(arguments)}`: {answer.stderr.decode(errors='replace').strip()}")
    return answer.stdout


def git_failure(folder: Path, reason: str) -> CannotRunError:
    """Return the error for files that git cannot read."""
    what = f"git cannot read the files to compare: {reason}"
    why = "The files at a ref, and the list of what has changed since, come from git."
    remedy = "correct what git reports, or fetch the missing commits."
    return CannotRunError("git-failed", what, str(folder), why, remedy)


_RENDER_SECONDS = 300


@contextmanager
def open_bases(
    commit: str, label: str, stacks: Sequence[str], project: Project, *, rendered: bool
) -> Iterator[tuple[Base, ...]]:
    """Yield what to compare `stacks` with, best first; the last base holds the stack files of the commit. If
    `rendered`, the one before it holds what the program of the commit renders with the libraries of today."""
    with TemporaryDirectory(prefix="replicate-review-") as temporary:
        before, made = Path(temporary) / "before", Path(temporary) / "rendered"
        before.mkdir()
        made.mkdir()
        extract(commit, project.folder, before)
        files = Base(label, before / project.stacks_inside())
        # The repository of a project that only installs the program does not contain an earlier program.
        if not rendered or not (before / paths.TOP).is_file():
            yield (files,)
            return
        sources = Path(temporary) / "sources"
        paths.link_package(before, sources)
        for stack in stacks:
            if not _needs_the_local_stack(stack, files):
                _render(before, stack, made / stack, sources)
        yield (Base(f"{label}, rendered by the program of that commit", made, rendered=True), files)


def _needs_the_local_stack(stack: str, files: Base) -> bool:
    try:
        return stack_environment(read_settings(stack, files.folder)).on_this_machine
    except (CannotRunError, ReplicationError):
        # Today's program cannot read it; the earlier one may be able to.
        return False


def _render(before: Path, stack: str, folder: Path, sources: Path) -> None:
    program = "from kafka_replication.infra.commands.app import main; main()"
    subprocess.run(
        [sys.executable, "-c", program, "render", stack, "--out", str(folder)],
        cwd=before,
        env={**os.environ, "PYTHONPATH": str(sources)},
        capture_output=True,
        timeout=_RENDER_SECONDS,
        check=False,
    )


#: Changes to files here change no object of a stack. Everything else, now or later, counts as part of the program.
_WITHOUT_EFFECT = frozenset({".ci", ".github", ".gitignore", "LICENSE", "Makefile", "rendered", "tests"})


def touched_stacks(
    paths: Iterable[str], topologies: Mapping[str, str | None], stacks: PurePosixPath
) -> tuple[str, ...]:
    """Return stacks whose file or topology is among `paths`, also removed ones; all if a path belongs to the program.
    Paths are relative to the project. A topology is None if the stack's file does not say."""
    changed = [PurePosixPath(path) for path in paths]
    files = [path.name for path in changed if path.parent == stacks and path.match("Pulumi.*yaml")]
    touched = {name.removeprefix("Pulumi.").removesuffix(".yaml") for name in files}
    read = {path.stem for path in changed if path.parent == stacks / "topologies"}
    everything = touches_program(map(str, changed), stacks)
    touched |= {stack for stack, topology in topologies.items() if everything or topology is None or topology in read}
    return tuple(sorted(touched))


def touches_program(paths: Iterable[str], stacks: PurePosixPath) -> bool:
    """Return whether a path belongs to the program, which may change the objects of any stack."""
    changed = [PurePosixPath(path) for path in paths]
    return any(
        path.parts[0] not in _WITHOUT_EFFECT
        and path.suffix != ".md"
        and not (path.is_relative_to(stacks) and path.suffix in (".yaml", ".json"))
        for path in changed
    )


def read_topologies(stacks: Path) -> dict[str, str | None]:
    """Return the topology of each stack with a file; None if the file does not say."""
    configs = {stack: readable_config(stack_file(stack, stacks)) or {} for stack in stack_names(stacks)}
    names = {stack: config.get(f"{PROJECT}:topology") for stack, config in configs.items()}
    return {stack: name if isinstance(name, str) else None for stack, name in names.items()}


def changed_paths(since: str, root: Path) -> tuple[str, ...]:
    """Return paths that differ between a commit and the work tree, new files included, relative to and below `root`."""
    changed = git_output(root, "diff", "--name-only", "--no-renames", "--relative", "-z", since)
    new = git_output(root, "ls-files", "--others", "--exclude-standard", "-z")
    return tuple(sorted({path for path in (changed + new).decode().split("\0") if path}))
