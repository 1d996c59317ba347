"""The promotion plan, `promotion.yaml` beside the stack files: its model, its mistakes, the order of stacks, and what a
change of the plan does to the proof that a stack waits for.

Whatever lets a model reach a stack with less proof than before has the severity `data`: a model that skips records
would reach it, too.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from pydantic import Field

from kafka_replication.components.changes.effect import Effect, Impact, listed
from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.problems import (
    CannotRunError,
    Problem,
    ReplicationError,
    raise_errors,
    warning,
)
from kafka_replication.components.contract.wording import agreeing, number
from kafka_replication.components.topology.clusters import Model, is_label, is_subdomain
from kafka_replication.components.topology.model import schema_text
from kafka_replication.components.topology.parsing import parse_model
from kafka_replication.components.topology.partial_topology import without_mistakes
from kafka_replication.infra.stack.settings import stack_names, topologies_of_clusters
from kafka_replication.infra.stack.yaml_files import load_yaml, placed, shown

FILE_NAME = "promotion.yaml"
_PREFIX = "promotion-"
_YEAR_MINUTES = 525_600


class Wave(Model):
    """Stacks that are promoted together; the next wave waits until each is proven and its soak time has passed."""

    stacks: tuple[str, ...] = Field(description="Names of the stacks of this wave.")
    soak_minutes: float = Field(
        default=0,
        ge=0,
        le=_YEAR_MINUTES,
        allow_inf_nan=False,
        description="How many minutes a stack of this wave must have been proven before the next wave may follow.",
    )


class Environment(Model):
    """Waves of stacks in order; the first wave follows the last wave of the previous environment."""

    name: str = Field(min_length=1, description="Name of the environment, and of its environment on GitHub.")
    waves: tuple[Wave, ...] = Field(default=(), description="Waves, in order.")
    may_skip: tuple[str, ...] = Field(
        default=(),
        description=(
            "Who may deploy an unproven stack of this environment with `replicate promote --skip REASON`. The name "
            "comes from `--as`, REPLICATE_USER or the login; it is not verified."
        ),
    )

    @property
    def stacks(self) -> tuple[str, ...]:
        """Return the stacks of all waves, in the order of promotion."""
        return tuple(stack for wave in self.waves for stack in wave.stacks)


class PromotionPlan(Model):
    """The order in which stacks are promoted, and where the evidence is recorded."""

    evidence_namespace: str = Field(
        default="replication-evidence",
        description="Namespace of the ConfigMap with the evidence, in each stack's own Kubernetes cluster.",
    )
    environments: tuple[Environment, ...] = Field(description="Environments, in order.")

    @property
    def waves(self) -> tuple[Wave, ...]:
        """Return the waves of all environments, in order."""
        return tuple(wave for environment in self.environments for wave in environment.waves)

    @property
    def stacks(self) -> tuple[str, ...]:
        """Return every stack, in the order of promotion."""
        return tuple(stack for environment in self.environments for stack in environment.stacks)


def declared_plan(stacks: Path) -> PromotionPlan | None:
    """Return the plan of a folder, None if there is none. Only its form is checked. Raises ReplicationError for a
    mistake in its form, and CannotRunError or OSError if its file is unreadable.
    """
    file = stacks / FILE_NAME
    try:
        return parse_model(PromotionPlan, load_yaml(file)) if os.path.lexists(file) else None
    except ReplicationError as error:
        raise ReplicationError(placed(error.problems, file)) from None


def read_plan(stacks: Path) -> PromotionPlan | None:
    """Return the checked plan; None if there is none. Raises ReplicationError for mistakes in the plan, and
    CannotRunError or OSError if its file is unreadable.
    """
    file = stacks / FILE_NAME
    try:
        plan = declared_plan(stacks)
    except ReplicationError as error:
        left = without_mistakes(PromotionPlan, load_yaml(file))
        further = check_plan(PromotionPlan.model_validate(left.given), stack_names(stacks)) if left else ()
        certain = [problem for problem in further if left and left.is_certain(problem.where)]
        raise ReplicationError(
            sorted({*error.problems, *placed([*(left.further if left else ()), *certain], file)})
        ) from None
    raise_errors(placed(check_plan(plan, stack_names(stacks)), file) if plan is not None else ())
    return plan


def plan_place(stacks: Path) -> str:
    """Return the path of a folder's plan, for messages."""
    return shown(stacks / FILE_NAME)


def plan_problems(stacks: Path) -> dict[str, list[Problem]]:
    """Return the mistakes in a folder's plan by the name of its file; empty without mistakes."""
    try:
        plan = read_plan(stacks)
    except ReplicationError as error:
        return {FILE_NAME: list(error.problems)}
    left_out = check_left_out(plan, topologies_of_clusters(stacks)) if plan is not None else ()
    problems = list(placed(left_out, stacks / FILE_NAME))
    return {FILE_NAME: problems} if problems else {}


def required_plan(stacks: Path) -> PromotionPlan:
    """Return the plan of a folder of stacks; raises CannotRunError if the folder has none."""
    plan = read_plan(stacks)
    if plan is None:
        what = "there is no promotion plan"
        why = "The plan sets the order in which stacks are promoted."
        remedy = f"write {FILE_NAME} there: `environments: [{{name: prod, waves: [{{stacks: [STACK]}}]}}]`."
        raise CannotRunError("no-promotion-plan", what, plan_place(stacks), why, remedy)
    return plan


