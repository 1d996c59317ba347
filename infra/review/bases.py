"""What a stack is compared with: a git ref, a folder of stack files, or an earlier render."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.errors import CannotRunError
from infra.render import MARKER

#: Where a branch begins, the first of these that is there.
MAIN_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


@dataclass(frozen=True)
class Base:
    """A folder of stack files, or of an earlier render where `rendered`; `label` is how reports call it."""

    label: str
    folder: Path
    rendered: bool = False


@contextmanager
def open_base(against: str | None, stacks: Path) -> Iterator[Base]:
    """The folder that `against` names, or the stack files of a git ref in a temporary folder.

    Without it, the commit at which the branch of `stacks` left the main branch: what a pull request would show. On the
    main branch itself that is its last commit, or the last one that was pushed. Raises CannotRunError.
    """
    if against is not None and Path(against).is_dir():
        yield _folder(Path(against))
        return
    ref = against if against is not None else _merge_base(stacks)
    commit = _commit(ref, stacks, or_folder=True)
    label = f"{ref} ({commit[:10]})" if against is not None else f"{commit[:10]}, where this branch began"
    with TemporaryDirectory(prefix="replicate-diff-") as temporary:
        extract(commit, stacks, Path(temporary))
        yield Base(label, Path(temporary))


def _folder(folder: Path) -> Base:
    """Stack files, a checkout that has them in `stacks`, or an earlier render of one stack or of several."""
    kustomization = folder / "kustomization.yaml"
    if kustomization.is_file() and kustomization.read_text().startswith(MARKER):
        return Base(str(folder), folder, rendered=True)
    if any(each.read_text().startswith(MARKER) for each in folder.glob("*/kustomization.yaml")):
        return Base(str(folder), folder, rendered=True)
    for place in (folder, folder / "stacks"):
        if any(place.glob("Pulumi.*.yaml")) or (place / "topologies").is_dir():
            return Base(str(folder), place)
    raise CannotRunError(
        "the folder holds neither stack files nor an earlier render",
        str(folder),
        "A folder to compare with has Pulumi.STACK.yaml and topologies/, or was written by `replicate render`.",
        "name another folder, or a git ref; a branch that is called like a folder is refs/heads/NAME.",
    )


def _merge_base(stacks: Path) -> str:
    for branch in MAIN_BRANCHES:
        if git(stacks, "rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}").returncode == 0:
            found = git(stacks, "merge-base", "HEAD", branch)
            if found.returncode == 0:
                return found.stdout.decode().strip()
    raise CannotRunError(
        "no commit is known to compare with",
        str(stacks),
        f"Without `--against` it is where the branch left the main one, and none of {', '.join(MAIN_BRANCHES)} has a "
        "commit in common with it; a shallow clone holds too few.",
        "name a git ref or a folder with `--against`, or fetch the whole history.",
    )


def branch_point(against: str | None, stacks: Path) -> str:
    """The commit at which the branch of `stacks` left the ref `against`, or the main branch without it."""
    if against is None:
        return _merge_base(stacks)
    found = git(stacks, "merge-base", "HEAD", _commit(against, stacks))
    if found.returncode != 0:
        raise CannotRunError(
            f"this branch and `{against}` have no commit in common",
            str(stacks),
            "A review is of what a branch adds since it left the other; a shallow clone holds too few commits.",
            "name the ref that the branch will be merged into, or fetch the whole history.",
        )
    return found.stdout.decode().strip()


def _commit(ref: str, stacks: Path, *, or_folder: bool = False) -> str:
    found = git(stacks, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if found.returncode != 0:
        raise CannotRunError(
            f"`{ref}` is neither a folder nor a git ref" if or_folder else f"`{ref}` is no git ref",
            str(stacks),
            "The stack files of a ref are read from the repository that these are in.",
            f"name a branch, tag or commit that `git rev-parse` knows{', or a folder' if or_folder else ''}.",
        )
    return found.stdout.decode().strip()


def extract(commit: str, stacks: Path, folder: Path) -> None:
    """The stack files of a commit; none if it has no such folder."""
    prefix = git(stacks, "rev-parse", "--show-prefix").stdout.decode().strip().rstrip("/")
    tree = f"{commit}:{prefix}"
    if git(stacks, "cat-file", "-e", tree).returncode != 0:
        return
    # Git archives a part of a tree from the top of the work tree only.
    top = Path(git(stacks, "rev-parse", "--show-toplevel").stdout.decode().rstrip("\n"))
    archive = git(top, "archive", "--format=tar", tree)
    if archive.returncode != 0:
        raise CannotRunError(
            f"git cannot read `{prefix}` of {commit[:10]}: {archive.stderr.decode().strip()}",
            str(stacks),
            "The stack files of a ref come from `git archive`.",
            "fetch what the repository lacks.",
        )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


def git(stacks: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Git's answer in the repository of a folder, whatever its exit code; raises CannotRunError where there is none."""
    executable = shutil.which("git")
    if executable is None:
        raise CannotRunError(
            "`git` is not installed", "PATH", "Refs are read by it.", "install git, or compare with a folder."
        )
    found = subprocess.run([executable, "-C", str(stacks), *arguments], capture_output=True, check=False)
    if found.returncode == 128 and b"not a git repository" in found.stderr:
        raise CannotRunError(
            "the stack files are in no git repository",
            str(stacks),
            "Refs are read from the repository that they are in.",
            "name a folder with `--against`.",
        )
    return found
