"""ResourceQuota and LimitRange of a flow's namespace."""

from collections.abc import Mapping

from components.naming import namespace_name
from components.resolved import ResolvedFlow
from components.specs.planned import PlannedObject, Role, manifest
from components.workers import Quantity


def quota_objects(resolved: ResolvedFlow) -> list[PlannedObject]:
    """ResourceQuota and, where containers get defaults, LimitRange; nothing without a quota."""
    quota = resolved.flow.quota
    if quota is None:
        return []
    namespace = namespace_name(resolved.workers, resolved.flow)
    hard = _texts(quota.hard)
    body = manifest("v1", "ResourceQuota", resolved.workers, namespace, resolved.name, spec={"hard": hard})
    objects = [PlannedObject(Role.QUOTA, body)]
    defaults = {"default": _texts(quota.default_limits), "defaultRequest": _texts(quota.default_requests)}
    limit = {"type": "Container"} | {key: values for key, values in defaults.items() if values}
    if len(limit) > 1:
        body = manifest("v1", "LimitRange", resolved.workers, namespace, resolved.name, spec={"limits": [limit]})
        objects.append(PlannedObject(Role.LIMITS, body))
    return objects


def _texts(quantities: Mapping[str, Quantity]) -> dict[str, str]:
    return {key: str(value) for key, value in quantities.items()}
