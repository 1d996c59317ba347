"""What the workers of a flow may read in Kubernetes: exactly what its connectors are given."""

from components.naming import namespace_name, role_name, service_account_name
from components.resolved import ResolvedFlow
from components.specs.clients import secrets_read
from components.specs.config_maps import connector_config_maps
from components.specs.planned import PlannedObject, Role, manifest

_RBAC = "rbac.authorization.k8s.io"


def access_objects(resolved: ResolvedFlow) -> list[PlannedObject]:
    """Role with `get` on exactly what the connectors read, bound to the workers' service account."""
    namespace = namespace_name(resolved.workers, resolved.flow)
    config_maps = [config_map.name for config_map in connector_config_maps(resolved)]
    secrets = sorted(secrets_read(resolved, "source") | secrets_read(resolved, "target"))
    rules = [_get_rule("configmaps", config_maps)]
    if secrets:
        rules.append(_get_rule("secrets", secrets))
    role = manifest(f"{_RBAC}/v1", "Role", role_name(resolved.workers), namespace, resolved.name, rules=rules)
    binding = manifest(
        f"{_RBAC}/v1",
        "RoleBinding",
        role_name(resolved.workers),
        namespace,
        resolved.name,
        roleRef={"apiGroup": _RBAC, "kind": "Role", "name": role_name(resolved.workers)},
        subjects=[{"kind": "ServiceAccount", "name": service_account_name(resolved.workers), "namespace": namespace}],
    )
    return [
        PlannedObject(Role.ACCESS_ROLE, role),
        PlannedObject(Role.ACCESS_BINDING, binding, after=(Role.ACCESS_ROLE,)),
    ]


def _get_rule(resource: str, names: list[str]) -> dict[str, list[str]]:
    return {"apiGroups": [""], "resources": [resource], "resourceNames": names, "verbs": ["get"]}
