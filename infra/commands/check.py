"""The command `replicate check`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from components.changes.effect import number
from components.contract.problems import CannotRunError, Problem, Severity
from infra.commands.completion import complete_stack
from infra.commands.console import out, print_problems
from infra.commands.options import InProject, Json
from infra.files.positions import shown
from infra.promotion.rule.plan import plan_problems
from infra.settings import stack_names
from infra.stack_checks import problems_of_stack


def check(
    project: InProject,
    stacks: Annotated[
        list[str] | None,
        typer.Argument(help="Stacks to check; without any, all of them.", autocompletion=complete_stack),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find mistakes in stack and topology files. Needs no cluster and no Pulumi.

    Example: `replicate check prod-us-west-2`
    """
    found = _check(stacks or stack_names(project.stacks), project.stacks)
    if as_json:
        typer.echo(json.dumps({stack: [_as_dict(item) for item in items] for stack, items in found.items()}, indent=2))
    else:
        print_problems(_each_once(found), out)
        for stack, items in found.items():
            errors = sum(item.severity is Severity.ERROR for item in items)
            mark = "[red]✗[/]" if errors else "[green]✓[/]"
            out.print(f"{mark} {stack}: {number(errors, 'error')}, {number(len(items) - errors, 'warning')}")
    if any(item.severity is Severity.ERROR for items in found.values() for item in items):
        raise typer.Exit(1)


def _check(names: Sequence[str], stacks: Path) -> dict[str, list[Problem]]:
    """The problems of each stack and of the plan. Raises CannotRunError if there is no stack, or no such stack."""
    if not names:
        what, why = "there is no stack", "Nothing would be checked."
        raise CannotRunError("no-stack", what, shown(stacks), why, "write Pulumi.STACK.yaml there.")
    found: dict[str, list[Problem]] = {}
    for stack in names:
        try:
            found[stack] = problems_of_stack(stack, stacks)
        except CannotRunError as error:
            if error.place is None:
                raise
            found[stack] = [_as_problem(error)]
    return found | plan_problems(stacks)


def _as_problem(error: CannotRunError) -> Problem:
    return Problem(error.where, error.code, error.what, error.why, error.remedy, place=error.place)


def _each_once(found: Mapping[str, list[Problem]]) -> list[Problem]:
    """Every problem in the order of the files; stacks that share a topology have its problems in common."""
    once = {(str(item.place), item): item for items in found.values() for item in items}
    return sorted(once.values(), key=lambda item: (item.place.order if item.place else ("", 0, 0), item))


def _as_dict(item: Problem) -> dict[str, Any]:
    return {
        "code": item.code,
        "severity": item.severity.value,
        "where": item.where,
        "file": item.place.file if item.place else None,
        "line": item.place.line if item.place else None,
        "column": item.place.column if item.place else None,
        "what": item.what,
        "why": item.why,
        "remedy": item.remedy,
    }
