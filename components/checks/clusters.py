"""Clusters: the operator's version, and connections that workers and clients can be given."""

from collections.abc import Iterator

from components.checks.logins import check_logins
from components.clusters import KeystoreTrust
from components.expansion import expand
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
        yield from check_logins(alias, cluster)
    yield from _check_target_trust(topology)


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
