"""The command `replicate check`."""

import json
from typing import Annotated, Any

import typer

from components.changes.effect import number
from components.contract.problems import CannotRunError, Problem, ReplicationError, Severity
from infra.commands.console import out, print_problems
from infra.commands.options import InProject, Json
from infra.promotion.rule.plan import plan_problems
from infra.settings import read_settings, shown, stack_names
from infra.stack_checks import problems


def check(
    project: InProject,
    stacks: Annotated[list[str] | None, typer.Argument(help="Stacks to check; without any, all of them.")] = None,
    as_json: Json = False,
) -> None:
    """Find mistakes in stack and topology files. Needs no cluster and no Pulumi.

    Example: `replicate check prod-us-west-2`
    """
    found: dict[str, list[Problem]] = {}
    names = stacks or stack_names(project.stacks)
    if not names:
        raise CannotRunError(
            "no-stack",
            "there is no stack",
            shown(project.stacks),
            "Nothing would be checked.",
            "write Pulumi.STACK.yaml there.",
        )
    for stack in names:
        try:
            found[stack] = problems(read_settings(stack, project.stacks))
        except ReplicationError as error:
            found[stack] = list(error.problems)
    found |= plan_problems(project.stacks)
    if as_json:
        typer.echo(json.dumps({stack: [_as_dict(item) for item in items] for stack, items in found.items()}, indent=2))
    else:
        for stack, items in found.items():
            print_problems(items, out)
            errors = sum(item.severity is Severity.ERROR for item in items)
            mark = "[red]✗[/]" if errors else "[green]✓[/]"
            out.print(f"{mark} {stack}: {number(errors, 'error')}, {number(len(items) - errors, 'warning')}")
    if any(item.severity is Severity.ERROR for items in found.values() for item in items):
        raise typer.Exit(1)


def _as_dict(item: Problem) -> dict[str, Any]:
    return {
        "code": item.code,
        "severity": item.severity.value,
        "where": item.where,
        "what": item.what,
        "why": item.why,
        "remedy": item.remedy,
    }
