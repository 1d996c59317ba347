"""How a command learns which project it works on: the options `--project` and `--stacks`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from components.contract.problems import CannotRunError
from infra.project import Project, find_project, read_project


def chosen_project(context: typer.Context) -> Project:
    """The project that `--project` names, else the one that the command was called in.

    A local stack belongs to its project: from here on its files are in the project's `.local`.
    """
    named: Path | None = context.find_root().params.get("project")
    project = find_project(Path.cwd()) if named is None else read_project(named)
    os.environ.setdefault("REPLICATE_LOCAL", str(project.folder / ".local"))
    return project


def _with_stacks(context: typer.Context, folder: str) -> Project:
    """The chosen project, with another folder of stack files if one is given."""
    project = chosen_project(context)
    if not folder:
        return project
    stacks = Path(folder).resolve()
    if not stacks.is_dir():
        raise CannotRunError(
            "no-stacks-folder",
            "there is no such folder",
            str(stacks),
            "`--stacks` names the folder of the stack files.",
            "name a folder with Pulumi.STACK.yaml and topologies/ in it, or leave the option out.",
        )
    return replace(project, stacks=stacks)


InProject = Annotated[
    Project,
    typer.Option(
        "--stacks",
        metavar="DIR",
        parser=str,
        default_factory=str,
        callback=_with_stacks,
        show_default=False,
        help="Folder of the stack files; without it, the one that the project's Pulumi.yaml names.",
    ),
]
