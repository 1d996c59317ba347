"""`replicate failover --fence` and `--lift-fence`: deny producers writes to the source, and allow them again."""

import sys
import time

from rich.markup import escape

from components.contract.wording import named
from infra.commands.console import err
from infra.commands.failover_call import DONE, Call, carry_out, go_on, wait_until_drained
from infra.operate.move import failover_look
from infra.operate.move.facts import FailoverFacts, GroupPlan, Mode
from infra.operate.move.failover import plan
from infra.operate.move.failover_look import OpenFlow
from infra.operate.move.fence import Fence, fence_facts, fenced, fenced_topics, lift, lift_call, owner_of, standing
from infra.operate.partition_logs import Say


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
