"""The stacks of the engine's bench, and one command on one of them, which the bench runs as a separate process.

`python -m tests.bench.engine_stacks PROGRAM COMMAND FOLDER` prints the number of resources by kind of change.
"""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pulumi import automation
from rich.console import Console

from kafka_replication.infra.machine.toolchain import PULUMI, ensure_go_tool

PROJECT = "replication"
OBJECTS = "objects.json"


def select(name: str, folder: Path, program: Callable[[], None]) -> automation.Stack:
    """The stack of this name, whose file, state and topology are in the folder; the environment decides the rest."""
    pulumi = ensure_go_tool(PULUMI, Console(quiet=True))
    options = automation.LocalWorkspaceOptions(
        work_dir=str(folder),
        project_settings=automation.ProjectSettings(name=PROJECT, runtime="python"),
        pulumi_command=automation.PulumiCommand(root=str(pulumi.parent.parent), skip_version_check=True),
    )
    return automation.create_or_select_stack(name, project_name=PROJECT, program=program, opts=options)


def _ours(folder: Path) -> None:
    from kafka_replication.infra.program import deploy

    deploy(folder)


def _bare(folder: Path) -> None:
    from tests.bench.bare_program import register

    register(folder / OBJECTS)


PROGRAMS: Mapping[str, Callable[[Path], None]] = {"ours": _ours, "bare": _bare}


def _changes(stack: automation.Stack, command: str) -> Mapping[str, int]:
    found: Mapping[automation.OpType, int]
    if command == "preview":
        found = stack.preview(suppress_outputs=True).change_summary
    else:
        found = stack.up(suppress_outputs=True).summary.resource_changes or {}
    return {automation.OpType(kind).value: count for kind, count in found.items()}


def main() -> None:
    name, command, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    print(json.dumps(_changes(select(name, folder, partial(PROGRAMS[name], folder)), command)))


if __name__ == "__main__":
    main()
