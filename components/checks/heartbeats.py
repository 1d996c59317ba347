"""Heartbeats: replicated only once, and produced by a client that Kafka accepts.

A heartbeat connector writes to the source, but through the producer that its worker has configured for the target. What
the worker has set there cannot be unset.
"""

from collections.abc import Iterator

from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow, Shape
from components.flows.kafka_version import kafka_version
from components.flows.resolved import ResolvedFlow, Strimzi, StrimziApi, strimzi
from components.render.connections import login_properties, security_protocol, vault
from components.render.connector_config import chooses_heartbeats
from components.topology.clusters import Cluster, KeystoreTrust, TlsAuthentication
from components.topology.model import Topology


def check_heartbeats(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """A flow can leave heartbeats to another flow, or to one of its source connectors, only from Kafka 4.0 on."""
    version = kafka_version(flow.settings.connect, strimzi(topology.strimzi))
    several = len(flow.settings.connectors.sources) > 1
    if chooses_heartbeats(version) or (flow.settings.replicate_heartbeats and not several):
        return
    yield Problem(
        flow.where("connectors.sources" if several else "replicateHeartbeats"),
        "heartbeats-replicated-anyway",
        f"in Kafka {version} every source connector replicates heartbeats",
        "This version has no `heartbeats.replication.enabled`, so the target gets each heartbeat once from every "
        "source connector of this source.",
        "set `connect.version` to 4.0.0 or later if the operator supports it, or count distinct timestamps.",
        Severity.WARNING,
    )


def check_heartbeat_clients(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """The worker's producer can be given the connection to the source.

    Under the API `v1beta2` the heartbeat connector of a KafkaMirrorMaker2 writes to the target, so nothing conflicts.
    """
    operator = strimzi(topology.strimzi)
    source, target = (topology.clusters.get(alias) for alias in (flow.settings.source, flow.settings.target))
    inside = flow.shape is Shape.MIRROR_MAKER2 and operator.api is StrimziApi.V1BETA2
    if source is None or target is None or inside or not flow.settings.connectors.heartbeat.enabled:
        return
    if source.tls is not None and target.tls is not None:
        yield from _check_trust(flow, source, target, operator)
        yield from _check_certificate(flow, source, target, operator)
    yield from _check_login(ResolvedFlow(flow, source, target, operator))


def _check_trust(flow: ExpandedFlow, source: Cluster, target: Cluster, operator: Strimzi) -> Iterator[Problem]:
    if source.tls is None or target.tls is None or source.tls.trust is None or target.tls.trust is None:
        return
    if isinstance(source.tls.trust, KeystoreTrust) is not operator.keeps_stores:
        given, has, wanted = _TRUST_FORMS[operator.keeps_stores]
        yield Problem(
            flow.where("connectors.heartbeat"),
            "heartbeat-trust-conflict",
            f"heartbeats go to `{flow.settings.source}`, whose trust is {given}",
            f"They are sent by the worker's producer, which already has the target's {has}. Kafka refuses a client "
            "with both (DefaultSslEngineFactory).",
            f"give the trust of `{flow.settings.source}` as {wanted}, or set `connectors.heartbeat.enabled: false`.",
        )


#: For workers with PEM certificates, and for those with a truststore file (operators before 0.47): the form of the
#: source's trust that conflicts, what the worker has, and the form that does not conflict.
_TRUST_FORMS = {
    False: ("a truststore file", "PEM certificates", "PEM"),
    True: ("PEM certificates", "truststore file", "`format: JKS` or `PKCS12`"),
}


def _check_certificate(flow: ExpandedFlow, source: Cluster, target: Cluster, operator: Strimzi) -> Iterator[Problem]:
    both = isinstance(source.authentication, TlsAuthentication) and isinstance(target.authentication, TlsAuthentication)
    if both and operator.keeps_stores:
        yield Problem(
            flow.where("connectors.heartbeat"),
            "heartbeat-certificate-conflict",
            f"both heartbeats to `{flow.settings.source}` and the workers use a client certificate",
            "Heartbeats are sent by the worker's producer, to which operators before 0.47 give a keystore file. Kafka "
            "refuses a client with both a file and a PEM key (DefaultSslEngineFactory).",
            "set `connectors.heartbeat.enabled: false`, or upgrade the operator and set `strimzi: '0.47'` or later.",
        )


def _check_login(flow: ResolvedFlow) -> Iterator[Problem]:
    logins = []
    for side in ("source", "target"):
        authentication = flow.cluster(side).authentication
        sasl = security_protocol(flow.cluster(side), authentication).startswith("SASL_")
        logins.append(login_properties(authentication, vault(flow, side)) if authentication and sasl else {})
    source, target = logins
    left = sorted(key for key in target if key.startswith("sasl.") and key not in source)
    if source and left:
        yield Problem(
            flow.expanded.where("connectors.heartbeat"),
            "heartbeat-login-conflict",
            f"the login to `{flow.alias('target')}` sets {', '.join(left)}, the login to `{flow.alias('source')}` "
            "does not",
            "Heartbeats to the source are sent by the worker's producer, which already has these properties for the "
            "target. They cannot be unset, and a login with another mechanism's callback handler fails.",
            "use the same mechanism for both clusters, or set `connectors.heartbeat.enabled: false`.",
        )
