"""Which failover a call of `replicate failover` asks for."""

from infra.commands.failover_call import Call, after_disaster, with_both
from infra.commands.failover_fence import lift_only, with_fence
from infra.operate.move import failover_look
from infra.operate.move.facts import Mode
from infra.operate.move.failover import refuse_unsuited
from infra.stack.session import OpenStack


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
