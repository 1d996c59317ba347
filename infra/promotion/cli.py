"""The commands of promotion. What they need is loaded when they run, so that other commands start fast."""

import getpass
import json
from typing import Annotated

import typer
from rich.console import Console

from infra.command_options import CatchUpSeconds, ReadySeconds, Yes
from infra.console import confirm_or_end

#: Exit code after Ctrl-C, as shells count it: 128 and the signal.
_INTERRUPTED = 130


def promote(
    to: Annotated[
        str | None, typer.Option("--to", metavar="STACK", help="Last stack to deploy; the plan's last without it.")
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Stacks of this environment only; those before have to be proven already."),
    ] = None,
    yes: Yes = False,
    who: Annotated[
        str | None,
        typer.Option(
            "--as", envvar="REPLICATE_USER", help="Your name, for the evidence and `maySkip`; else the login's."
        ),
    ] = None,
    skip: Annotated[
        str | None, typer.Option(metavar="REASON", help="Deploy what is not proven; for who is in `maySkip` only.")
    ] = None,
    ready_seconds: ReadySeconds = 300,
    catch_up_seconds: CatchUpSeconds = 30,
) -> None:
    """Deploy a model from stack to stack in the order of stacks/promotion.yaml, each after those before it prove it.

    Interrupted at any point, it can be run again: what is done and proven is not done twice.

    Example: `replicate promote --to prod-us-west-2`
    """
    from infra.promotion.plan import required_plan
    from infra.promotion.run import Promotion, Request, promote

    if skip is not None and not skip.strip():
        raise typer.BadParameter("it has to say why nothing proves the model", param_hint="--skip")
    request = Request(to, who or getpass.getuser(), skip, ready_seconds, catch_up_seconds, environment=environment)

    def confirm(stack: str) -> None:
        if not yes:
            confirm_or_end(f"Deploy {stack}?")

    run = Promotion(required_plan(), request, Console(highlight=False), confirm)
    try:
        code = promote(run)
    except KeyboardInterrupt:
        run.say("interrupted; the engine has ended, and what was done stays: run it again, and it goes on from there")
        raise typer.Exit(_INTERRUPTED) from None
    raise typer.Exit(code)


def environments() -> None:
    """Print the environments of the plan of promotion in order, as a JSON list; none without a plan.

    Left out is one with a stack of the local stack, which only the machine that runs it can deploy.

    Example: `replicate environments`
    """
    from infra.promotion.plan import read_plan, stacks_in_environment
    from infra.settings import read_settings

    plan = read_plan()
    names = [each.name for each in plan.environments] if plan is not None else []
    local = {
        name
        for name in names
        if plan is not None and any(read_settings(stack).local for stack in stacks_in_environment(plan, name))
    }
    typer.echo(json.dumps([name for name in names if name not in local]))
