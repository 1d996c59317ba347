"""The rule inside `pulumi up`: a stack refuses a model that its predecessors have not proven."""

from datetime import UTC, datetime

from components.contract.problems import Problem
from components.flows.digest import model_digest
from infra.promotion.rule.cluster import StackCluster
from infra.promotion.rule.plan import Plan, Predecessor, predecessors, read_plan
from infra.promotion.rule.rules import reasons_against
from infra.promotion.rule.state import known_from_evidence
from infra.settings import StackSettings, read_settings


def unproven(settings: StackSettings) -> tuple[Problem, ...]:
    """Why the stack's model may not be deployed; nothing if no stack comes before it or `allowUnproven` is set.

    Reads the predecessors' clusters, not their Pulumi state, which may be out of reach. Raises CannotRunError if a
    cluster does not answer.
    """
    plan = read_plan(settings.stacks)
    if plan is None or settings.allow_unproven is not None:
        return ()
    return tuple(problem for each in predecessors(plan, settings.stack) for problem in _problems(each, plan, settings))


def _problems(before: Predecessor, plan: Plan, settings: StackSettings) -> tuple[Problem, ...]:
    cluster = StackCluster(read_settings(before.stack, settings.stacks))
    state = known_from_evidence(before.stack, cluster, plan.evidence_namespace).state
    return reasons_against(state, model_digest(settings.topology), before.soak_minutes, datetime.now(UTC))
