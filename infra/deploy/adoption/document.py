"""The adoption plan as JSON, for machines; `version` grows when a key is removed or changes its meaning. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from components.changes.effect import gravest
from infra.deploy.adoption.agreements import Refusal
from infra.deploy.adoption.plan import Plan, PlannedTakeOver

VERSION = 1


def document_of(plan: Plan, changes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """The plan with its refusals; `changes` counts the objects by what the deployment did, None before it."""
    return {
        "version": VERSION,
        "stack": plan.stack,
        "done": plan.is_done or changes is not None,
        "carriedOut": changes is not None,
        "changes": dict(changes or {}),
        "severity": gravest(each.severity for each in plan.effects).value,
        "moves": [
            {
                "mirror": f"{each.source}->{each.target}",
                "resource": str(each.resource),
                "flows": [flow.name for flow in each.flows],
                "waiting": [place.name for place in each.waiting],
            }
            for each in plan.moves.found
        ],
        "objects": [_object(each) for each in plan.objects],
        "effects": [asdict(each) for each in plan.effects],
        "refusals": [_refusal(each) for each in plan.refusals],
        "unusedAgreements": list(plan.unused),
        "searchedNamespaces": list(plan.searched),
    }


def _object(planned: PlannedTakeOver) -> dict[str, Any]:
    target = planned.object
    return {
        "apiVersion": target.api_version,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
        "fate": planned.fate.value,
        "known": planned.known,
        "fields": [asdict(each) for each in planned.fields],
        "owners": [{**asdict(owner), "parts": list(parts)} for owner, parts in planned.owners.items()],
    }


def _refusal(refusal: Refusal) -> dict[str, Any]:
    problem = refusal.problem
    return {
        "code": problem.code,
        "where": problem.where,
        "what": problem.what,
        "why": problem.why,
        "remedy": problem.remedy,
        "agreement": refusal.agreement,
    }
