"""Which workers send a flow's heartbeats: those of the flow, or separate workers.

A heartbeat connector writes to the source, but through the producer that its workers have configured for their own
cluster. A connector can override what they have set there, but not unset it. If settings for the target remain that
Kafka refuses together with the source's, heartbeats get their own workers, which belong to the source.
"""

from dataclasses import replace
from enum import StrEnum

from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.naming import heartbeat_workers_name
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.connections import login_properties, security_protocol, vault
from kafka_replication.components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from kafka_replication.components.topology.clusters import KeystoreTrust, TlsAuthentication
from kafka_replication.components.topology.model import ExactlyOnce
from kafka_replication.components.topology.workers import NamespaceChoice, StorageTopics


class ProducerConflict(StrEnum):
    """Settings of the target's workers that a producer to the source cannot have."""

    TRUST = "trust"
    CERTIFICATE = "certificate"
    LOGIN = "login"


def heartbeat_workers(flow: ResolvedFlow) -> ResolvedFlow:
    """Return the flow as run by what sends its heartbeats: its own workers, or separate ones if these cannot."""
    if producer_conflicts(flow):
        return _apart(flow, heartbeat_workers_name(flow.name), "source")
    if flow.expanded.shape is FlowShape.MIRROR_MAKER2 and not flow.api.has_heartbeat_mirrors:
        return _apart(flow, heartbeat_workers_name(flow.workers), "target")
    return flow


def producer_conflicts(flow: ResolvedFlow) -> tuple[ProducerConflict, ...]:
    """Return why target workers cannot send heartbeats, if so. Source: DefaultSslEngineFactory, SaslChannelBuilder."""
    if not flow.settings.connectors.heartbeat.enabled or flow.heartbeats_on == "target":
        return ()
    conflicts_of = {
        ProducerConflict.TRUST: _trust_conflicts(flow),
        ProducerConflict.CERTIFICATE: _certificates_conflict(flow),
        ProducerConflict.LOGIN: bool(login_conflicts(flow)),
    }
    return tuple(reason for reason, conflicts in conflicts_of.items() if conflicts)


def _trust_conflicts(flow: ResolvedFlow) -> bool:
    """Return whether the target's trusted certificates would be added to the source's, or replace them."""
    source, target = flow.source.tls, flow.target.tls
    if source is None or target is None or target.trust is None:
        return False
    # Without its own trust the source needs Java's, which the target's certificates replace.
    return source.trust is None or isinstance(source.trust, KeystoreTrust) is not flow.strimzi.keeps_stores


def _certificates_conflict(flow: ResolvedFlow) -> bool:
    """Return whether the producer would have both a keystore file of the target and a PEM key of the source."""
    logins = (flow.source.authentication, flow.target.authentication)
    encrypted = flow.source.tls is not None and flow.target.tls is not None
    return encrypted and flow.strimzi.keeps_stores and all(isinstance(login, TlsAuthentication) for login in logins)


def login_conflicts(flow: ResolvedFlow) -> tuple[str, ...]:
    """Return the properties of the target's login that a login to the source does not have."""
    source, target = _sasl_properties(flow, "source"), _sasl_properties(flow, "target")
    return tuple(sorted(target - source)) if source else ()


def _sasl_properties(flow: ResolvedFlow, side: Side) -> set[str]:
    authentication = flow.cluster(side).authentication
    if authentication is None or not security_protocol(flow.cluster(side), authentication).startswith("SASL_"):
        return set()
    return {key for key in login_properties(authentication, vault(flow, side)) if key.startswith("sasl.")}


def _apart(flow: ResolvedFlow, workers: str, workers_on: Side) -> ResolvedFlow:
    """Return a flow as run by workers for heartbeats alone: one worker is enough, and without transactions."""
    connect = flow.settings.connect
    config = {key: value for key, value in connect.config.items() if key != EXACTLY_ONCE_SUPPORT}
    settings = flow.settings.model_copy(
        update={
            "namespace": NamespaceChoice(name=flow.namespace, create=False),
            # Names that the flow's own workers inherited belong only to them.
            "connect": connect.model_copy(
                update={
                    "name": None,
                    "group_id": None,
                    "storage_topics": StorageTopics(),
                    "replicas": 1,
                    "config": config,
                }
            ),
            "exactly_once": ExactlyOnce.DISABLED,
        }
    )
    expanded = replace(flow.expanded, workers=workers, settings=settings)
    return replace(flow, expanded=expanded, workers_on=workers_on)
