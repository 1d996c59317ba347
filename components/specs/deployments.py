"""Flows -> deployments: what one set of Connect workers runs, and every object of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from components.expansion import Shape
from components.resolved import ResolvedFlow
from components.specs.flow import flow_objects
from components.specs.mirror_maker2 import mirror_maker2_objects
from components.specs.planned import PlannedObject


@dataclass(frozen=True)
class Deployment:
    """One flow with its Connect cluster, or the mirrors of one KafkaMirrorMaker2; `name` is that of the workers."""

    name: str
    flows: tuple[ResolvedFlow, ...]


def deployments(flows: Iterable[ResolvedFlow]) -> tuple[Deployment, ...]:
    """The deployments of flows, in their order."""
    found: dict[str, list[ResolvedFlow]] = {}
    for flow in flows:
        found.setdefault(flow.workers, []).append(flow)
    return tuple(Deployment(name, tuple(members)) for name, members in found.items())


def deployment_objects(deployment: Deployment) -> tuple[PlannedObject, ...]:
    """Every object of a deployment, in an order in which each follows what it needs."""
    if deployment.flows[0].named.shape is Shape.MIRROR_MAKER2:
        return mirror_maker2_objects(deployment.flows)
    return tuple(planned for flow in deployment.flows for planned in flow_objects(flow))
