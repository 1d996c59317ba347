"""Looks, plans and carries out what one call of `replicate failover` asks for, and prints it."""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import typer
from rich.markup import escape

from components.clients.errors import NoAnswerError
from components.contract.problems import CannotRunError, RefusedError
from components.contract.wording import named, number
from infra.commands.console import err, out
from infra.commands.options import who
from infra.machine.waiting import DeadlineError, NotYetError, wait_for
from infra.operate.move import failover_look
from infra.operate.move.disaster import consumed_topics, disaster_plan
from infra.operate.move.facts import FailoverFacts, GroupPlan, Mode
from infra.operate.move.failover import only_waits, plan, refuse_unsuited
from infra.operate.move.failover_look import OpenFlow
from infra.operate.move.fence import Fence, fence_facts, fenced, fenced_topics, lift, lift_call, owner_of, standing
from infra.operate.move.groups import Who, commit, expect_unchanged, resume_checkpoints, stop_checkpoints
from infra.operate.move.text import document, next_steps, print_plan, topics_of
from infra.operate.partition_logs import Say
from infra.stack.session import OpenStack

DONE = "[green]✓[/]"


@dataclass(frozen=True)
class Call:
    """One call of the command."""

    stack: str
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


def with_both(call: Call, scene: OpenFlow, mode: Mode) -> None:
    """A failover while both clusters answer."""
    planned = mode is Mode.PLANNED
    with err.status("asking Kubernetes and Kafka") as status:

        def look(seconds: float, max_lag: int) -> tuple[GroupPlan, FailoverFacts]:
            looked = failover_look.look(scene, call.groups, seconds, status.update)
            return plan(scene.parameters, mode, looked, time.time_ns() // 1_000_000, max_lag), looked

        if planned and call.max_lag and not call.dry_run:
            wait_until_drained(call, lambda: look(0, call.max_lag), status.update)
        found, looked = look(call.watch_seconds if planned else 0, call.max_lag if call.dry_run else 0)
    go_on(call, found, lambda: carry_out(call, scene, mode, found, looked))


def wait_until_drained(call: Call, look: Callable[[], tuple[GroupPlan, FailoverFacts]], say: Say) -> None:
    """Wait until every record is replicated, unless there are too many or another precondition is unmet. The
    preconditions are checked afterwards, so a timeout is not an error by itself.
    """

    def probe() -> None:
        if waiting := only_waits(*look()):
            say(f"{number(waiting, 'record')} not yet replicated")
            raise NotYetError(f"{number(waiting, 'record')} not yet replicated")

    with contextlib.suppress(DeadlineError):
        wait_for("every record to be replicated", probe, call.wait_seconds, interval_seconds=1)


def after_disaster(call: Call, scene: OpenFlow) -> None:
    """A failover that uses only what the target knows."""
    with err.status("asking Kubernetes and the target"):
        evidence = failover_look.look_at_target(scene, call.groups)
    found = disaster_plan(scene.parameters, evidence)
    target, source = scene.parameters.target.alias, scene.parameters.source.alias

    def commit_all() -> None:
        with err.status("failing over") as status:
            commit(scene, found.moves, status.update)
        call.say(f"{DONE} {number(len(found.moves), 'position')} committed on {target}")
        for line in next_steps(scene.parameters, Mode.DISASTER, consumed_topics(scene.parameters, evidence)):
            call.say(escape(line))
        stop = f"`replicate stop {call.stack} {call.flow}`"
        call.say(f"Before {source} comes back, stop the flow, so that no connector moves a group: {stop}")

    go_on(call, found, commit_all)


def go_on(call: Call, found: GroupPlan, then: Callable[[], None], fenced: Sequence[str] | None = None) -> None:
    """Print the plan, and carry it out unless it is a dry run. Raises RefusedError if a precondition is not met.

    `fenced` are the topics that the command closes to producers, if it has a fence.
    """
    if not call.as_json:
        print_plan(found, out)
    commits = not call.dry_run and not found.unmet
    if commits:
        then()
    if call.as_json:
        fence = {} if fenced is None else {"fenced": list(fenced) if commits else []}
        typer.echo(json.dumps(document(found, committed=commits) | fence, indent=2))
    if found.unmet:
        what = "; ".join(f"{precondition.name}: {precondition.value}" for precondition in found.unmet)
        why = "A failover needs every precondition to be met; nothing was changed."
        remedy = "correct these, and run the command again; `--dry-run` shows them without changing anything."
        raise RefusedError("precondition-unmet", what, f"flow {call.flow} of {call.stack}", why, remedy)
    if call.dry_run:
        call.say("nothing was changed")


def carry_out(
    call: Call, scene: OpenFlow, mode: Mode, found: GroupPlan, looked: FailoverFacts, fence: Fence | None = None
) -> None:
    """Stop what would move groups back, look one last time, and commit. After the first commit, a fence stays."""
    by = Who(who(), call.wait_seconds)
    planned = mode is Mode.PLANNED
    with err.status("failing over") as status:
        stopped = stop_checkpoints(scene, by, status.update)
        for place in stopped:
            call.say(f"{DONE} {escape(place.name)} is STOPPED, so it moves no group back")
        try:
            if fence is not None:
                fence.expect_held()
            expect_unchanged(scene, found, looked, ends=planned)
        except (CannotRunError, NoAnswerError):
            resume_checkpoints(scene, by, stopped, status.update)
            raise
        if fence is not None:
            fence.kept = True
        call.say("point of no return: committing positions; if this is interrupted, run the command again")
        commit(scene, found.moves, status.update)
    committed = f"{number(len(found.moves), 'position')} committed on {scene.parameters.target.alias} and read back"
    call.say(f"{DONE} {committed}")
    for line in next_steps(scene.parameters, mode, topics_of(found.moves)):
        call.say(escape(line))
    resume = f"`replicate resume {call.stack} {call.flow}`"
    if planned:
        back = f"When the groups are back on {scene.parameters.source.alias}, start it: {resume}"
        call.say(f"Leave the checkpoint connector stopped. {back}")
    else:
        left = f"If groups remain on {scene.parameters.source.alias}"
        running = f"the consumers run on {scene.parameters.target.alias}"
        call.say(f"{left}, start the checkpoint connector for them once {running}: {resume}")


def with_fence(call: Call, scene: OpenFlow) -> None:
    """A planned failover that denies all writes to the source. Raises RefusedError and CannotRunError."""
    topics = fenced_topics(scene)
    with err.status("asking Kubernetes and Kafka") as status:
        fence = fence_facts(scene, topics)
        looked = failover_look.look(scene, call.groups, 0, status.update)
    now_ms = time.time_ns() // 1_000_000
    found = plan(scene.parameters, Mode.PLANNED, looked, now_ms, call.max_lag or sys.maxsize, fence)
    if call.dry_run or found.unmet:
        go_on(call, found, lambda: None, topics)
        return
    source = scene.parameters.source.alias
    with fenced(scene, topics, lambda text: call.say(f"{DONE} {escape(str(text))}")) as standing:
        with err.status("watching the source") as status:
            standing.settle(call.wait_seconds, call.watch_seconds, status.update)
            found, looked = _drained(call, scene, standing, status.update)
        go_on(call, found, lambda: carry_out(call, scene, Mode.PLANNED, found, looked, standing), topics)
        lift = f"until `replicate failback` has succeeded; {lift_call(scene)} allows them now"
        call.say(escape(f"Writes to {named(topics)} on {source} stay denied {lift}"))
        standing.expect_held()


def _drained(call: Call, scene: OpenFlow, fence: Fence, say: Say) -> tuple[GroupPlan, FailoverFacts]:
    """Wait until every record is replicated, then watch the source once more for the full time."""

    def look(seconds: float, max_lag: int = 0) -> tuple[GroupPlan, FailoverFacts]:
        looked = failover_look.look(scene, call.groups, seconds, say, fence.before)
        fence.expect_held()
        return plan(scene.parameters, Mode.PLANNED, looked, time.time_ns() // 1_000_000, max_lag), looked

    wait_until_drained(call, lambda: look(0, sys.maxsize), say)
    return look(call.watch_seconds)


def lift_only(call: Call, scene: OpenFlow) -> None:
    """Allow the writes that the flow's fence denies, and do nothing else."""
    source, topics = scene.parameters.source.alias, standing(scene)
    if not topics:
        call.say(escape(f"flow {call.flow} has no fence on {source}"))
        return
    if call.dry_run:
        call.say(escape(f"writes to {named(topics)} on {source} are denied by the fence"))
        call.say("nothing was changed")
        return
    lift(scene.topic_acls("source"), owner_of(scene))
    call.say(f"{DONE} {escape(f'writes to {named(topics)} on {source} are allowed again')}")


def fail_over(call: Call, stack: OpenStack) -> None:
    mode = Mode(call.mode)
    disaster = f"replicate failover {call.stack} {call.flow} --mode disaster --dry-run"
    otherwise = "" if mode is Mode.DISASTER else f"If the source is lost: `{disaster}`."
    with failover_look.open_flow(stack, call.flow, otherwise) as scene:
        refuse_unsuited(scene.parameters, mode)
        if mode is Mode.DISASTER:
            after_disaster(call, scene)
        elif call.fence:
            with_fence(call, scene)
        else:
            with_both(call, scene, mode)


def lift_fence(call: Call, stack: OpenStack) -> None:
    with failover_look.open_flow(stack, call.flow) as scene:
        lift_only(call, scene)
