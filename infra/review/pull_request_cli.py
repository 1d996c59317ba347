"""The commands `replicate touched` and `replicate review`, for pull requests. Each loads what it needs when it runs."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from components.effects.effect import number
from infra.settings import ROOT, STACKS

Against = Annotated[
    str | None,
    typer.Option(
        metavar="REF", help="What the change will be merged into; reviewed is what it adds since it left this ref."
    ),
]


def touched(
    against: Against = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list instead of a name a line.")] = False,
) -> None:
    """Print the stacks that a change touches: by their own file, their topology, or the program that reads both.

    Example: `replicate touched --against origin/main`
    """
    from infra.review.bases import branch_point
    from infra.review.touched import changed_paths, read_topologies, touched_stacks

    found = touched_stacks(changed_paths(branch_point(against, STACKS), ROOT), read_topologies(STACKS))
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for stack in found:
            typer.echo(stack)


def review(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to; replaced if it is an earlier review.")],
    against: Against = None,
) -> None:
    """Write what a reviewer of a change needs, for every stack that it touches, without cluster and credentials.

    In the folder are `comment.md`, for the pull request; `rendered/STACK/`, what would be applied; and `review.json`,
    both and the names of the stacks in one line. Ends with 1 if a stack has a mistake.

    Example: `replicate review --against origin/main --out review`
    """
    from infra.review.bases import branch_point
    from infra.review.before import open_bases
    from infra.review.pull_request import review_stacks, write_review
    from infra.review.touched import changed_paths, read_topologies, touched_stacks, touches_program

    commit = branch_point(against, STACKS)
    paths = changed_paths(commit, ROOT)
    stacks = touched_stacks(paths, read_topologies(STACKS))
    label = f"{against or 'the main branch'} ({commit[:10]})"
    with open_bases(commit, label, stacks, rendered=touches_program(paths)) as bases:
        found = review_stacks(stacks, STACKS, bases)
        fine = write_review(found, STACKS, out)
    mark = "[green]✓[/]" if fine else "[red]✗[/]"
    Console(highlight=False).print(
        f"{mark} {number(len(found), 'stack')} reviewed, in {escape(str(out))}", soft_wrap=True
    )
    if not fine:
        raise typer.Exit(1)
