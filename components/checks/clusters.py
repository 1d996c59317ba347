"""Clusters: the operator's version, and connections that workers and clients can be given."""

from collections.abc import Iterator

from components.clusters import Cluster, KeystoreTrust, PlainAuthentication, ScramAuthentication, TlsAuthentication
from components.expansion import NamedFlow, expand
from components.model import Topology
from components.problems import Problem
from components.resolved import strimzi

#: Oldest operator whose definitions the objects were held against.
OLDEST_STRIMZI = (0, 45)


def check_clusters(topology: Topology) -> Iterator[Problem]:
    if (strimzi(topology.strimzi).version or OLDEST_STRIMZI) < OLDEST_STRIMZI:
        yield Problem(
            "strimzi",
            "unsupported-strimzi",
            f"Strimzi {topology.strimzi} is older than {'.'.join(map(str, OLDEST_STRIMZI))}",
            "Objects are held against the definitions of 0.45 and 1.2; what older operators take was not tried.",
            "upgrade the operator and set `strimzi: '0.45'` or later.",
        )
    for alias, cluster in topology.clusters.items():
        yield from _check_authentication(f"clusters.{alias}", cluster)
    yield from _check_target_trust(topology)
    for named in expand(topology):
        if named.flow.connectors.heartbeat.enabled:
            yield from _check_heartbeat_trust(topology, named)


def _check_authentication(where: str, cluster: Cluster) -> Iterator[Problem]:
    if isinstance(cluster.authentication, TlsAuthentication) and cluster.tls is None:
        yield Problem(
            f"{where}.authentication",
            "certificate-without-tls",
            "a client certificate is given for a cluster without `tls`",
            "Without TLS no certificate is ever presented; the broker sees an anonymous client.",
            "add `tls: {}` or `tls: {trust: …}`.",
        )
    users = [(f"{where}.authentication", cluster.authentication)]
    if cluster.validation is not None:
        users.append((f"{where}.validation.authentication", cluster.validation.authentication))
    for path, user in users:
        username = user.username if isinstance(user, PlainAuthentication | ScramAuthentication) else ""
        if set(username) & set('"\\'):
            yield Problem(
                f"{path}.username",
                "username-breaks-jaas",
                "the user name holds a quotation mark or a backslash",
                "It stands in quotation marks in sasl.jaas.config, whose parser would end there.",
                "use a user name without these characters.",
            )


def _check_target_trust(topology: Topology) -> Iterator[Problem]:
    for alias in sorted({named.flow.target for named in expand(topology)} & set(topology.clusters)):
        tls = topology.clusters[alias].tls
        if tls is not None and isinstance(tls.trust, KeystoreTrust):
            yield Problem(
                f"clusters.{alias}.tls.trust.format",
                "keystore-trust-on-target",
                f"the target `{alias}` is trusted by a {tls.trust.format} file",
                "Connect workers belong to the target, and KafkaConnect's trustedCertificates takes PEM only.",
                "set `trust: {secret: NAME, key: ca.crt}` with the certificate authority as PEM.",
            )


def _check_heartbeat_trust(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    """A producer takes truststore certificates or a truststore file; overrides cannot unset what the worker has."""
    flow = named.flow
    source, target = (topology.clusters.get(alias) for alias in (flow.source, flow.target))
    if source is None or target is None or source.tls is None or target.tls is None:
        return
    if source.tls.trust is None or target.tls.trust is None:
        return
    worker_has_file = strimzi(topology.strimzi).keeps_values
    if isinstance(source.tls.trust, KeystoreTrust) is not worker_has_file:
        given, has, wanted = _TRUST_FORMS[worker_has_file]
        yield Problem(
            named.where("connectors.heartbeat"),
            "heartbeat-trust-conflict",
            f"heartbeats go to `{flow.source}`, which is trusted by {given}",
            f"They pass through the worker's producer, which already has the target's {has}; Kafka refuses a "
            "client with both (DefaultSslEngineFactory).",
            f"give the trust of `{flow.source}` as {wanted}, or set `connectors.heartbeat.enabled: false`.",
        )


#: By whether workers hold a truststore file (operators before 0.47) or PEM certificates: what a source's trust is
#: given as that does not go with it, what the worker has, and what goes with it.
_TRUST_FORMS = {
    False: ("a truststore file", "PEM certificates", "PEM"),
    True: ("PEM certificates", "truststore file", "`format: JKS` or `PKCS12`"),
}
