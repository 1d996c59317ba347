"""The command `replicate preview`."""

from typing import Annotated

import typer

from infra.commands.console import out, print_changes
from infra.commands.options import InProject, Stack
from infra.stack.environment import stack_environment
from infra.stack.settings import read_settings
from infra.stack.stack_checks import raise_by_gitops


def preview(
    project: InProject,
    stack: Stack,
    diff: Annotated[bool, typer.Option("--diff", help="Show every changed property.")] = False,
    refresh: Annotated[bool, typer.Option("--refresh", help="Show what `up --refresh` would change.")] = False,
) -> None:
    """Show what `up` would change.

    Example: `replicate preview local --diff`
    """
    # It loads Pulumi, which takes longer than TAB may.
    from infra.deploy.engine import deployment

    settings = read_settings(stack, project.stacks)
    raise_by_gitops(settings)
    out.print(f"Deploying with {stack_environment(settings).provider}.")
    print_changes(deployment.preview(settings, typer.echo, diff=diff, refresh=refresh))
