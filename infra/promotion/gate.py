"""The rule inside `pulumi up`: a stack with predecessors refuses a model that they have not proven."""

from datetime import UTC, datetime

from components.digest import model_digest
from components.problems import Problem
from infra.promotion.cluster import StackCluster
from infra.promotion.plan import Plan, Predecessor, predecessors, read_plan
from infra.promotion.rules import reasons_against
from infra.promotion.state import seen_by_evidence
from infra.settings import StackSettings, read_settings


def unproven(settings: StackSettings) -> tuple[Problem, ...]:
    """What keeps the stack's model from being deployed; nothing without predecessors, or when it is allowed unproven.

    Asks the predecessors' clusters, not Pulumi's state, which only who deploys them may reach. Raises CannotRunError
    when one of them does not answer.
    """
    plan = read_plan(settings.stacks)
    if plan is None or settings.allow_unproven is not None:
        return ()
    return tuple(problem for each in predecessors(plan, settings.stack) for problem in _against(each, plan, settings))


def _against(before: Predecessor, plan: Plan, settings: StackSettings) -> tuple[Problem, ...]:
    cluster = StackCluster(read_settings(before.stack, settings.stacks))
    state = seen_by_evidence(before.stack, cluster, plan.evidence_namespace).state
    return reasons_against(state, model_digest(settings.topology), before.soak_minutes, datetime.now(UTC))
