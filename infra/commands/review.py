"""The command `replicate review`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from components.changes.effect import number
from infra.commands.options import InProject, MergedInto
from infra.review.bases import branch_point, open_bases
from infra.review.pull_request import review_stacks, write_review
from infra.review.touched import changed_paths, read_topologies, touched_stacks, touches_program


def review(
    project: InProject,
    out: Annotated[Path, typer.Option("--out", help="Folder to write to. An earlier review in it is replaced.")],
    against: MergedInto = None,
) -> None:
    """Write what the reviewer of a change needs for each stack that it touches. Needs no cluster and no credentials.

    It writes `comment.md` for the pull request, the objects of each stack in `rendered/STACK/`, and everything on one
    line in `review.json`. The exit code is 1 if a stack has a mistake.

    Example: `replicate review --against origin/main --out review`
    """
    commit = branch_point(against, project.stacks)
    paths = changed_paths(commit, project.folder)
    stacks = touched_stacks(paths, read_topologies(project.stacks), project.stacks_inside())
    label = f"{against or 'the main branch'} ({commit[:10]})"
    with open_bases(commit, label, stacks, project, rendered=touches_program(paths, project.stacks_inside())) as bases:
        found = review_stacks(stacks, project.stacks, bases)
        fine = write_review(found, project.stacks, out)
    mark = "[green]✓[/]" if fine else "[red]✗[/]"
    Console(highlight=False, emoji=False).print(
        f"{mark} {number(len(found), 'stack')} reviewed, in {escape(str(out))}", soft_wrap=True
    )
    if not fine:
        raise typer.Exit(1)
