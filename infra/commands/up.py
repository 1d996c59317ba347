"""The command `replicate up`."""

from typing import Annotated

import typer
from rich.markup import escape

from infra.commands.console import confirm_or_end, err, out, print_changes, print_idle
from infra.commands.options import InProject, ReadySeconds, Stack, Yes
from infra.stack.environment import stack_environment
from infra.stack.settings import read_settings
from infra.stack.stack_checks import raise_by_gitops


def up(
    project: InProject,
    stack: Stack,
    yes: Yes = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Also undo what somebody edited or deleted in the cluster by hand.")
    ] = False,
    unlock: Annotated[
        bool, typer.Option("--unlock", help="First release the lock that a killed deployment left.")
    ] = False,
    ready_seconds: ReadySeconds = 300,
) -> None:
    """Deploy a stack and wait until its connectors are ready. Then prove it with `replicate validate`.

    Example: `replicate up local --yes`
    """
    # It loads Pulumi, which takes longer than TAB may.
    from infra.deploy.engine import deployment

    settings = read_settings(stack, project.stacks)
    raise_by_gitops(settings)
    out.print(f"Deploying with {stack_environment(settings).provider}.")
    if not yes:
        deployment.preview(settings, typer.echo, refresh=refresh)
        confirm_or_end(f"Deploy {stack}?")
    print_changes(deployment.up(settings, typer.echo, refresh=refresh, unlock=unlock))
    with err.status("waiting for connectors to be ready") as status:
        idle = deployment.wait_ready(settings, ready_seconds, status.update)
    print_idle(idle)
    out.print(f"[green]✓[/] every connector is ready; now prove it: replicate validate {escape(stack)}")
