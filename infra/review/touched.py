"""Which stacks a change touches. `touched_stacks` is pure; `changed_paths` runs git."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from components.contract.problems import CannotRunError
from infra.review.bases import git
from infra.stack.settings import PROJECT, readable_config, stack_file, stack_names

#: Changes to files here change no object of a stack. Everything else, now or later, counts as part of the program.
_WITHOUT_EFFECT = frozenset({".ci", ".github", ".gitignore", "LICENSE", "Makefile", "rendered", "tests"})


def touched_stacks(
    paths: Iterable[str], topologies: Mapping[str, str | None], stacks: PurePosixPath
) -> tuple[str, ...]:
    """Stacks whose file or topology is among `paths`, sorted; all stacks if a path belongs to the program.

    `paths` and `stacks`, the folder of the stack files, are relative to the project. `topologies` names the topology of
    each stack with a file, or None if the file does not say. Removing a stack's file also touches the stack.
    """
    changed = [PurePosixPath(path) for path in paths]
    touched = {name for path in changed if (name := _stack_of(path, stacks)) is not None}
    read = {path.stem for path in changed if path.parent == stacks / "topologies"}
    everything = touches_program(map(str, changed), stacks)
    touched |= {stack for stack, topology in topologies.items() if everything or topology is None or topology in read}
    return tuple(sorted(touched))


def touches_program(paths: Iterable[str], stacks: PurePosixPath) -> bool:
    """Whether a path belongs to the program, which may change the objects of any stack."""
    changed = [PurePosixPath(path) for path in paths]
    return any(
        path.parts[0] not in _WITHOUT_EFFECT and path.suffix != ".md" and not _is_of_stacks(path, stacks)
        for path in changed
    )


def _is_of_stacks(path: PurePosixPath, stacks: PurePosixPath) -> bool:
    return path.is_relative_to(stacks) and path.suffix in (".yaml", ".json")


def _stack_of(path: PurePosixPath, stacks: PurePosixPath) -> str | None:
    is_stack_file = path.parent == stacks and path.name.startswith("Pulumi.") and path.suffix == ".yaml"
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml") if is_stack_file else None


def read_topologies(stacks: Path) -> dict[str, str | None]:
    """The topology of each stack with a file; None if the file does not say."""
    return {stack: _topology_of(stack_file(stack, stacks)) for stack in stack_names(stacks)}


def _topology_of(file: Path) -> str | None:
    name = (readable_config(file) or {}).get(f"{PROJECT}:topology")
    return name if isinstance(name, str) else None


def changed_paths(since: str, root: Path) -> tuple[str, ...]:
    """Paths that differ between a commit and the work tree, new files included, relative to and below `root`."""
    found: list[str] = []
    for arguments in (
        ("diff", "--name-only", "--no-renames", "--relative", "-z", since),
        ("ls-files", "--others", "--exclude-standard", "-z"),
    ):
        answer = git(root, *arguments)
        if answer.returncode != 0:
            raise CannotRunError(
                "git-failed",
                f"git cannot list what changed since {since[:10]}: {answer.stderr.decode().strip()}",
                str(root),
                "The review covers only the stacks that a change touches.",
                "correct what git reports, or fetch the missing commits.",
            )
        found += [path for path in answer.stdout.decode().split("\0") if path]
    return tuple(sorted(set(found)))
