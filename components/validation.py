"""Parameters of the validation job for a flow: all it needs to read both clusters, credentials by reference."""

from typing import Any

from components.clusters import (
    Authentication,
    ConfigValue,
    CustomAuthentication,
    KeystoreTrust,
    OAuthAuthentication,
    PlainAuthentication,
    ScramAuthentication,
    SecretKey,
    SecretPattern,
    TlsAuthentication,
    Trust,
)
from components.credentials import secret_key
from components.digest import flow_digest
from components.expansion import all_topics
from components.model import Flow
from components.naming import (
    HEARTBEATS_TOPIC,
    Side,
    checkpoints_topic_name,
    connector_name,
    excluded_groups,
    excluded_topics,
    namespace_name,
    offset_syncs_topic_name,
    remote_topic_name,
    secret_name,
    validation_secret_name,
)
from components.resolved import ResolvedFlow, bootstrap_address
from components.specs.acls import Acl, flow_acls
from components.specs.clients import security_protocol
from components.specs.transforms import marker_header

SCHEMA_VERSION = 1

Parameters = dict[str, Any]


def validation_document(stack: str, flows: tuple[ResolvedFlow, ...]) -> Parameters:
    """The document that `spark/validate.py --parameters` reads, for every flow of a stack."""
    return {"schemaVersion": SCHEMA_VERSION, "stack": stack, "flows": [flow_parameters(flow) for flow in flows]}


def flow_parameters(resolved: ResolvedFlow) -> Parameters:
    """One flow's entry of the document; durations are in seconds."""
    flow = resolved.flow
    return {
        "name": resolved.name,
        "replication": resolved.named.replication,
        "shape": resolved.named.shape.value,
        "namespace": namespace_name(resolved.workers, flow),
        "digest": flow_digest(resolved),
        "policy": flow.policy.value,
        "startFrom": flow.start_from.value,
        "separator": flow.separator,
        "source": _cluster(resolved, "source"),
        "target": _cluster(resolved, "target"),
        "topics": list(all_topics(flow)),
        "topicsExclude": list(excluded_topics(flow)),
        "groups": list(flow.groups),
        "groupsExclude": list(excluded_groups(flow)),
        "heartbeats": _heartbeats(resolved),
        "offsetSyncs": {
            "enabled": flow.offset_syncs.enabled,
            "cluster": flow.offset_syncs.location.value,
            "topic": offset_syncs_topic_name(flow),
            "lagMax": flow.offset_syncs.lag_max,
        },
        "checkpoints": _checkpoints(flow),
        "acls": [_acl(acl, resolved) for acl in flow_acls(resolved)],
        "guard": _guard(flow),
        "transformed": bool(flow.transforms.before or flow.transforms.after),
        "parts": [
            {"name": part, "connector": connector_name(resolved.name, "source", part), "topics": list(source.topics)}
            for part, source in flow.connectors.sources.items()
        ],
        "refreshTopicsSeconds": flow.intervals.refresh_topics_seconds,
        "refreshGroupsSeconds": flow.intervals.refresh_groups_seconds,
    }


def _heartbeats(resolved: ResolvedFlow) -> Parameters:
    return {
        "enabled": resolved.flow.connectors.heartbeat.enabled,
        "intervalSeconds": resolved.flow.intervals.emit_heartbeats_seconds,
        "producedTo": resolved.heartbeats_on,
        "sourceTopic": HEARTBEATS_TOPIC,
        "targetTopic": heartbeats_on_target(resolved),
    }


def _checkpoints(flow: Flow) -> Parameters:
    return {
        "enabled": flow.connectors.checkpoint.enabled,
        "topic": checkpoints_topic_name(flow),
        "intervalSeconds": flow.intervals.emit_checkpoints_seconds,
        "syncGroupOffsets": flow.sync_group_offsets,
        "syncIntervalSeconds": flow.intervals.sync_group_offsets_seconds,
    }


def _acl(acl: Acl, resolved: ResolvedFlow) -> Parameters:
    return {
        "cluster": "source" if acl.cluster == resolved.alias("source") else "target",
        "principal": acl.principal,
        "resource": acl.resource,
        "pattern": acl.pattern,
        "name": acl.name,
        "operations": list(acl.operations),
    }


def heartbeats_on_target(resolved: ResolvedFlow) -> str:
    """Topic of the target where a flow's heartbeats are seen."""
    if resolved.heartbeats_on == "target":
        return HEARTBEATS_TOPIC
    return remote_topic_name(resolved.flow, HEARTBEATS_TOPIC)


def _guard(flow: Flow) -> Parameters | None:
    if not flow.loop_guard:
        return None
    return {"filter": marker_header(flow.target), "mark": marker_header(flow.source)}


def _cluster(resolved: ResolvedFlow, side: Side) -> Parameters:
    """A cluster as the job reaches it: by what `validation` gives, else by what the connectors have."""
    cluster = resolved.cluster(side)
    namespace = namespace_name(resolved.workers, resolved.flow)
    owner = resolved.secrets_owner(side)
    own, connectors = validation_secret_name(owner, side), secret_name(owner, side)
    login = _login(cluster.authentication, namespace, connectors)
    trust = _trust(cluster.tls.trust if cluster.tls else None, namespace, connectors)
    authentication: Authentication | None = cluster.authentication
    if cluster.validation is not None and cluster.validation.authentication is not None:
        authentication = cluster.validation.authentication
        login = _login(authentication, namespace, own)
    if cluster.validation is not None and cluster.validation.trust is not None:
        trust = _trust(cluster.validation.trust, namespace, own)
    return {
        "alias": resolved.alias(side),
        "bootstrapServers": bootstrap_address(cluster),
        "securityProtocol": security_protocol(cluster, authentication),
        "trust": trust,
        "authentication": login,
    }


def _trust(trust: Trust | None, namespace: str, own: str) -> Parameters | None:
    match trust:
        case KeystoreTrust():
            return {
                "format": trust.format.value,
                "certificates": _reference(namespace, SecretKey(secret=trust.secret, key=trust.key)),
                "password": _reference(namespace, secret_key(trust.password, own, "truststore.password")),
            }
        case SecretKey() | ConfigValue():
            certificates = _reference(namespace, secret_key(trust, own, "ca.crt"))
            return {"format": "PEM", "certificates": certificates, "password": None}
        case SecretPattern() | None:
            # The job reads one key; `checks.clusters` warns of a pattern.
            return None


def _login(authentication: Authentication | None, namespace: str, own: str) -> Parameters | None:
    match authentication:
        case PlainAuthentication() | ScramAuthentication():
            return {
                "type": authentication.type,
                "username": authentication.username,
                "password": _reference(namespace, secret_key(authentication.password, own, "password")),
            }
        case TlsAuthentication():
            keys = {"certificate": authentication.certificate, "key": authentication.key}
            return {"type": "tls"} | {
                name: _reference(namespace, SecretKey(secret=authentication.secret, key=key))
                for name, key in keys.items()
            }
        case OAuthAuthentication() | CustomAuthentication():
            # The job refuses it by name; `checks.clusters` warns before.
            return {"type": authentication.type}
        case None:
            return None


def _reference(namespace: str, reference: SecretKey) -> Parameters:
    return {"secret": {"namespace": namespace, "name": reference.secret, "key": reference.key}}
