"""The commands `replicate review|touched`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.wording import number
from kafka_replication.infra.commands import console
from kafka_replication.infra.commands.options import InProject, MergedInto, PerhapsInProject
from kafka_replication.infra.review.bases import (
    branch_point,
    changed_paths,
    open_bases,
    read_topologies,
    touched_stacks,
    touches_program,
)
from kafka_replication.infra.review.pull_request import review_plan, review_stacks, write_review
from kafka_replication.infra.stack.project import Project, find_project
from kafka_replication.infra.stack.yaml_files import shown


def review(
    project: PerhapsInProject,
    out: Annotated[Path, typer.Option("--out", help="Folder to write to. An earlier review in it is replaced.")],
    against: MergedInto = None,
    yaml: Annotated[
        Path | None,
        typer.Option(
            "--yaml", metavar="DIR", help="Review a folder of Strimzi's YAML instead of stacks. It needs no project."
        ),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(help="With --yaml: namespace for objects that have none; by default, `default`.")
    ] = None,
) -> None:
    """Write what a reviewer needs to know about each stack that a change touches. Needs no cluster and no credentials.

    It writes `comment.md` for the pull request, the objects of each stack in `rendered/STACK/`, and everything on one
    line in `review.json`. The exit code is 1 if a stack has a mistake.

    With --yaml it compares the KafkaMirrorMaker2s, KafkaConnects and KafkaConnectors of a folder, and writes
    `effects.json` instead of rendered objects. The exit code is 1 if the change introduces an error, and 0 if it
    introduces only warnings.

    Example: `replicate review --against origin/main --out review`
    """
    if yaml is not None:
        _review_folder(yaml.resolve(), out, against, namespace)
        return
    if namespace is not None:
        what, why = "`--namespace` is given without `--yaml`", "The topology of a stack names its namespaces."
        remedy = "leave it out, or name a folder with `--yaml`."
        raise CannotRunError("option-without-yaml", what, "--namespace", why, remedy)
    _review_stacks(project or find_project(Path.cwd()), out, against)


def _review_stacks(project: Project, out: Path, against: str | None) -> None:
    commit = branch_point(against, project.stacks)
    paths = changed_paths(commit, project.folder)
    stacks = touched_stacks(paths, read_topologies(project.stacks), project.stacks_inside())
    label = f"{against or 'the main branch'} ({commit[:10]})"
    with open_bases(commit, label, stacks, project, rendered=touches_program(paths, project.stacks_inside())) as bases:
        reviews = review_stacks(stacks, project.stacks, bases)
        fine = write_review((*reviews, *review_plan(project.stacks, bases[-1])), project.stacks, out)
    _end(f"{number(len(reviews), 'stack')} reviewed", out, fine=fine)


def _review_folder(folder: Path, out: Path, against: str | None, namespace: str | None) -> None:
    # It loads the import code, which a review of stacks does not need.
    from kafka_replication.infra.review.yaml.report import print_review, write_folder_review
    from kafka_replication.infra.review.yaml.review import review_folder

    folder_review = review_folder(folder, against, namespace)
    write_folder_review(folder_review, out)
    print_review(folder_review, console.out)
    left = f", {number(len(folder_review.unjudged), 'change')} not judged" if folder_review.unjudged else ""
    _end(f"{shown(folder)} reviewed{left}", out, fine=not folder_review.has_errors, whole=not left)


def _end(what: str, out: Path, *, fine: bool, whole: bool = True) -> None:
    mark = "[red]✗[/]" if not fine else "[green]✓[/]" if whole else "[yellow]![/]"
    console.out.print(f"{mark} {escape(what)}, in {escape(str(out))}", soft_wrap=True)
    if not fine:
        raise typer.Exit(1)


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
