"""The command `replicate explain`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.markup import escape

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.infra.commands.completion import complete_flow, complete_stack
from kafka_replication.infra.commands.console import out
from kafka_replication.infra.commands.options import Json, PerhapsInProject
from kafka_replication.infra.review import explain as explanations
from kafka_replication.infra.review.explain import described_codes, print_explanation, print_property
from kafka_replication.infra.stack.project import find_project
from kafka_replication.infra.stack.settings import read_settings, stack_names


def explain(
    project: PerhapsInProject,
    stack: Annotated[
        str,
        typer.Argument(
            metavar="STACK|CODE",
            help="Name of the stack: STACK in Pulumi.STACK.yaml. Without a flow, a code from a message, or an alert.",
            autocompletion=complete_stack,
        ),
    ],
    flow: Annotated[
        str | None,
        typer.Argument(help="Name of the flow, as `replicate validate` reports it.", autocompletion=complete_flow),
    ] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="PROPERTY", help="Show only this property, wherever it is set.")
    ] = None,
    with_defaults: Annotated[
        bool, typer.Option("--all", help="Also show properties that only Kafka's defaults set.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show every effective property of a flow's connectors, clients and workers, and which layer set it.

    With the code of a mistake or an error instead, such as `unknown-alias`, or with an alert, such as
    MirrorTaskFailed, show what it means and what to do. This needs no project. Findings of `validate` and effects of
    `diff` explain themselves.

    Example: `replicate explain prod-us-west-2 orders replication.factor`
    """
    if flow is None:
        if project is not None and stack in stack_names(project.stacks):
            raise typer.BadParameter(f"Also name a flow of stack `{stack}`.", param_hint="FLOW")
        _explain_code(stack, as_json)
        return
    project = project or find_project(Path.cwd())
    explained = explanations.explanation(read_settings(stack, project.stacks), flow, name, defaults=with_defaults)
    if as_json:
        typer.echo(json.dumps(explanations.as_json(explained), indent=2))
    elif name is None:
        print_explanation(explained, out)
    else:
        print_property(explained, out)


def _explain_code(code: str, as_json: bool) -> None:
    code = next((known for known in described_codes() if known.casefold() == code.casefold()), code)
    text = described_codes().get(code)
    if text is None:
        near = nearest(code, described_codes())
        raise CannotRunError(
            "unknown-code",
            f"no mistake, error or alert is called `{code}`",
            "the arguments of `explain`",
            "`explain` takes such a name, or a flow of a stack. Findings of `validate`, effects of `diff` and drift "
            "also have codes, but explain themselves.",
            f"name the code `{near}`." if near else "name it as a message shows it, or name a stack and a flow.",
        )
    if as_json:
        typer.echo(json.dumps({"code": code, "text": text}, indent=2))
        return
    out.print(Markdown(text) if out.is_terminal else escape(text), soft_wrap=not out.is_terminal)
