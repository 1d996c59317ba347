"""Heartbeats pass through a producer that the worker has made for the target: what of it cannot be unset."""

from collections.abc import Iterator

from components.clusters import Cluster, KeystoreTrust, TlsAuthentication
from components.expansion import NamedFlow, Shape
from components.model import Topology
from components.problems import Problem
from components.resolved import ResolvedFlow, Strimzi, StrimziApi, strimzi
from components.specs.clients import login_properties, security_protocol, vault


def check_heartbeat_clients(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    """Problems of a heartbeat connector of its own, which overrides the worker's producer with the source's connection.

    A KafkaMirrorMaker2 has one inside in the API `v1beta2`.
    """
    operator = strimzi(topology.strimzi)
    source, target = (topology.clusters.get(alias) for alias in (named.flow.source, named.flow.target))
    inside = named.shape is Shape.MIRROR_MAKER2 and operator.api is StrimziApi.V1BETA2
    if source is None or target is None or inside or not named.flow.connectors.heartbeat.enabled:
        return
    if source.tls is not None and target.tls is not None:
        yield from _check_trust(named, source, target, operator)
        yield from _check_certificate(named, source, target, operator)
    yield from _check_login(named, ResolvedFlow(named, source, target, operator))


def _check_trust(named: NamedFlow, source: Cluster, target: Cluster, operator: Strimzi) -> Iterator[Problem]:
    """A producer takes truststore certificates or a truststore file; overrides cannot unset what the worker has."""
    if source.tls is None or target.tls is None or source.tls.trust is None or target.tls.trust is None:
        return
    if isinstance(source.tls.trust, KeystoreTrust) is not operator.keeps_stores:
        given, has, wanted = _TRUST_FORMS[operator.keeps_stores]
        yield Problem(
            named.where("connectors.heartbeat"),
            "heartbeat-trust-conflict",
            f"heartbeats go to `{named.flow.source}`, which is trusted by {given}",
            f"They pass through the worker's producer, which already has the target's {has}; Kafka refuses a "
            "client with both (DefaultSslEngineFactory).",
            f"give the trust of `{named.flow.source}` as {wanted}, or set `connectors.heartbeat.enabled: false`.",
        )


#: By whether workers hold a truststore file (operators before 0.47) or PEM certificates: what a source's trust is
#: given as that does not go with it, what the worker has, and what goes with it.
_TRUST_FORMS = {
    False: ("a truststore file", "PEM certificates", "PEM"),
    True: ("PEM certificates", "truststore file", "`format: JKS` or `PKCS12`"),
}


def _check_certificate(named: NamedFlow, source: Cluster, target: Cluster, operator: Strimzi) -> Iterator[Problem]:
    both = isinstance(source.authentication, TlsAuthentication) and isinstance(target.authentication, TlsAuthentication)
    if both and operator.keeps_stores:
        yield Problem(
            named.where("connectors.heartbeat"),
            "heartbeat-certificate-conflict",
            f"heartbeats go to `{named.flow.source}` with a client certificate, as do the workers to the target",
            "They pass through the worker's producer, which operators before 0.47 give a keystore file; Kafka refuses "
            "a client with both a file and a PEM key (DefaultSslEngineFactory).",
            "set `connectors.heartbeat.enabled: false`, or upgrade the operator and set `strimzi: '0.47'` or later.",
        )


def _check_login(named: NamedFlow, resolved: ResolvedFlow) -> Iterator[Problem]:
    logins = []
    for side in ("source", "target"):
        authentication = resolved.cluster(side).authentication
        sasl = security_protocol(resolved.cluster(side), authentication).startswith("SASL_")
        logins.append(login_properties(authentication, vault(resolved, side)) if authentication and sasl else {})
    source, target = logins
    left = sorted(key for key in target if key.startswith("sasl.") and key not in source)
    if source and left:
        yield Problem(
            named.where("connectors.heartbeat"),
            "heartbeat-login-conflict",
            f"the login to `{named.flow.target}` sets {', '.join(left)}, and that to `{named.flow.source}` does not",
            "Heartbeats go to the source through the worker's producer, which already has what the target needs; "
            "nothing can unset it, and a login with another mechanism's callback fails.",
            "log in to both clusters by the same mechanism, or set `connectors.heartbeat.enabled: false`.",
        )
