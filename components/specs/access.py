"""What a flow may read in Kubernetes, and what its users may do in Kafka: both derived from the model, nothing more."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from components.clusters import Cluster, PlainAuthentication, ScramAuthentication
from components.expansion import all_topics
from components.model import Flow, OffsetSyncsLocation
from components.naming import (
    HEARTBEATS_TOPIC,
    checkpoints_topic_name,
    group_id,
    namespace_name,
    offset_syncs_topic_name,
    remote_topic_name,
    role_name,
    service_account_name,
    storage_topic_name,
)
from components.resolved import ResolvedFlow
from components.specs.clients import secrets_read
from components.specs.config_maps import connector_config_maps
from components.specs.planned import PlannedObject, Role, manifest

_RBAC = "rbac.authorization.k8s.io"
#: Characters that end the literal beginning of a topic or group pattern.
_PATTERN_CHARACTER = re.compile(r"[\\.*+?()\[\]{}|^$]")

#: What a source connector does with a remote topic; checkpoints read it.
_REMOTE = ("CREATE", "WRITE", "ALTER", "ALTER_CONFIGS", "READ")

ResourceType = Literal["topic", "group", "transactional_id"]


@dataclass(frozen=True, order=True)
class Acl:
    """Allowed operations of one principal on one resource of one cluster, from any host.

    `operations` are Kafka's own words in upper case. Source: KIP-11, KIP-290.
    """

    cluster: str
    principal: str
    resource: ResourceType
    pattern: Literal["literal", "prefixed"]
    name: str
    operations: tuple[str, ...]


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


def flow_acls(resolved: ResolvedFlow) -> tuple[Acl, ...]:
    """Least ACLs of a flow's Kafka users, as tried: the worker beside the target, heartbeats produced to the source.

    Nothing for a cluster without a SASL user: the principal of a certificate is known to the cluster only.
    """
    acls = [*_source_acls(resolved), *_target_acls(resolved)]
    return merged_acls(acl for acl in acls if acl.principal)


def _source_acls(resolved: ResolvedFlow) -> list[Acl]:
    flow, user = resolved.flow, _principal(resolved.source)
    syncs_on_source = flow.offset_syncs.location is OffsetSyncsLocation.SOURCE
    acls = [_acl(flow.source, user, "topic", pattern, "READ", "DESCRIBE_CONFIGS") for pattern in all_topics(flow)]
    acls += [_exact(flow.source, user, topic, "READ", "DESCRIBE_CONFIGS") for topic in _replicated_heartbeats(resolved)]
    if flow.connectors.heartbeat.enabled:
        acls.append(_exact(flow.source, user, HEARTBEATS_TOPIC, "CREATE", "WRITE"))
    if flow.offset_syncs.enabled and syncs_on_source:
        acls.append(_exact(flow.source, user, offset_syncs_topic_name(flow), "CREATE", "WRITE", "READ"))
    if flow.connectors.checkpoint.enabled:
        acls += [_acl(flow.source, user, "group", pattern, "DESCRIBE") for pattern in flow.groups]
    return acls


def _target_acls(resolved: ResolvedFlow) -> list[Acl]:
    flow, user, name = resolved.flow, _principal(resolved.target), resolved.workers
    acls = [
        _exact(flow.target, user, storage_topic_name(name, role), "READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
        for role in ("configs", "offsets", "status")
    ]
    acls.append(Acl(flow.target, user, "group", "literal", group_id(name), ("READ",)))
    if str(flow.connect.config.get("exactly.once.source.support", "disabled")).lower() != "disabled":
        acls += _transaction_acls(flow.target, user, group_id(name))
    for pattern in all_topics(flow):
        acls.append(_acl(flow.target, user, "topic", _remote_pattern(flow, pattern), *_REMOTE))
    acls += [
        _exact(flow.target, user, remote_topic_name(flow, topic), *_REMOTE)
        for topic in _replicated_heartbeats(resolved)
    ]
    if flow.offset_syncs.enabled and flow.offset_syncs.location is OffsetSyncsLocation.TARGET:
        acls.append(_exact(flow.target, user, offset_syncs_topic_name(flow), "CREATE", "WRITE", "READ"))
    if flow.connectors.checkpoint.enabled:
        acls.append(_exact(flow.target, user, checkpoints_topic_name(flow), "CREATE", "READ", "WRITE"))
        acls += [_acl(flow.target, user, "group", pattern, "READ") for pattern in flow.groups]
    return acls


def _replicated_heartbeats(resolved: ResolvedFlow) -> list[str]:
    return sorted(resolved.heartbeat_topics) if resolved.flow.replicate_heartbeats else []


def _transaction_acls(cluster: str, user: str, group: str) -> list[Acl]:
    """Transactions of the tasks, and of the leader, which writes the connectors' configuration. Source: KIP-618."""
    return [
        Acl(cluster, user, "transactional_id", "prefixed", f"{group}-", ("DESCRIBE", "WRITE")),
        Acl(cluster, user, "transactional_id", "literal", f"connect-cluster-{group}", ("DESCRIBE", "WRITE")),
    ]


def _remote_pattern(flow: Flow, pattern: str) -> str:
    if remote_topic_name(flow, pattern) == pattern:
        return pattern
    return f"{re.escape(flow.source + flow.separator)}{pattern}"


def _principal(cluster: Cluster) -> str:
    authentication = cluster.authentication
    if isinstance(authentication, PlainAuthentication | ScramAuthentication):
        return f"User:{authentication.username}"
    return ""


def _acl(cluster: str, principal: str, resource: ResourceType, pattern: str, *operations: str) -> Acl:
    """ACL for a name or pattern; Kafka knows no regular expressions, so a pattern is its literal beginning."""
    literal, whole = _literal_beginning(pattern)
    if whole:
        return Acl(cluster, principal, resource, "literal", literal, operations)
    if literal:
        return Acl(cluster, principal, resource, "prefixed", literal, operations)
    return Acl(cluster, principal, resource, "literal", "*", operations)


def _exact(cluster: str, principal: str, topic: str, *operations: str) -> Acl:
    return Acl(cluster, principal, "topic", "literal", topic, operations)


def _literal_beginning(pattern: str) -> tuple[str, bool]:
    """Longest literal beginning of a pattern, and whether that is all of it."""
    literal = ""
    position = 0
    while position < len(pattern):
        escaped = pattern[position] == "\\" and pattern[position + 1 : position + 2] in {".", "-", "_"}
        character = pattern[position + 1] if escaped else pattern[position]
        following = position + (2 if escaped else 1)
        if not escaped and _PATTERN_CHARACTER.match(character):
            return ("" if "|" in pattern else literal), False
        if pattern[following : following + 1] in {"*", "?", "{", "+"}:
            return ("" if "|" in pattern else literal), False
        literal += character
        position = following
    return literal, True


def merged_acls(acls: Iterable[Acl]) -> tuple[Acl, ...]:
    """Each resource once, with all its operations; flows of one direction share some."""
    operations: dict[Acl, set[str]] = {}
    for acl in acls:
        operations.setdefault(replace(acl, operations=()), set()).update(acl.operations)
    return tuple(sorted(replace(acl, operations=tuple(sorted(allowed))) for acl, allowed in operations.items()))
