"""The command `replicate failover`."""

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from components.contract.problems import CannotRunError, RefusedError
from components.contract.wording import number
from infra.commands.console import err, out
from infra.commands.intervention import DryRun, Flow, WaitSeconds, who
from infra.commands.options import InProject, Json, Stack
from infra.settings import StackSettings, read_settings
from infra.waiting import DeadlineError, NotYetError, wait_for

if TYPE_CHECKING:
    from infra.operations.failover_facts import Looked, Mode, Plan
    from infra.operations.failover_looking import Scene
    from infra.operations.fencing import Fence

_Mode = Literal["planned", "continuous", "disaster"]
_DONE = "[green]✓[/]"


def failover(
    project: InProject,
    stack: Stack,
    flow: Flow,
    mode: Annotated[
        _Mode,
        typer.Option(
            help="`planned`: producers are stopped, and every record has crossed. `continuous`: producers and the flow "
            "go on, and groups that do not run move. `disaster`: the source does not answer."
        ),
    ] = "planned",
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME", help="Only this consumer group; may be given several times."),
    ] = None,
    watch_seconds: Annotated[
        float, typer.Option(min=0, help="With `planned`: seconds for which nothing may be written to the source.")
    ] = 10,
    max_lag: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="RECORDS",
            help="With `planned`: if no more records than these have to cross, wait for them, at most --wait-seconds. "
            "With `--fence` and without this option, any number is waited for.",
        ),
    ] = 0,
    fence: Annotated[
        bool,
        typer.Option(
            "--fence",
            help="With `planned`: deny everybody to write to the flow's topics on the source, instead of trusting that "
            "the producers are stopped. The connectors' user needs Alter on that cluster.",
        ),
    ] = False,
    lift_fence: Annotated[
        bool, typer.Option("--lift-fence", help="Only allow the writes again that `--fence` denied, and move nothing.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    wait_seconds: WaitSeconds = 180,
) -> None:
    """Move consumer groups to the target: each goes on at exactly the record that it had reached on the source.

    It stops and starts neither consumers nor producers, and leaves running groups alone. It computes the positions
    from the records of both clusters. If a precondition is not met, it changes nothing. It does not ask for
    confirmation. Except with `disaster`, it stops the checkpoint connector, which could move a group back. If it is
    interrupted, run it again.

    With `--fence` nobody can write to the flow's topics on the source from then on. If somebody still does, such as a
    super user, or if anything else goes wrong before the first position is committed, it allows the writes again. After
    a successful failover they stay denied until `replicate failback` or `--lift-fence`.

    With `disaster` it uses what validations have published and MirrorMaker has translated, because the source cannot be
    read any more: it says from when on records of each topic may be lost, and how many
    records each group may read again.

    The exit code is 0 if every precondition is met, 1 if one is not or something changed meanwhile, 2 if something
    could not be asked.

    Example: `replicate failover prod-us-west-2 orders --dry-run`
    """
    if max_lag and mode != "planned":
        raise typer.BadParameter("only `--mode planned` waits until every record has crossed.", param_hint="--max-lag")
    for given, option in ((fence, "--fence"), (lift_fence, "--lift-fence")):
        if given and mode != "planned":
            raise typer.BadParameter("only `--mode planned` has a fence.", param_hint=option)
    if fence and lift_fence:
        raise typer.BadParameter("it cannot be given with `--fence`.", param_hint="--lift-fence")
    settings = read_settings(stack, project.stacks)
    call = Call(settings, flow, mode, groups or (), watch_seconds, wait_seconds, dry_run, as_json, max_lag, fence)
    _lift(call) if lift_fence else _fail_over(call)


@dataclass(frozen=True)
class Call:
    """One call of the command."""

    settings: StackSettings
    flow: str
    mode: str
    groups: Sequence[str]
    watch_seconds: float
    wait_seconds: float
    dry_run: bool
    as_json: bool
    max_lag: int = 0
    fence: bool = False

    def say(self, text: str) -> None:
        if not self.as_json:
            out.print(text, soft_wrap=True)


def _fail_over(call: Call) -> None:
    # They load clients of Kubernetes and Kafka, which takes longer than TAB may.
    from infra.operations import failover_looking
    from infra.operations.failover_facts import Mode
    from infra.operations.failover_plan import refuse_unsuited

    mode = Mode(call.mode)
    with failover_looking.opened(call.settings, call.flow, _otherwise(call, mode)) as scene:
        refuse_unsuited(scene.parameters, mode)
        if mode is Mode.DISASTER:
            after_disaster(call, scene)
        elif call.fence:
            from infra.commands.failover_fence import with_fence

            with_fence(call, scene)
        else:
            with_both(call, scene, mode)


def _lift(call: Call) -> None:
    from infra.commands.failover_fence import lift_only
    from infra.operations import failover_looking

    with failover_looking.opened(call.settings, call.flow) as scene:
        lift_only(call, scene)


def _otherwise(call: Call, mode: "Mode") -> str:
    """What else can be done where a cluster does not answer."""
    disaster = f"replicate failover {call.settings.stack} {call.flow} --mode disaster --dry-run"
    return "" if mode.value == "disaster" else f"If the source is lost: `{disaster}`."


def with_both(call: Call, scene: "Scene", mode: "Mode") -> None:
    """A failover while both clusters answer."""
    from infra.operations import failover_looking
    from infra.operations.failover_facts import Mode
    from infra.operations.failover_plan import plan

    planned = mode is Mode.PLANNED
    with err.status("asking Kubernetes and Kafka") as status:
        if planned and call.max_lag and not call.dry_run:
            _wait_until_drained(call, scene, status.update)
        looked = failover_looking.look(scene, call.groups, call.watch_seconds if planned else 0, status.update)
    found = plan(scene.parameters, mode, looked, time.time_ns() // 1_000_000, call.max_lag if call.dry_run else 0)
    go_on(call, found, lambda: carry_out(call, scene, mode, found, looked))


def _wait_until_drained(call: Call, scene: "Scene", say: Callable[[str], object]) -> None:
    """Wait until what has to cross is on the target; not if it is too much, or something else is unmet.

    The preconditions are looked at afterwards, so that running out of time is not an error of its own.
    """
    from infra.operations import failover_looking
    from infra.operations.failover_facts import Mode
    from infra.operations.failover_plan import only_waits, plan

    def probe() -> None:
        looked = failover_looking.look(scene, call.groups, 0, say)
        found = plan(scene.parameters, Mode.PLANNED, looked, time.time_ns() // 1_000_000, call.max_lag)
        if waiting := only_waits(found, looked):
            say(f"{number(waiting, 'record')} still to cross")
            raise NotYetError(f"{number(waiting, 'record')} still to cross")

    with contextlib.suppress(DeadlineError):
        wait_for("every record to cross", probe, call.wait_seconds, interval_seconds=1)


def after_disaster(call: Call, scene: "Scene") -> None:
    """A failover by what the target alone says."""
    from infra.operations import failing_over, failover_looking
    from infra.operations.disaster_plan import consumed_topics, disaster_plan
    from infra.operations.failover_facts import Mode
    from infra.operations.failover_text import next_steps

    with err.status("asking Kubernetes and the target"):
        evidence = failover_looking.look_at_target(scene, call.groups)
    found = disaster_plan(scene.parameters, evidence)
    target, source = scene.parameters.target.alias, scene.parameters.source.alias

    def commit() -> None:
        with err.status("failing over") as status:
            failing_over.commit(scene, found.moves, status.update)
        call.say(f"{_DONE} {number(len(found.moves), 'position')} committed on {target}")
        for line in next_steps(scene.parameters, Mode.DISASTER, consumed_topics(scene.parameters, evidence)):
            call.say(escape(line))
        stop = f"`replicate stop {call.settings.stack} {call.flow}`"
        call.say(f"Before {source} comes back, stop the flow, so that no connector moves a group: {stop}")

    go_on(call, found, commit)


def go_on(call: Call, found: "Plan", then: Callable[[], None], fenced: Sequence[str] | None = None) -> None:
    """Print the plan, and carry it out unless it is a dry run. Raises RefusedError if a precondition is not met.

    `fenced` are the topics that the command denies to producers, if it has a fence.
    """
    from infra.operations.failover_text import document, print_plan

    if not call.as_json:
        print_plan(found, out)
    commits = not call.dry_run and not found.unmet
    if commits:
        then()
    if call.as_json:
        fence = {} if fenced is None else {"fenced": list(fenced) if commits else []}
        typer.echo(json.dumps(document(found, committed=commits) | fence, indent=2))
    if found.unmet:
        raise _unmet(call, found)
    if call.dry_run:
        call.say("nothing was changed")


def carry_out(
    call: Call, scene: "Scene", mode: "Mode", found: "Plan", looked: "Looked", fence: "Fence | None" = None
) -> None:
    """Stop what would move groups back, look a last time, commit. A fence is kept from the first commit on."""
    from infra.operations import failing_over
    from infra.operations.facts import UnaskedError
    from infra.operations.failover_facts import Mode
    from infra.operations.failover_text import next_steps, topics_of

    by = failing_over.Who(who(), call.wait_seconds)
    planned = mode is Mode.PLANNED
    with err.status("failing over") as status:
        stopped = failing_over.stop_checkpoints(scene, by, status.update)
        for place in stopped:
            call.say(f"{_DONE} {escape(place.name)} is STOPPED, so that it moves no group back")
        try:
            if fence is not None:
                fence.expect_held()
            failing_over.expect_unchanged(scene, found, looked, ends=planned)
        except (CannotRunError, UnaskedError):
            failing_over.resume_checkpoints(scene, by, stopped, status.update)
            raise
        if fence is not None:
            fence.kept = True
        call.say("point of no return: committing positions; if this is interrupted, run the command again")
        failing_over.commit(scene, found.moves, status.update)
    committed = f"{number(len(found.moves), 'position')} committed on {scene.parameters.target.alias} and read back"
    call.say(f"{_DONE} {committed}")
    for line in next_steps(scene.parameters, mode, topics_of(found.moves)):
        call.say(escape(line))
    resume = f"`replicate resume {call.settings.stack} {call.flow}`"
    if planned:
        back = f"When the groups are back on {scene.parameters.source.alias}, start it: {resume}"
        call.say(f"Leave the checkpoint connector stopped. {back}")
    else:
        left = f"If groups are left on {scene.parameters.source.alias}"
        running = f"the consumers run on {scene.parameters.target.alias}"
        call.say(f"{left}, start the checkpoint connector for them once {running}: {resume}")


def _unmet(call: Call, found: "Plan") -> RefusedError:
    what = "; ".join(f"{each.name}: {each.value}" for each in found.unmet)
    why = "A failover needs every precondition, and nothing was changed."
    remedy = "correct these, and run the command again; `--dry-run` shows them without changing anything."
    return RefusedError("precondition-unmet", what, f"flow {call.flow} of {call.settings.stack}", why, remedy)
