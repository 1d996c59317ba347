"""The command `replicate destroy`."""

import typer

from infra.commands.console import confirm_or_end, print_changes
from infra.commands.options import InProject, Stack, Yes
from infra.settings import read_settings


def destroy(project: InProject, stack: Stack, yes: Yes = False) -> None:
    """Delete every object of a stack. Remote topics and committed offsets stay in Kafka.

    Example: `replicate destroy local --yes`
    """
    # It loads Pulumi, which takes longer than TAB may.
    from infra.engine import deployment

    settings = read_settings(stack, project.stacks)
    if not yes:
        confirm_or_end(f"Destroy {stack}?")
    print_changes(deployment.destroy(settings, typer.echo))
