"""The command `replicate adopt`."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from components.contract.problems import RefusedError
from infra.commands.console import confirm_or_end, err, out, print_changes, print_problems
from infra.commands.intervention import who
from infra.commands.options import InProject, Json, ReadySeconds, Stack, Yes
from infra.settings import StackSettings, read_settings

if TYPE_CHECKING:
    from infra.adoption.moving import Moved
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
    """Let a stack manage objects that run already, without deleting or creating them again.

    It first shows its plan: what would change, field by field, who owns the fields now, and what that means for
    replication. It refuses a change that restarts or replaces something, unless you agree to it by name. It also
    refuses objects that another tool still manages. Then it asks. Without a terminal, and with `--json`, it does not
    ask: it ends with the plan, unless you give `--yes`.

    With --from, each mirror of a KafkaMirrorMaker2 that has the source and the target of a flow becomes that flow: the
    flow is deployed without starting, the mirror's connectors are stopped, their offsets carried to the flow, and the
    flow is started. The KafkaMirrorMaker2 stays, with stopped connectors.

    Example: `replicate adopt prod-us-west-2 --agree restart:orders`
    """
    # They load Pulumi, which takes longer than TAB may.
    from infra.adoption.facts import read_facts
    from infra.adoption.plan import planned
    from infra.adoption.text import print_left, print_moved, print_plan
    from infra.engine import deployment
    from infra.stack_checks import raise_by_gitops, resolved_flows

    settings = read_settings(stack, project.stacks)
    raise_by_gitops(settings)
    deployment.require_deployable(settings, resolved_flows(settings))
    plan = planned(read_facts(settings), agree or [], mirrors or [])
    call = _Call(settings, plan, ready_seconds, frozenset(agree or ()))
    if as_json:
        _as_json(call, yes=yes)
        return
    print_plan(plan, out)
    if plan.is_done:
        out.print(f"[green]✓[/] {escape(stack)} manages all of it already, and everything is as it declares it")
        print_left(plan, out)
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
        confirm_or_end(_question(plan))
    changes, moved = call.carry_out(typer.echo)
    print_changes(changes)
    print_moved(moved, out)
    out.print(f"[green]✓[/] {escape(stack)} manages everything, and every connector is ready")
    print_left(plan, out)
    out.print(f"Now prove it: replicate validate {escape(stack)}", soft_wrap=True)


@dataclass(frozen=True)
class _Call:
    """One call that may carry out a plan."""

    settings: StackSettings
    plan: "Plan"
    ready_seconds: float
    agreed: frozenset[str]

    def carry_out(self, say: Callable[[str], object]) -> "tuple[Mapping[str, int], Sequence[Moved]]":
        from infra.adoption.moving import Moving
        from infra.adoption.taking_over import take_over
        from infra.engine import deployment

        moved: Sequence[Moved] = ()
        if any(each.waiting for each in self.plan.moves.found):
            now = datetime.now(UTC)
            changes, moved = Moving(self.settings, self.plan, who(), now, self.ready_seconds, self.agreed, say).run()
        else:
            changes = take_over(self.settings, self.plan, say)
        with err.status("waiting for connectors to be ready") as status:
            deployment.wait_ready(self.settings, self.ready_seconds, status.update)
        return changes, moved


def _as_json(call: _Call, *, yes: bool) -> None:
    """Print one document, of the plan or of what was done; what the engine says goes to standard error."""
    from infra.adoption.document import document_of

    plan, changes = call.plan, None
    if yes and plan.exists and not plan.problems and not plan.is_done:
        changes, _ = call.carry_out(lambda line: typer.echo(line, err=True))
    typer.echo(json.dumps(document_of(plan, changes), indent=2))
    if plan.problems:
        raise typer.Exit(1)
    if not plan.exists:
        raise _nothing_to_adopt(call.settings.stack)


def _question(plan: "Plan") -> str:
    moves = [each.title for each in plan.moves.found if each.waiting]
    steps = [f"Take over {len(plan.taken)} objects", *(f"stop {each} and carry its offsets" for each in moves)]
    return f"{', '.join(steps)}, and deploy {plan.stack}?"


def _nothing_to_adopt(stack: str) -> RefusedError:
    return RefusedError(
        "nothing-to-adopt",
        "no object that the stack declares exists in its cluster",
        f"stack `{stack}`",
        "There is nothing that could be taken over, or it has other names than the topology says.",
        f"`replicate up {stack}` creates the objects. If something runs already, compare its names with those of "
        f"`replicate render {stack} --out DIR`; `replicate import` keeps the names that it reads.",
    )
