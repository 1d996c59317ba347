"""The command `replicate touched`."""

import json
from typing import Annotated

import typer

from infra.commands.options import InProject, MergedInto
from infra.review.bases import branch_point, changed_paths, read_topologies, touched_stacks


def touched(
    project: InProject,
    against: MergedInto = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list instead of one name per line.")] = False,
) -> None:
    """Print the stacks that a change touches.

    A change touches a stack through the stack's own file, its topology, or the program.

    Example: `replicate touched --against origin/main`
    """
    paths = changed_paths(branch_point(against, project.stacks), project.folder)
    stacks = touched_stacks(paths, read_topologies(project.stacks), project.stacks_inside())
    if as_json:
        typer.echo(json.dumps(stacks))
    else:
        for stack in stacks:
            typer.echo(stack)
