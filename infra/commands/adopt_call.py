"""What `replicate adopt` does and prints."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import typer
from rich.markup import escape

from components.contract.problems import RefusedError
from components.contract.wording import number
from infra.commands.console import confirm_or_end, err, out, print_changes, print_problems
from infra.commands.options import who
from infra.deploy.adoption.carry_out import Moved, Moving, take_over
from infra.deploy.adoption.facts import read_facts
from infra.deploy.adoption.plan import Plan, planned
from infra.deploy.adoption.text import document_of, print_left, print_moved, print_plan
from infra.deploy.engine import deployment
from infra.stack.session import OpenStack
from infra.stack.settings import StackSettings


def adopt_objects(
    settings: StackSettings,
    agree: Sequence[str],
    mirrors: Sequence[str],
    ready_seconds: float,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Print the plan, and carry it out if it has no refusal. Raises RefusedError and CannotRunError."""
    with OpenStack(settings) as stack:
        stack.require_pulumi()
        deployment.require_deployable(stack)
    plan = planned(read_facts(settings), agree, mirrors)
    call = _Call(settings, plan, ready_seconds, frozenset(agree))
    if as_json:
        _as_json(call, yes=yes)
        return
    print_plan(plan, out)
    if plan.is_done:
        out.print(f"[green]✓[/] {escape(settings.stack)} already manages everything, and everything is as declared")
        print_left(plan, out)
        return
    if plan.problems:
        print_problems(plan.problems, err)
        raise typer.Exit(1)
    if not plan.exists:
        raise _nothing_to_adopt(settings.stack)
    if not yes and not sys.stdin.isatty():
        out.print("Nothing was changed. `--yes` carries this out.")
        return
    if not yes:
        confirm_or_end(_question(plan))
    changes, moved = call.carry_out(typer.echo)
    print_changes(changes)
    print_moved(moved, out)
    out.print(f"[green]✓[/] {escape(settings.stack)} manages everything, and every connector is ready")
    print_left(plan, out)
    out.print(f"Now prove it: replicate validate {escape(settings.stack)}", soft_wrap=True)


@dataclass(frozen=True)
class _Call:
    """One call that may carry out a plan."""

    settings: StackSettings
    plan: Plan
    ready_seconds: float
    agreed: frozenset[str]

    def carry_out(self, say: Callable[[str], object]) -> tuple[Mapping[str, int], Sequence[Moved]]:
        moved: Sequence[Moved] = ()
        if any(move.waiting for move in self.plan.moves.found):
            now = datetime.now(UTC)
            changes, moved = Moving(self.settings, self.plan, who(), now, self.ready_seconds, self.agreed, say).run()
        else:
            changes = take_over(self.settings, self.plan, say)
        with err.status("waiting for connectors to be ready") as status:
            deployment.wait_ready(self.settings, self.ready_seconds, status.update)
        return changes, moved


def _as_json(call: _Call, *, yes: bool) -> None:
    """Print one document with the plan or with what was done; the engine's output goes to standard error."""
    plan, changes = call.plan, None
    if yes and plan.exists and not plan.problems and not plan.is_done:
        changes, _ = call.carry_out(lambda line: typer.echo(line, err=True))
    typer.echo(json.dumps(document_of(plan, changes), indent=2))
    if plan.problems:
        raise typer.Exit(1)
    if not plan.exists:
        raise _nothing_to_adopt(call.settings.stack)


def _question(plan: Plan) -> str:
    moves = [move.title for move in plan.moves.found if move.waiting]
    steps = [f"Take over {number(len(plan.taken), 'object')}", *(f"stop {move} and copy its offsets" for move in moves)]
    return f"{', '.join(steps)}, and deploy {plan.stack}?"


def _nothing_to_adopt(stack: str) -> RefusedError:
    return RefusedError(
        "nothing-to-adopt",
        "no object that the stack declares exists in its cluster",
        f"stack `{stack}`",
        "There is nothing to take over, or the objects have other names than those in the topology.",
        f"`replicate up {stack}` creates the objects. If something runs already, compare its names with those of "
        f"`replicate render {stack} --out DIR`; `replicate import` keeps the names that it reads.",
    )
