"""What a change of the promotion plan does to the proof that a stack waits for. Pure.

Whatever lets a model reach a stack with less proof than before has the severity `data`: a model that skips records
would reach it, too.
"""

from collections.abc import Iterator

from kafka_replication.components.changes.effect import Effect, Impact, listed
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.wording import agreeing, number
from kafka_replication.infra.deploy.promotion.rule.plan import (
    FILE_NAME,
    PromotionPlan,
    wave_before,
)


def plan_effects(before: PromotionPlan | None, after: PromotionPlan | None) -> Iterator[Effect]:
    """Yield the effects of a changed, a new or a removed plan."""
    if before is None and after is not None:
        what = f"stacks are promoted in this order: {listed(after.stacks)}"
        yield _effect(Impact.NONE, "promotion-plan-added", "environments", what)
    elif before is not None and after is None:
        what = f"no stack waits for the proof of another any more: {listed(before.stacks)}"
        yield _effect(Impact.DATA, "promotion-plan-removed", "environments", what)
    elif before is not None and after is not None:
        yield from _members(before, after)
        yield from _order(before, after)
        yield from _soak_times(before, after)
        yield from _skippers(before, after)
        if before.evidence_namespace != after.evidence_namespace:
            what = (
                f"evidence is recorded in `{after.evidence_namespace}` instead of `{before.evidence_namespace}`, where "
                "nothing is recorded yet: every stack has to be proven again before the next one may follow"
            )
            yield _effect(Impact.NONE, "evidence-moves", "evidenceNamespace", what)


def _effect(severity: Impact, code: str, where: str, what: str) -> Effect:
    return Effect(severity, code, "", f"{FILE_NAME}: {where}", what)


def _members(before: PromotionPlan, after: PromotionPlan) -> Iterator[Effect]:
    old, new = before.stacks, after.stacks
    if left := [stack for stack in old if stack not in new]:
        proof = agreeing(len(left), "[its proof|their proofs]")
        what = f"`replicate promote` no longer deploys {listed(left)}, and no stack waits for {proof} any more"
        yield _effect(Impact.DATA, "stack-leaves-promotion", "environments", what)
    if joined := [stack for stack in new if stack not in old]:
        yield _effect(
            Impact.NONE, "stack-joins-promotion", "environments", f"`replicate promote` deploys {listed(joined)}"
        )


def _earlier(plan: PromotionPlan, stack: str) -> frozenset[str]:
    """Return every stack whose proof a stack waits for, through any number of waves."""
    direct = wave_before(plan, stack).stacks
    return frozenset(direct).union(*(_earlier(plan, name) for name in direct))


def _order(before: PromotionPlan, after: PromotionPlan) -> Iterator[Effect]:
    new = set(after.stacks)
    for stack in before.stacks:
        if stack not in new:
            continue
        # A stack that left the plan is reported as such.
        old_proofs, new_proofs = _earlier(before, stack) & new, _earlier(after, stack)
        if lost := sorted(old_proofs - new_proofs):
            what = f"`{stack}` no longer waits for the proof of {listed(lost)}"
            yield _effect(Impact.DATA, "promotion-order-changes", "environments", what)
        elif gained := sorted(new_proofs & set(before.stacks) - old_proofs):
            what = f"`{stack}` now waits for the proof of {listed(gained)}"
            yield _effect(Impact.NONE, "promotion-order-changes", "environments", what)


def _soak_times(before: PromotionPlan, after: PromotionPlan) -> Iterator[Effect]:
    old, new = _soaks(before), _soaks(after)
    stacks_of_both = old.keys() & new.keys()
    changed = grouped(((old[stack], new[stack]), stack) for stack in stacks_of_both if old[stack] != new[stack])
    last = {stack for wave in after.waves[-1:] for stack in wave.stacks}
    for (earlier, later), stacks in sorted(changed.items()):
        what = (
            f"the next wave follows {_minutes(later)} after the proof of {listed(sorted(stacks))}, instead of "
            f"{_minutes(earlier)}"
        )
        if later < earlier and not set(stacks) <= last:
            what += ": what shows only after that time reaches it, too"
            yield _effect(Impact.DATA, "soak-time-shorter", "environments", what)
        else:
            what += "" if later > earlier else "; there is no next wave"
            yield _effect(Impact.NONE, "soak-time-changes", "environments", what)


def _soaks(plan: PromotionPlan) -> dict[str, float]:
    return {stack: wave.soak_minutes for wave in plan.waves for stack in wave.stacks}


def _minutes(value: float) -> str:
    return number(int(value), "minute") if value == int(value) else f"{value:g} minutes"


def _skippers(before: PromotionPlan, after: PromotionPlan) -> Iterator[Effect]:
    old = {environment.name: environment.may_skip for environment in before.environments}
    for index, environment in enumerate(after.environments):
        where = f"environments.{index}.maySkip"
        earlier = old.get(environment.name, ())
        if added := [name for name in environment.may_skip if name not in earlier]:
            what = f"{listed(added)} may deploy an unproven model to `{environment.name}` with `--skip`"
            yield _effect(Impact.DATA, "may-skip-added", where, what)
        if removed := [name for name in earlier if name not in environment.may_skip]:
            what = f"{listed(removed)} may no longer deploy an unproven model to `{environment.name}`"
            yield _effect(Impact.NONE, "may-skip-removed", where, what)
