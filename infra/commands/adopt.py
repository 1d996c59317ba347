"""The command `replicate adopt`."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.wording import number
from kafka_replication.infra.commands.console import confirm_or_end, err, out, print_changes, print_idle, print_problems
from kafka_replication.infra.commands.options import InProject, Json, ReadySeconds, Stack, Yes, who
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import read_settings

if TYPE_CHECKING:
    from kafka_replication.infra.deploy.adoption.plan import AdoptionPlan


def _agreements(given: list[str] | None) -> list[str]:
    if not given:
        return []
    from kafka_replication.infra.deploy.adoption.plan import AGREEMENTS

    for agreement in given:
        kind, _, name = agreement.partition(":")
        if kind not in AGREEMENTS or not name:
            raise typer.BadParameter(
                f"`{agreement}` is not an agreement: write one of {', '.join(AGREEMENTS)}, a colon and a name."
            )
    return given


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
    """Let a stack manage objects that already run, without deleting or recreating them.

    It first shows its plan: what would change, field by field, who owns the fields now, and what that means for
    replication. It refuses a change that restarts or replaces something, unless you agree to it by name. It also
    refuses objects that another tool still manages. Then it asks for confirmation. Without a terminal, and with
    `--json`, it does not ask: it ends after the plan, unless you give `--yes`.

    With --from, each mirror of a KafkaMirrorMaker2 that has the source and the target of a flow becomes that flow: the
    flow is deployed without starting, the mirror's connectors are stopped, their offsets are copied to the flow, and
    the flow is started. The KafkaMirrorMaker2 stays, with stopped connectors.

    Example: `replicate adopt prod-us-west-2 --agree restart:orders`
    """
    from kafka_replication.infra.deploy.adoption.carry_out import MoveResult, MoveRun, take_over
    from kafka_replication.infra.deploy.adoption.facts import read_facts
    from kafka_replication.infra.deploy.adoption.plan import planned
    from kafka_replication.infra.deploy.adoption.text import document_of, print_move_results, print_plan, print_remains
    from kafka_replication.infra.deploy.engine import deployment

    settings = read_settings(stack, project.stacks)
    with OpenStack(settings) as opened:
        opened.require_pulumi()
        deployment.require_deployable(opened)
    plan = planned(read_facts(settings), agree or [], mirrors or [])

    def carry_out(say: Callable[[str], object]) -> tuple[Mapping[str, int], Sequence[MoveResult]]:
        moved: Sequence[MoveResult] = ()
        if any(move.waiting for move in plan.moves.mirrors):
            agreed, now = frozenset(agree or ()), datetime.now(UTC)
            changes, moved = MoveRun(settings, plan, who(), now, ready_seconds, agreed, say).run()
        else:
            changes = take_over(settings, plan, say)
        with err.status("waiting for connectors to be ready") as status:
            idle = deployment.wait_ready(settings, ready_seconds, status.update)
        if not as_json:
            print_idle(idle)
        return changes, moved

    if as_json:
        changes = None
        if yes and plan.exists and not plan.problems and not plan.is_done:
            # The engine's output goes to standard error.
            changes, _ = carry_out(lambda line: typer.echo(line, err=True))
        typer.echo(json.dumps(document_of(plan, changes), indent=2))
    else:
        print_plan(plan, out)
        if plan.is_done:
            out.print(f"[green]✓[/] {escape(stack)} already manages everything, and everything is as declared")
            print_remains(plan, out)
            return
        print_problems(plan.problems, err)
    if plan.problems:
        raise typer.Exit(1)
    if not plan.exists:
        raise _nothing_to_adopt(stack)
    if as_json:
        return
    if not yes and not sys.stdin.isatty():
        out.print("Nothing was changed. `--yes` carries this out.")
        return
    if not yes:
        confirm_or_end(_question(plan))
    changes, moved = carry_out(typer.echo)
    print_changes(changes)
    print_move_results(moved, out)
    out.print(f"[green]✓[/] {escape(stack)} manages everything, and every connector is ready")
    print_remains(plan, out)
    out.print(f"Now prove it: replicate validate {escape(stack)}", soft_wrap=True)


def _question(plan: "AdoptionPlan") -> str:
    moves = [move.title for move in plan.moves.mirrors if move.waiting]
    steps = [
        f"Take over {number(len(plan.unmanaged), 'object')}",
        *(f"stop {move} and copy its offsets" for move in moves),
    ]
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
