"""The commands that deploy a stack, prove it and delete it: preview, up, validate and destroy.

Each loads what it needs when it runs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from infra.command_options import CatchUpSeconds, Json, ReadySeconds, Stack, Yes
from infra.console import confirm_or_end, err, out
from infra.settings import read_settings


def preview(
    stack: Stack,
    diff: Annotated[bool, typer.Option("--diff", help="Show every changed property.")] = False,
) -> None:
    """Show what `up` would change.

    Example: `replicate preview local --diff`
    """
    from infra import deployment, engine

    settings = read_settings(stack)
    out.print(f"Deploying with {engine.kubernetes_provider(settings)}.")
    _print_changes(deployment.preview(settings, typer.echo, diff=diff))


def up(
    stack: Stack,
    yes: Yes = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Also mend what was edited or deleted in the cluster by hand.")
    ] = False,
    ready_seconds: ReadySeconds = 300,
) -> None:
    """Deploy a stack and wait until its connectors run. What proves it is `replicate validate`.

    Example: `replicate up local --yes`
    """
    from infra import deployment, engine

    settings = read_settings(stack)
    out.print(f"Deploying with {engine.kubernetes_provider(settings)}.")
    if not yes:
        deployment.preview(settings, typer.echo)
        confirm_or_end(f"Deploy {stack}?")
    _print_changes(deployment.up(settings, typer.echo, refresh=refresh))
    with err.status("waiting for connectors to be ready"):
        deployment.wait_ready(settings, ready_seconds)
    out.print(f"[green]✓[/] every connector is Ready; prove it with: replicate validate {escape(stack)}")


def validate(
    stack: Stack,
    flow: Annotated[str | None, typer.Option(help="One replication only; all of the stack without it.")] = None,
    report: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("report.json"),
    publish: Annotated[
        bool, typer.Option("--publish", help="Keep the verdict as a ConfigMap beside the flow.")
    ] = False,
    catch_up_seconds: CatchUpSeconds = 30,
    as_json: Json = False,
) -> None:
    """Prove from the data that heartbeats arrive, offsets translate and nothing is missing.

    Ends with 0 if everything passed, 1 if something failed, 2 if something could not be checked.

    Example: `replicate validate local --publish`
    """
    from infra import deployment
    from infra.kubernetes_access import kubernetes_access
    from infra.validate import ValidationRun, run_validation

    settings = read_settings(stack)
    options = [f"--catch-up-seconds={catch_up_seconds:g}"]
    options += ["--flow", flow] if flow else []
    options += [option for option, wanted in (("--publish", publish), ("--json", as_json)) if wanted]
    kubeconfig, context = kubernetes_access(settings)
    document = deployment.outputs(settings)["validation"]
    run = ValidationRun(stack, document, report, Path(kubeconfig) if kubeconfig else None, options, context)
    raise typer.Exit(run_validation(run, err))


def destroy(stack: Stack, yes: Yes = False) -> None:
    """Delete every object of a stack. Remote topics and committed offsets stay in Kafka.

    Example: `replicate destroy local --yes`
    """
    from infra import deployment

    settings = read_settings(stack)
    if not yes:
        confirm_or_end(f"Destroy {stack}?")
    _print_changes(deployment.destroy(settings, typer.echo))


def _print_changes(changes: Mapping[str, int]) -> None:
    text = ", ".join(f"{count} {kind}" for kind, count in sorted(changes.items())) or "nothing"
    out.print(f"Changes: {text}")
