"""What the workers of a flow may read in Kubernetes: exactly what its connectors are given."""

from collections.abc import Iterable, Sequence

from components.naming import Side, namespace_name, role_name, service_account_name
from components.resolved import ResolvedFlow
from components.specs.clients import secrets_in_properties, secrets_read
from components.specs.config_maps import connector_config_maps
from components.specs.planned import PlannedObject, Role, manifest

_RBAC = "rbac.authorization.k8s.io"
_SIDES: tuple[Side, ...] = ("source", "target")


def access_objects(*flows: ResolvedFlow) -> list[PlannedObject]:
    """Role with `get` on exactly what the connectors of flows with the same workers read, bound to their account."""
    config_maps = [config_map.name for flow in flows for config_map in connector_config_maps(flow)]
    secrets = {name for flow in flows for side in _SIDES for name in secrets_read(flow, side)}
    secrets |= {name for flow in flows for name in secrets_in_properties(flow)}
    return granted(flows[0], service_account_name(flows[0].workers), config_maps, secrets)


def granted(
    resolved: ResolvedFlow, account: str, config_maps: Sequence[str], secrets: Iterable[str]
) -> list[PlannedObject]:
    """Role with `get` on these ConfigMaps and Secrets of a flow's namespace, bound to a service account there."""
    namespace, name = namespace_name(resolved.workers, resolved.flow), role_name(resolved.workers)
    names = {"configmaps": list(config_maps), "secrets": sorted(set(secrets))}
    rules = [_get_rule(resource, read) for resource, read in names.items() if read]
    role = manifest(f"{_RBAC}/v1", "Role", name, namespace, resolved.name, rules=rules)
    binding = manifest(
        f"{_RBAC}/v1",
        "RoleBinding",
        name,
        namespace,
        resolved.name,
        roleRef={"apiGroup": _RBAC, "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    )
    return [
        PlannedObject(Role.ACCESS_ROLE, role),
        PlannedObject(Role.ACCESS_BINDING, binding, after=(Role.ACCESS_ROLE,)),
    ]


def _get_rule(resource: str, names: list[str]) -> dict[str, list[str]]:
    return {"apiGroups": [""], "resources": [resource], "resourceNames": names, "verbs": ["get"]}
