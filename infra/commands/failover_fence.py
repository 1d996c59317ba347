"""`replicate failover --fence` and `--lift-fence`: deny producers writes to the source, and allow them again."""

import sys
import time

from rich.markup import escape

from components.contract.wording import named
from infra.commands.console import err
from infra.commands.failover_call import DONE, Call, carry_out, go_on, wait_until_drained
from infra.operate import failover_looking, fencing
from infra.operate.failover_facts import Looked, Mode, Plan
from infra.operate.failover_looking import Scene
from infra.operate.failover_plan import plan
from infra.operate.partition_logs import Say


def with_fence(call: Call, scene: Scene) -> None:
    """A planned failover that denies all writes to the source. Raises RefusedError and CannotRunError."""
    topics = fencing.fenced_topics(scene)
    with err.status("asking Kubernetes and Kafka") as status:
        fence = fencing.fence_facts(scene, topics)
        looked = failover_looking.look(scene, call.groups, 0, status.update)
    now_ms = time.time_ns() // 1_000_000
    found = plan(scene.parameters, Mode.PLANNED, looked, now_ms, call.max_lag or sys.maxsize, fence)
    if call.dry_run or found.unmet:
        go_on(call, found, lambda: None, topics)
        return
    source = scene.parameters.source.alias
    with fencing.fenced(scene, topics, lambda text: call.say(f"{DONE} {escape(str(text))}")) as standing:
        with err.status("watching the source") as status:
            standing.settle(call.wait_seconds, call.watch_seconds, status.update)
            found, looked = _drained(call, scene, standing, status.update)
        go_on(call, found, lambda: carry_out(call, scene, Mode.PLANNED, found, looked, standing), topics)
        lift = f"until `replicate failback` has succeeded; {fencing.lift_call(scene)} allows them now"
        call.say(escape(f"Writes to {named(topics)} on {source} stay denied {lift}"))
        standing.expect_held()


def _drained(call: Call, scene: Scene, fence: fencing.Fence, say: Say) -> tuple[Plan, Looked]:
    """Wait until every record is replicated, then watch the source once more for the full time."""

    def look(seconds: float, max_lag: int = 0) -> tuple[Plan, Looked]:
        looked = failover_looking.look(scene, call.groups, seconds, say, fence.before)
        fence.expect_held()
        return plan(scene.parameters, Mode.PLANNED, looked, time.time_ns() // 1_000_000, max_lag), looked

    wait_until_drained(call, lambda: look(0, sys.maxsize), say)
    return look(call.watch_seconds)


def lift_only(call: Call, scene: Scene) -> None:
    """Allow the writes that the flow's fence denies, and do nothing else."""
    source, topics = scene.parameters.source.alias, fencing.standing(scene)
    if not topics:
        call.say(escape(f"flow {call.flow} has no fence on {source}"))
        return
    if call.dry_run:
        call.say(escape(f"writes to {named(topics)} on {source} are denied by the fence"))
        call.say("nothing was changed")
        return
    fencing.lift(scene.topic_acls("source"), fencing.owner_of(scene))
    call.say(f"{DONE} {escape(f'writes to {named(topics)} on {source} are allowed again')}")
