"""The namespace of a flow with its limits, and the Role by which workers read exactly what connectors need."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_replication.components.flows.naming import role_name, service_account_name
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.render.connections import secrets_read
from kafka_replication.components.render.kafka_connectors import connector_config_maps
from kafka_replication.components.render.planned_objects import (
    ObjectRole,
    PlannedObject,
    access_manifests,
    flow_object,
    manifest,
    rule,
)
from kafka_replication.components.render.secrets import names_here, user_references
from kafka_replication.components.topology.workers import Quantity


def namespace_objects(flow: ResolvedFlow) -> list[PlannedObject]:
    """Return the Namespace if the stack creates it, and its ResourceQuota and LimitRange if they are declared."""
    objects = []
    given = flow.settings.namespace
    if given.create:
        body = manifest("v1", "Namespace", flow.namespace, None, flow.name)
        objects.append(PlannedObject(ObjectRole.NAMESPACE, body).with_own(given.labels, given.annotations))
    quota = flow.settings.quota
    if quota is None:
        return objects
    hard = {"hard": _texts(quota.hard)}
    objects.append(flow_object(flow, ObjectRole.QUOTA, "v1", "ResourceQuota", flow.workers, spec=hard))
    defaults = {"default": _texts(quota.default_limits), "defaultRequest": _texts(quota.default_requests)}
    limit = {"type": "Container"} | {key: values for key, values in defaults.items() if values}
    if len(limit) > 1:
        limits = {"limits": [limit]}
        objects.append(flow_object(flow, ObjectRole.LIMITS, "v1", "LimitRange", flow.workers, spec=limits))
    return objects


def _texts(quantities: Mapping[str, Quantity]) -> dict[str, str]:
    return {key: str(value) for key, value in quantities.items()}


def access_objects(*flows: ResolvedFlow) -> list[PlannedObject]:
    """Return the Role and RoleBinding for everything that the connectors of workers shared by these flows read."""
    named = {reference for flow in flows for _, reference in user_references(flow.settings, flow.namespace)}
    config_maps = [config_map.name for flow in flows for config_map in connector_config_maps(flow)]
    config_maps += sorted(names_here(named, "ConfigMap", flows[0].namespace) - set(config_maps))
    sides: tuple[Side, ...] = ("source",) if flows[0].workers_on == "source" else SIDES
    secrets = {name for flow in flows for side in sides for name in secrets_read(flow, side)}
    secrets |= names_here(named, "Secret", flows[0].namespace)
    return read_access_objects(flows[0], service_account_name(flows[0].connect_name), config_maps, secrets)


def read_access_objects(
    flow: ResolvedFlow, account: str, config_maps: Sequence[str], secrets: Iterable[str]
) -> list[PlannedObject]:
    """Return a Role with `get` on these objects of a flow's namespace, bound to a service account there."""
    names = {"configmaps": config_maps, "secrets": sorted(set(secrets))}
    rules = [rule("", resource, read, "get") for resource, read in names.items() if read]
    role, binding = access_manifests(role_name(flow.workers), flow.namespace, flow.name, rules, account)
    return [
        PlannedObject(ObjectRole.ACCESS_ROLE, role),
        PlannedObject(ObjectRole.ACCESS_BINDING, binding, after=(ObjectRole.ACCESS_ROLE,)),
    ]
