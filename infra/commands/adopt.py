"""The command `replicate adopt`."""

from typing import Annotated

import typer

from infra.commands.options import InProject, Json, ReadySeconds, Stack, Yes
from infra.deploy.adoption.refusals import AGREEMENTS
from infra.stack.settings import read_settings


def _agreements(given: list[str] | None) -> list[str]:
    """Check the form of agreements."""
    for agreement in given or ():
        kind, _, name = agreement.partition(":")
        if kind not in AGREEMENTS or not name:
            raise typer.BadParameter(
                f"`{agreement}` is not an agreement: write one of {', '.join(AGREEMENTS)}, a colon and a name."
            )
    return given or []


def adopt(
    project: InProject,
    stack: Stack,
    mirrors: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="[NAMESPACE/]NAME",
            help="A KafkaMirrorMaker2 whose mirrors become flows of the stack; may be given several times.",
        ),
    ] = None,
    agree: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME",
            callback=_agreements,
            help="Accept something that the plan refuses, such as restart:orders; may be given several times.",
        ),
    ] = None,
    yes: Yes = False,
    ready_seconds: ReadySeconds = 300,
    as_json: Json = False,
) -> None:
    """Let a stack manage objects that already run, without deleting or recreating them.

    It first shows its plan: what would change, field by field, who owns the fields now, and what that means for
    replication. It refuses a change that restarts or replaces something, unless you agree to it by name. It also
    refuses objects that another tool still manages. Then it asks for confirmation. Without a terminal, and with
    `--json`, it does not ask: it ends after the plan, unless you give `--yes`.

    With --from, each mirror of a KafkaMirrorMaker2 that has the source and the target of a flow becomes that flow: the
    flow is deployed without starting, the mirror's connectors are stopped, their offsets are copied to the flow, and
    the flow is started. The KafkaMirrorMaker2 stays, with stopped connectors.

    Example: `replicate adopt prod-us-west-2 --agree restart:orders`
    """
    # It loads Pulumi, which takes longer than TAB may.
    from infra.commands.adopt_call import adopt_objects

    settings = read_settings(stack, project.stacks)
    adopt_objects(settings, agree or [], mirrors or [], ready_seconds, yes=yes, as_json=as_json)
