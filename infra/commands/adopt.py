"""The command `replicate adopt`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from components.contract.problems import RefusedError
from infra.commands.console import confirm_or_end, err, out, print_changes, print_problems
from infra.commands.options import InProject, ReadySeconds, Stack, Yes
from infra.settings import StackSettings, read_settings

if TYPE_CHECKING:
    from infra.adoption.plan import Plan


def _agreements(given: list[str] | None) -> list[str]:
    """Check the form of agreements."""
    kinds = ("restart", "re-read", "data", "replaced", "released")
    for each in given or ():
        kind, _, name = each.partition(":")
        if kind not in kinds or not name:
            raise typer.BadParameter(f"`{each}` is no agreement: write one of {', '.join(kinds)}, a colon and a name.")
    return given or []


def adopt(
    project: InProject,
    stack: Stack,
    agree: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME",
            callback=_agreements,
            help="Agree to what the plan refuses without it, such as restart:orders; may be given several times.",
        ),
    ] = None,
    yes: Yes = False,
    ready_seconds: ReadySeconds = 300,
) -> None:
    """Make what runs already the objects of a stack, without deleting or creating them again.

    It first shows its plan: what would change, field by field, who owns the fields now, and what that means for
    replication. It refuses what restarts or replaces anything, unless you agree to it by name, and what another tool
    still manages. Then it asks. Without a terminal and without `--yes` it ends with the plan.

    Example: `replicate adopt prod-us-west-2 --agree restart:orders`
    """
    # They load Pulumi, which takes longer than TAB may.
    from infra.adoption.facts import read_facts
    from infra.adoption.plan import planned
    from infra.adoption.text import print_plan
    from infra.engine import deployment
    from infra.stack_checks import raise_by_gitops, resolved_flows

    settings = read_settings(stack, project.stacks)
    raise_by_gitops(settings)
    deployment.require_deployable(settings, resolved_flows(settings))
    plan = planned(read_facts(settings), agree or [])
    print_plan(plan, out)
    if plan.is_done:
        out.print(f"[green]✓[/] {escape(stack)} manages all of it already, and everything is as it declares it")
        return
    if plan.problems:
        print_problems(plan.problems, err)
        raise typer.Exit(1)
    if not plan.exists:
        raise _nothing_to_adopt(stack)
    if not yes and not sys.stdin.isatty():
        out.print("Nothing was changed. `--yes` carries this out.")
        return
    if not yes:
        confirm_or_end(f"Take over {len(plan.taken)} objects, and deploy {stack}?")
    _carry_out(settings, plan, ready_seconds)


def _nothing_to_adopt(stack: str) -> RefusedError:
    return RefusedError(
        "nothing-to-adopt",
        "no object that the stack declares exists in its cluster",
        f"stack `{stack}`",
        "There is nothing that could be taken over, or it has other names than the topology says.",
        f"`replicate up {stack}` creates the objects. If something runs already, compare its names with those of "
        f"`replicate render {stack} --out DIR`; `replicate import` keeps the names that it reads.",
    )


def _carry_out(settings: StackSettings, plan: "Plan", ready_seconds: float) -> None:
    from infra.adoption.taking_over import take_over
    from infra.engine import deployment

    print_changes(take_over(settings, plan, typer.echo))
    with err.status("waiting for connectors to be ready") as status:
        deployment.wait_ready(settings, ready_seconds, status.update)
    stack = escape(settings.stack)
    out.print(f"[green]✓[/] {stack} manages everything, and every connector is ready")
    out.print(f"Now prove it: replicate validate {stack}", soft_wrap=True)
