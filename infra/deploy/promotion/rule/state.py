"""The state of a stack. A promotion reads it from Pulumi's outputs, or from the stack's files if GitOps has applied
what they render; `pulumi up` reads it from recorded evidence.

Inside `pulumi up`, a stack refuses a model that its predecessors have not proven.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from components.contract.problems import Problem
from components.flows.expansion import expand
from components.flows.resolved import ResolvedFlow, flow_digest, model_digest
from components.topology.model import Topology
from infra.deploy.promotion.rule.evidence import Evidence, FlowEvidence
from infra.deploy.promotion.rule.plan import Plan, Predecessor, predecessors, read_plan
from infra.deploy.promotion.rule.rules import PASS, FlowState, StackState, reasons_against
from infra.stack.settings import StackSettings, read_settings

if TYPE_CHECKING:
    from infra.deploy.promotion.rule.cluster import StackCluster


@dataclass(frozen=True)
class KnownStack:
    """What is known about a stack: its state for the rule, and the recorded evidence."""

    state: StackState
    evidence: Evidence | None


def known_from_outputs(
    settings: StackSettings, outputs: Mapping[str, Any], cluster: "StackCluster", evidence_namespace: str
) -> KnownStack:
    """What Pulumi's outputs and the cluster say about a stack; a stack without outputs is not deployed."""
    deployed = outputs.get("replications", {})
    flows = tuple(FlowState(name, flow["namespace"], flow["digest"]) for name, flow in deployed.items())
    evidence = cluster.evidence(evidence_namespace)
    state = StackState(settings.stack, outputs.get("modelDigest"), flows)
    return _known(state, evidence, cluster, accepted_findings(settings.topology))


def known_as_declared(
    settings: StackSettings, flows: Iterable[ResolvedFlow], cluster: "StackCluster", evidence_namespace: str
) -> KnownStack:
    """What the cluster says about a stack that is known to match the render of its files."""
    states = tuple(FlowState(flow.name, flow.namespace, flow_digest(flow)) for flow in flows)
    state = StackState(settings.stack, model_digest(settings.topology), states)
    return _known(state, cluster.evidence(evidence_namespace), cluster, accepted_findings(settings.topology))


def known_from_evidence(settings: StackSettings, cluster: "StackCluster", evidence_namespace: str) -> KnownStack:
    """What the cluster alone says about a stack, without Pulumi's state."""
    stack, evidence = settings.stack, cluster.evidence(evidence_namespace)
    if evidence is None:
        return KnownStack(StackState(stack, None, recorded=True), None)
    flows = tuple(FlowState(name, flow.namespace, flow.proof.digest) for name, flow in evidence.flows.items())
    state = StackState(stack, evidence.model_digest, flows, recorded=True)
    return _known(state, evidence, cluster, accepted_findings(settings.topology))


def accepted_findings(topology: Topology) -> dict[str, frozenset[str]]:
    """The codes of the findings that each flow of a topology accepts, by the flow's name."""
    return {flow.name: frozenset(each.finding for each in flow.settings.validation.accept) for flow in expand(topology)}


def _known(
    state: StackState, evidence: Evidence | None, cluster: "StackCluster", accepted: Mapping[str, frozenset[str]]
) -> KnownStack:
    """Complete the state with what the cluster says about its flows, and with what each accepts."""
    proofs = {flow.name: cluster.validation(flow.name, flow.namespace) for flow in state.flows}
    changes = {namespace: cluster.last_change(namespace) for namespace in {flow.namespace for flow in state.flows}}
    flows = [
        replace(flow, proof=proofs[flow.name], accepts=accepted.get(flow.name, frozenset()))
        for flow in sorted(state.flows, key=lambda flow: flow.name)
    ]
    flows = [
        replace(flow, changed_at=change.at, changed_by=change.by) if (change := changes[flow.namespace]) else flow
        for flow in flows
    ]
    same = evidence is not None and evidence.model_digest == state.model_digest and evidence.verdict == PASS
    since = evidence.proven_since if evidence is not None and same else None
    return KnownStack(replace(state, flows=tuple(flows), recorded_since=since), evidence)


def evidence_of(state: StackState, who: str, deployed_at: datetime, allow_unproven: str | None) -> Evidence:
    """The evidence to record for a stack whose flows were all validated; a soak time that has begun continues."""
    flows = {
        flow.name: FlowEvidence(flow.namespace, replace(flow.proof, passing_since=None))
        for flow in state.flows
        if flow.proof is not None
    }
    passed = all(flow.proof.verdict == PASS for flow in flows.values())
    return Evidence(
        stack=state.stack,
        model_digest=str(state.model_digest),
        deployed_at=deployed_at,
        validated_at=max(flow.proof.at for flow in flows.values()),
        who=who,
        flows=flows,
        proven_since=state.proven_since if passed else None,
        allow_unproven=allow_unproven,
    )


def unproven(settings: StackSettings) -> tuple[Problem, ...]:
    """Why the stack's model may not be deployed; nothing if no stack comes before it or `allowUnproven` is set.

    Reads the predecessors' clusters, not their Pulumi state, to which it may have no access. Raises CannotRunError if a
    cluster does not answer.
    """
    plan = read_plan(settings.stacks)
    if plan is None or settings.allow_unproven is not None:
        return ()
    return tuple(problem for each in predecessors(plan, settings.stack) for problem in _problems(each, plan, settings))


def _problems(before: Predecessor, plan: Plan, settings: StackSettings) -> tuple[Problem, ...]:
    # The Kubernetes client has 240 modules, and most deployments have no predecessor.
    from infra.deploy.promotion.rule.cluster import StackCluster

    theirs = read_settings(before.stack, settings.stacks)
    state = known_from_evidence(theirs, StackCluster(theirs), plan.evidence_namespace).state
    return reasons_against(state, model_digest(settings.topology), before.soak_minutes, datetime.now(UTC))
