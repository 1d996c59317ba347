"""ResourceQuota and LimitRange of a flow's namespace."""

from components.naming import namespace_name
from components.resolved import ResolvedFlow
from components.specs.planned import PlannedObject, Role, manifest


def quota_objects(resolved: ResolvedFlow) -> list[PlannedObject]:
    """ResourceQuota and, where containers get defaults, LimitRange; nothing without a quota."""
    quota = resolved.flow.quota
    if quota is None:
        return []
    namespace = namespace_name(resolved.workers, resolved.flow)
    hard = {key: str(value) for key, value in quota.hard.items()}
    body = manifest("v1", "ResourceQuota", resolved.workers, namespace, resolved.name, spec={"hard": hard})
    objects = [PlannedObject(Role.QUOTA, body)]
    defaults = {"default": dict(quota.default_limits), "defaultRequest": dict(quota.default_requests)}
    limit = {"type": "Container"} | {key: values for key, values in defaults.items() if values}
    if len(limit) > 1:
        body = manifest("v1", "LimitRange", resolved.workers, namespace, resolved.name, spec={"limits": [limit]})
        objects.append(PlannedObject(Role.LIMITS, body))
    return objects
