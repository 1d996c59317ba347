"""The namespace of a flow with its ResourceQuota and LimitRange."""

from collections.abc import Mapping

from components.flows.resolved import ResolvedFlow
from components.render.planned_objects import ObjectRole, PlannedObject, manifest
from components.topology.workers import Quantity


def namespace_objects(flow: ResolvedFlow) -> list[PlannedObject]:
    """Return the Namespace if the stack creates it, and its ResourceQuota and LimitRange if they are declared."""
    namespace = flow.namespace
    objects = []
    if flow.settings.namespace.create:
        objects.append(PlannedObject(ObjectRole.NAMESPACE, manifest("v1", "Namespace", namespace, None, flow.name)))
    quota = flow.settings.quota
    if quota is None:
        return objects
    hard = {"hard": _texts(quota.hard)}
    body = manifest("v1", "ResourceQuota", flow.workers, namespace, flow.name, spec=hard)
    objects.append(PlannedObject(ObjectRole.QUOTA, body))
    defaults = {"default": _texts(quota.default_limits), "defaultRequest": _texts(quota.default_requests)}
    limit = {"type": "Container"} | {key: values for key, values in defaults.items() if values}
    if len(limit) > 1:
        body = manifest("v1", "LimitRange", flow.workers, namespace, flow.name, spec={"limits": [limit]})
        objects.append(PlannedObject(ObjectRole.LIMITS, body))
    return objects


def _texts(quantities: Mapping[str, Quantity]) -> dict[str, str]:
    return {key: str(value) for key, value in quantities.items()}