def check_plan(plan: PromotionPlan, known: Collection[str]) -> Iterator[Problem]:
    """Yield every mistake in a plan; `known` are the stacks that have a file."""
    if not is_label(plan.evidence_namespace):
        yield _not_kubernetes("evidenceNamespace", plan.evidence_namespace, "a namespace")
    if not plan.environments:
        what = "there is no environment"
        why = "No stack would be promoted."
        remedy = "add an environment with its waves, or delete the file."
        yield Problem("environments", "no-environments", what, why, remedy)
    yield from _environment_problems(plan)
    first: dict[str, str] = {}
    for where, stack in _places(plan):
        if stack in first:
            what = f"`{stack}` is already named at {first[stack]}"
            why = "A stack cannot wait for its own proof."
            remedy = f"remove `{stack}` from one of the two places."
            yield Problem(where, "stack-twice", what, why, remedy)
        elif stack not in known:
            what = f"`{stack}` has no stack file"
            why = f"The stacks are: {', '.join(sorted(known)) or 'none'}."
            remedy = f"name one of these, or write Pulumi.{stack}.yaml."
            yield Problem(where, "unknown-stack", what, why, remedy)
        elif not is_subdomain(stack) or not is_subdomain(evidence_name(stack)):
            yield _not_kubernetes(where, stack, "a ConfigMap")
        first.setdefault(stack, where)


def check_left_out(plan: PromotionPlan, topologies: Mapping[str, str]) -> Iterator[Problem]:
    """Every stack that is in no wave although another stack of its topology is. `topologies` has each stack's."""
    promoted = {topologies[stack]: stack for stack in reversed(plan.stacks) if stack in topologies}
    for stack, topology in sorted(topologies.items()):
        if stack not in plan.stacks and topology in promoted:
            yield warning(
                "environments",
                "stack-in-no-wave",
                f"`{stack}` is in no wave",
                f"It reads the topology `{topology}`, as does `{promoted[topology]}`, which is in a wave. But "
                f"`replicate promote` never deploys `{stack}`, and no other stack waits for its proof.",
                "add it to the `stacks` of a wave, or ignore this if you leave it out on purpose.",
            )


def _environment_problems(plan: PromotionPlan) -> Iterator[Problem]:
    names: set[str] = set()
    for index, environment in enumerate(plan.environments):
        where = f"environments.{index}"
        if environment.name in names:
            what = f"another environment is already called `{environment.name}`"
            why = "`--environment` and messages could not tell the two apart."
            remedy = "give it another name, or add its waves to the first."
            yield Problem(f"{where}.name", "environment-twice", what, why, remedy)
        names.add(environment.name)
        if not environment.waves:
            what = f"`{environment.name}` has no wave"
            why = "Nothing would be deployed there, and the next environment would follow the previous one."
            remedy = "add `waves: [{stacks: [STACK]}]`, or remove the environment."
            yield Problem(f"{where}.waves", "environment-without-waves", what, why, remedy)
        for order, wave in enumerate(environment.waves):
            if not wave.stacks:
                what = "the wave has no stack"
                why = "The next wave would be deployed without waiting for any proof."
                remedy = "add stacks to it, or remove the wave."
                yield Problem(f"{where}.waves.{order}.stacks", "empty-wave", what, why, remedy)


def _not_kubernetes(where: str, name: str, what: str) -> Problem:
    return Problem(
        where,
        "name-not-kubernetes",
        f"`{name}` cannot be part of the name of {what}",
        "The evidence is recorded in Kubernetes, where names are lower-case letters, digits and hyphens (RFC 1123).",
        "use another name.",
    )


def _places(plan: PromotionPlan) -> Iterator[tuple[str, str]]:
    for index, environment in enumerate(plan.environments):
        for order, wave in enumerate(environment.waves):
            for position, stack in enumerate(wave.stacks):
                yield f"environments.{index}.waves.{order}.stacks.{position}", stack


def evidence_name(stack: str) -> str:
    """Name of the ConfigMap with a stack's evidence."""
    return f"{_PREFIX}{stack}"


def stacks_in_environment(plan: PromotionPlan, name: str | None, stacks: Path) -> tuple[str, ...]:
    """Return the stacks of an environment (None: of all) in order; raises CannotRunError for an unknown one."""
    if name is None:
        return plan.stacks
    for environment in plan.environments:
        if environment.name == name:
            return environment.stacks
    what = f"the promotion plan has no environment `{name}`"
    why = f"The environments are: {', '.join(environment.name for environment in plan.environments)}."
    remedy = "name one of these."
    raise CannotRunError("unknown-environment", what, plan_place(stacks), why, remedy)


def wave_before(plan: PromotionPlan, stack: str) -> Wave:
    """The wave before that of `stack`; an empty one before the first wave, or if the plan lacks the stack."""
    waves = pairwise(plan.waves)
    return next((before for before, wave in waves if stack in wave.stacks), Wave(stacks=()))


def environment_of(plan: PromotionPlan, stack: str) -> Environment | None:
    """The environment that a stack belongs to."""
    return next((environment for environment in plan.environments if stack in environment.stacks), None)


def plan_schema() -> str:
    """Return the JSON Schema of promotion.yaml, as text."""
    return schema_text(PromotionPlan)


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
