"""The state of a stack for the rule: by Pulumi's outputs in a promotion, by recorded evidence inside `pulumi up`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from infra.promotion.cluster import Change, StackCluster, Validation
from infra.promotion.evidence import Evidence, FlowEvidence
from infra.promotion.rules import PASS, FlowState, StackState


@dataclass(frozen=True)
class DeployedFlow:
    """A flow as a stack tells of it."""

    namespace: str
    digest: str


@dataclass(frozen=True)
class Seen:
    """A stack's state, with the validations that it was judged by and the evidence that is recorded."""

    state: StackState
    validations: Mapping[str, Validation]
    flows: Mapping[str, DeployedFlow]
    evidence: Evidence | None


def deployed_flows(outputs: Mapping[str, Any]) -> dict[str, DeployedFlow]:
    """The flows that a stack's outputs tell of, by name."""
    told = outputs.get("replications", {})
    return {name: DeployedFlow(flow["namespace"], flow["digest"]) for name, flow in told.items()}


def seen_by_outputs(stack: str, outputs: Mapping[str, Any], cluster: StackCluster, evidence_namespace: str) -> Seen:
    """The state of a stack with these outputs; none of them stands for a stack that is not deployed."""
    digest = outputs.get("modelDigest")
    evidence = cluster.evidence(evidence_namespace)
    return _seen(stack, digest, deployed_flows(outputs), evidence, cluster)


def seen_by_evidence(stack: str, cluster: StackCluster, evidence_namespace: str) -> Seen:
    """The state of a stack as far as its cluster tells it, without Pulumi's state."""
    evidence = cluster.evidence(evidence_namespace)
    if evidence is None:
        return Seen(StackState(stack, None, recorded=True), {}, {}, None)
    flows = {name: DeployedFlow(flow.namespace, flow.digest) for name, flow in evidence.flows.items()}
    return _seen(stack, evidence.model_digest, flows, evidence, cluster, recorded=True)


def _seen(
    stack: str,
    digest: str | None,
    flows: Mapping[str, DeployedFlow],
    evidence: Evidence | None,
    cluster: StackCluster,
    *,
    recorded: bool = False,
) -> Seen:
    found = {name: cluster.validation(name, flow.namespace) for name, flow in flows.items()}
    validations = {name: validation for name, validation in found.items() if validation is not None}
    changes = {namespace: cluster.last_change(namespace) for namespace in {flow.namespace for flow in flows.values()}}
    states = tuple(
        _flow_state(name, flow.digest, changes[flow.namespace], validations.get(name))
        for name, flow in sorted(flows.items())
    )
    same = evidence is not None and evidence.model_digest == digest and evidence.verdict == PASS
    since = evidence.proven_since if evidence is not None and same else None
    return Seen(StackState(stack, digest, states, since, recorded), validations, flows, evidence)


def _flow_state(name: str, digest: str, change: Change | None, validation: Validation | None) -> FlowState:
    return FlowState(
        name,
        digest,
        change.at if change is not None else None,
        validation.proof if validation is not None else None,
        change.by if change is not None else "",
    )


def evidence_of(seen: Seen, who: str, deployed_at: datetime, allow_unproven: str | None) -> Evidence:
    """The evidence to record of a stack whose every flow was validated; soaking goes on where it began."""
    flows = {
        name: FlowEvidence(
            flow.namespace,
            seen.validations[name].proof.digest,
            seen.validations[name].proof.verdict,
            seen.validations[name].proof.at,
            seen.validations[name].checks,
            seen.validations[name].summaries,
        )
        for name, flow in seen.flows.items()
    }
    validated_at = max(flow.validated_at for flow in flows.values())
    passed = all(flow.verdict == PASS for flow in flows.values())
    return Evidence(
        stack=seen.state.stack,
        model_digest=str(seen.state.model_digest),
        deployed_at=deployed_at,
        validated_at=validated_at,
        who=who,
        flows=flows,
        proven_since=seen.state.proven_since if passed else None,
        allow_unproven=allow_unproven,
    )
