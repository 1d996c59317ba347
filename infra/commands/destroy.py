"""The command `replicate destroy`."""

from collections.abc import Collection

import typer
from rich.markup import escape

from components.contract.wording import number
from infra.commands.console import confirm_or_end, out, print_changes
from infra.commands.options import InProject, Stack, Yes
from infra.kubernetes.api import Reference
from infra.stack.settings import read_settings
from infra.stack.stack_checks import raise_by_gitops


def destroy(project: InProject, stack: Stack, yes: Yes = False) -> None:
    """Delete every object of a stack. Remote topics and committed offsets stay in Kafka. It first lists the objects
    that the stack has created or adopted, then asks for confirmation.

    Example: `replicate destroy local --yes`
    """
    # They load Pulumi, which takes longer than TAB may.
    from infra.deploy.engine import deployment
    from infra.deploy.engine.deployment import known_objects

    settings = read_settings(stack, project.stacks)
    raise_by_gitops(settings)
    _print_what_goes(stack, known_objects(settings))
    if not yes:
        confirm_or_end(f"Destroy {stack}?")
    print_changes(deployment.destroy(settings, typer.echo))


def _print_what_goes(stack: str, objects: Collection[Reference]) -> None:
    if not objects:
        out.print(f"{escape(stack)}: Pulumi knows no object of this stack")
        return
    out.print(f"{escape(stack)}: this deletes {number(len(objects), 'object')}:")
    for target in sorted(objects, key=str):
        more = ", with everything in it, whoever created it" if target.kind == "Namespace" else ""
        out.print(f"  [red]-[/] {escape(str(target))}{more}", soft_wrap=True)
