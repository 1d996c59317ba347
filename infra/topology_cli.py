"""The commands that tell what a topology comes to: check, explain, render, acls and schema. They need no cluster.

Each loads what it needs when it runs.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from components.effects.effect import number
from components.model import Topology
from components.problems import Problem, ReplicationError, Severity
from infra.command_options import Json, Stack
from infra.console import err, out, print_problems
from infra.errors import CannotRunError
from infra.settings import STACKS, read_settings, shown, stack_names


def check(
    stacks: Annotated[list[str] | None, typer.Argument(help="Stacks to check; all without any.")] = None,
    as_json: Json = False,
) -> None:
    """Find every mistake in the topology of stacks, without a cluster and without Pulumi.

    Example: `replicate check prod-us-west-2`
    """
    from infra.promotion.plan import plan_problems
    from infra.stack_checks import problems

    found: dict[str, list[Problem]] = {}
    if not (stacks or stack_names()):
        raise CannotRunError(
            "there is no stack", shown(STACKS), "Nothing would be checked.", "write Pulumi.STACK.yaml there."
        )
    for stack in stacks or stack_names():
        try:
            found[stack] = problems(read_settings(stack))
        except ReplicationError as error:
            found[stack] = list(error.problems)
    found |= plan_problems()
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


def explain(
    stack: Stack,
    flow: Annotated[str, typer.Argument(help="Name of the flow, as in the report of `replicate validate`.")],
    name: Annotated[
        str | None, typer.Argument(metavar="PROPERTY", help="One property only, wherever it occurs.")
    ] = None,
    with_defaults: Annotated[bool, typer.Option("--all", help="Also what only Kafka's defaults set.")] = False,
    as_json: Json = False,
) -> None:
    """Show every effective property of a flow's connectors, clients and workers, and which layer set it.

    Example: `replicate explain prod-us-west-2 orders replication.factor`
    """
    from infra import explain, explain_tables

    explained = explain.explanation(read_settings(stack), flow, name, defaults=with_defaults)
    if as_json:
        typer.echo(json.dumps(explain.as_json(explained), indent=2))
    elif name is None:
        explain_tables.print_explanation(explained, out)
    else:
        explain_tables.print_property(explained, out)


def render(
    stack: Stack,
    folder: Annotated[Path, typer.Option("--out", help="Folder to write to; replaced if it is an earlier render.")],
) -> None:
    """Write the objects of a stack as YAML, for review or GitOps, without cluster, credentials or Pulumi.

    Example: `replicate render prod-us-west-2 --out rendered/prod-us-west-2`
    """
    from infra.render import rendered_files, write_files
    from infra.stack_checks import addresses

    settings = read_settings(stack)
    files = rendered_files(settings, addresses(settings))
    write_files(files, folder)
    out.print(f"[green]✓[/] {len(files)} files in {escape(str(folder))}", soft_wrap=True)


def acls(
    stack: Stack,
    commands: Annotated[bool, typer.Option("--commands", help="Print lines for Kafka's own kafka-acls.sh.")] = False,
    as_json: Json = False,
) -> None:
    """Print the least ACLs that the Kafka users of a stack's flows need, for clusters without a User Operator.

    Example: `replicate acls prod-us-west-2 --commands`
    """
    from infra import acls as access

    settings = read_settings(stack)
    found = access.stack_acls(settings)
    if as_json:
        typer.echo(json.dumps(access.acl_documents(found), indent=2))
    elif commands:
        for line in access.acl_commands(found, settings.topology):
            typer.echo(line)
    else:
        for table in access.acl_tables(found):
            out.print(table)
    for alias in access.unknown_principals(settings):
        message = f"what {alias} calls the flows' user is not known: set `principal` of its authentication"
        err.print(f"[yellow]![/] {escape(message)}", soft_wrap=True)


def schema(
    folder: Annotated[Path, typer.Option("--out", help="Folder to write them to.")] = STACKS,
) -> None:
    """Write the JSON Schemas of topology files and of the plan of promotion, by which editors complete them.

    Example: `replicate schema`
    """
    from infra.promotion.plan import plan_schema

    for name, text in (("topology.schema.json", topology_schema()), ("promotion.schema.json", plan_schema())):
        (folder / name).write_text(text)
        out.print(f"[green]✓[/] {escape(str(folder / name))}", soft_wrap=True)


def topology_schema() -> str:
    """JSON Schema of a topology file, as text."""
    return json.dumps(Topology.model_json_schema(), indent=2, sort_keys=True) + "\n"


def _as_dict(item: Problem) -> dict[str, Any]:
    return {
        "code": item.code,
        "severity": item.severity.value,
        "where": item.where,
        "what": item.what,
        "why": item.why,
        "remedy": item.remedy,
    }
