"""Which stacks a change touches: `touched_stacks` is pure, `changed_paths` asks git."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from infra.errors import CannotRunError
from infra.review.bases import git
from infra.settings import PROJECT, load_yaml, stack_file, stack_names

_STACKS = PurePosixPath("stacks")
#: What lies here changes no object of a stack; whatever else there is, now or later, counts as a part of the program.
_WITHOUT_EFFECT = frozenset({".ci", ".github", ".gitignore", "LICENSE", "Makefile", "rendered", "tests"})


def touched_stacks(paths: Iterable[str], topologies: Mapping[str, str | None]) -> tuple[str, ...]:
    """Stacks whose own file or whose topology is among `paths`, sorted; all when one is of the program.

    `paths` are relative to the project; `topologies` is what each stack that has a file reads, None where that
    cannot be told. A stack is touched, too, when its file is removed.
    """
    changed = [PurePosixPath(path) for path in paths]
    touched = {name for path in changed if (name := _stack_of(path)) is not None}
    read = {path.stem for path in changed if path.parent == _STACKS / "topologies"}
    everything = touches_program(map(str, changed))
    touched |= {stack for stack, topology in topologies.items() if everything or topology is None or topology in read}
    return tuple(sorted(touched))


def touches_program(paths: Iterable[str]) -> bool:
    """Whether a path is of what makes objects out of stack files, so that any stack may change."""
    changed = [PurePosixPath(path) for path in paths]
    return any(
        path.parts[0] not in _WITHOUT_EFFECT and path.parts[0] != _STACKS.name and path.suffix != ".md"
        for path in changed
    )


def _stack_of(path: PurePosixPath) -> str | None:
    is_stack_file = path.parent == _STACKS and path.name.startswith("Pulumi.") and path.suffix == ".yaml"
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml") if is_stack_file else None


def read_topologies(stacks: Path) -> dict[str, str | None]:
    """The topology that each stack with a file reads; None where the file does not tell."""
    return {stack: _topology_of(stack_file(stack, stacks)) for stack in stack_names(stacks)}


def _topology_of(file: Path) -> str | None:
    try:
        data = load_yaml(file)
    except CannotRunError:
        return None
    config = data.get("config") if isinstance(data, Mapping) else None
    name = config.get(f"{PROJECT}:topology") if isinstance(config, Mapping) else None
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
                f"git cannot list what changed since {since[:10]}: {answer.stderr.decode().strip()}",
                str(root),
                "Only the stacks that a change touches are reviewed.",
                "correct what git says, or fetch what the repository lacks.",
            )
        found += [path for path in answer.stdout.decode().split("\0") if path]
    return tuple(sorted(set(found)))
