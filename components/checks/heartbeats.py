"""Heartbeats: replicated only once, and sent by workers that can log in to the source."""

from collections.abc import Iterator

from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.operators import strimzi
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.connector_config import chooses_heartbeats
from kafka_replication.components.render.heartbeat_workers import (
    ProducerConflict,
    heartbeat_workers,
    login_conflicts,
    producer_conflicts,
)
from kafka_replication.components.topology.clusters import KeystoreTrust
from kafka_replication.components.topology.model import Topology


def check_heartbeats(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """Heartbeats cross once, and some workers can send them: the target's, or separate ones that trust the source."""
    yield from _check_repeated(flow)
    yield from _check_clients(topology, flow)


def _check_repeated(flow: ExpandedFlow) -> Iterator[Problem]:
    """A flow can leave heartbeats to another flow, or to one of its source connectors, only from Kafka 4.0 on."""
    version = flow.kafka
    several = len(flow.settings.connectors.sources) > 1
    if chooses_heartbeats(version) or (flow.settings.replicate_heartbeats and not several):
        return
    yield warning(
        flow.where("connectors.sources" if several else "replicateHeartbeats"),
        "heartbeats-replicated-anyway",
        f"in Kafka {version} every source connector replicates heartbeats",
        "This version has no `heartbeats.replication.enabled`, so the target gets each heartbeat once from every "
        "source connector of this source.",
        "set `connect.version` to 4.0.0 or later if the operator supports it, or count distinct timestamps.",
    )


def _check_clients(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    resolved = resolved_without_addresses(topology, flow)
    if resolved is None or resolved.source.tls is None or not isinstance(resolved.source.tls.trust, KeystoreTrust):
        return
    source = flow.settings.source
    if conflicts := producer_conflicts(resolved):
        reasons = " and ".join(_reason(reason, resolved) for reason in conflicts)
        yield Problem(
            flow.where("connectors.heartbeat"),
            "heartbeat-trust-conflict",
            f"no workers can send heartbeats to `{source}`, whose trust is a {resolved.source.tls.trust.format} file",
            f"The target's workers cannot send them, because their producer has {reasons}. Separate workers of "
            f"`{source}` cannot either, because Strimzi accepts only PEM certificates for workers.",
            f"set `clusters.{source}.tls.trust: {{secret: NAME, key: ca.crt}}` with the certificate authority as PEM "
            "(`keytool -exportcert -rfc` prints it), or set `connectors.heartbeat.enabled: false`.",
        )


def _reason(reason: ProducerConflict, flow: ResolvedFlow) -> str:
    """Return what the producer of the target's workers has that conflicts with the source's settings."""
    match reason:
        case ProducerConflict.TRUST:
            return "PEM certificates, which Kafka refuses together with a truststore file"
        case ProducerConflict.CERTIFICATE:
            return "a keystore file, which Kafka refuses together with a PEM key"
        case ProducerConflict.LOGIN:
            properties = ", ".join(f"`{key}`" for key in login_conflicts(flow))
            return f"{properties}, which the login to `{flow.settings.source}` cannot unset"


def sending_workers(topology: Topology, flow: ExpandedFlow) -> str:
    """Return the name of the workers that send a flow's heartbeats, or of its own workers if it sends none."""
    resolved = resolved_without_addresses(topology, flow)
    if resolved is None or not flow.settings.connectors.heartbeat.enabled:
        return flow.workers
    return heartbeat_workers(resolved).workers


def resolved_without_addresses(topology: Topology, flow: ExpandedFlow) -> ResolvedFlow | None:
    """Return a flow with its clusters as the topology declares them; None if it names an unknown one."""
    source, target = (topology.clusters.get(alias) for alias in (flow.settings.source, flow.settings.target))
    return ResolvedFlow(flow, source, target, strimzi(topology.strimzi)) if source and target else None
