"""The commands `replicate preview|up|destroy`."""

from typing import Annotated

import typer
from rich.markup import escape

from kafka_replication.components.contract.wording import number
from kafka_replication.infra.commands.console import confirm_or_end, err, out, print_changes, print_idle
from kafka_replication.infra.commands.options import InProject, ReadySeconds, Stack, Yes
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from kafka_replication.infra.stack.stack_checks import raise_by_gitops


def _settings(project: InProject, stack: str) -> StackSettings:
    """Return the settings of a stack that Pulumi may deploy."""
    settings = read_settings(stack, project.stacks)
    raise_by_gitops(settings)
    return settings


def preview(
    project: InProject,
    stack: Stack,
    diff: Annotated[bool, typer.Option("--diff", help="Show every changed property.")] = False,
    refresh: Annotated[bool, typer.Option("--refresh", help="Show what `up --refresh` would change.")] = False,
) -> None:
    """Show what `up` would change.

    Example: `replicate preview local --diff`
    """
    from kafka_replication.infra.deploy.engine import deployment

    settings = _settings(project, stack)
    out.print(f"Deploying with {stack_environment(settings).provider}.")
    print_changes(deployment.preview(settings, typer.echo, diff=diff, refresh=refresh))


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
    secrets_later: Annotated[
        bool, typer.Option("--secrets-later", help="Deploy although Secrets are missing that something creates later.")
    ] = False,
    ready_seconds: ReadySeconds = 300,
) -> None:
    """Deploy a stack and wait until its connectors are ready. Then prove it with `replicate validate`.

    Example: `replicate up local --yes`
    """
    from kafka_replication.infra.deploy.engine import deployment

    settings = _settings(project, stack)
    out.print(f"Deploying with {stack_environment(settings).provider}.")
    if not yes:
        deployment.preview(settings, typer.echo, refresh=refresh)
        confirm_or_end(f"Deploy {stack}?")
    print_changes(deployment.up(settings, typer.echo, refresh=refresh, unlock=unlock, secrets_later=secrets_later))
    with err.status("waiting for connectors to be ready") as status:
        idle = deployment.wait_ready(settings, ready_seconds, status.update)
    print_idle(idle)
    out.print(f"[green]✓[/] every connector is ready; now prove it: replicate validate {escape(stack)}")


def destroy(project: InProject, stack: Stack, yes: Yes = False) -> None:
    """Delete every object of a stack. Remote topics and committed offsets stay in Kafka. It first lists the objects
    that the stack has created or adopted, then asks for confirmation.

    Example: `replicate destroy local --yes`
    """
    from kafka_replication.infra.deploy.engine import deployment

    settings = _settings(project, stack)
    objects = deployment.known_objects(settings)
    if objects:
        out.print(f"{escape(stack)}: this deletes {number(len(objects), 'object')}:")
    else:
        out.print(f"{escape(stack)}: Pulumi knows no object of this stack")
    for target in sorted(objects, key=str):
        more = ", with everything in it, whoever created it" if target.kind == "Namespace" else ""
        out.print(f"  [red]-[/] {escape(str(target))}{more}", soft_wrap=True)
    if not yes:
        confirm_or_end(f"Destroy {stack}?")
    print_changes(deployment.destroy(settings, typer.echo))
