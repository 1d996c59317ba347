"""The command `replicate explain`."""

import json
from typing import Annotated

import typer

from infra.commands.completion import complete_flow
from infra.commands.console import out
from infra.commands.options import InProject, Json, Stack
from infra.review import explain as explanations
from infra.review import explain_tables
from infra.settings import read_settings


def explain(
    project: InProject,
    stack: Stack,
    flow: Annotated[
        str,
        typer.Argument(help="Name of the flow, as `replicate validate` reports it.", autocompletion=complete_flow),
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="PROPERTY", help="Show only this property, wherever it is set.")
    ] = None,
    with_defaults: Annotated[
        bool, typer.Option("--all", help="Also show properties that only Kafka's defaults set.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show every effective property of a flow's connectors, clients and workers, and which layer set it.

    Example: `replicate explain prod-us-west-2 orders replication.factor`
    """
    explained = explanations.explanation(read_settings(stack, project.stacks), flow, name, defaults=with_defaults)
    if as_json:
        typer.echo(json.dumps(explanations.as_json(explained), indent=2))
    elif name is None:
        explain_tables.print_explanation(explained, out)
    else:
        explain_tables.print_property(explained, out)
