"""How workers and connectors reach a Kafka cluster: which certificates they trust, and as whom they log in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.kubernetes.api import Object

TRUST_KEY = "ca.crt"
"""Key of the Secret into which the operator copies the certificates that the workers trust."""

_MECHANISMS = {"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512"}


@dataclass(frozen=True)
class SecretKey:
    """One key of a Secret in the namespace of the resource that names it."""

    secret: str
    key: str


@dataclass(frozen=True)
class TrustedCertificate:
    """Certificates in a Secret: those of every key that the glob pattern matches, which may be a single key."""

    secret: str
    pattern: str


@dataclass(frozen=True)
class PasswordAuthentication:
    """SASL with a user name and a password; `mechanism` is Kafka's name for the mechanism."""

    mechanism: str
    username: str
    password: SecretKey


@dataclass(frozen=True)
class CertificateAuthentication:
    """Mutual TLS with a certificate and a private key, both PEM."""

    certificate: SecretKey
    key: SecretKey


@dataclass(frozen=True)
class CustomAuthentication:
    """The user's own client properties; `sasl` says whether they configure a SASL mechanism."""

    sasl: bool
    config: Mapping[str, Any]


@dataclass(frozen=True)
class UnsupportedAuthentication:
    """An authentication type that the real operator supports and this one does not."""

    type: str


Authentication = PasswordAuthentication | CertificateAuthentication | CustomAuthentication | UnsupportedAuthentication


@dataclass(frozen=True)
class ClusterAccess:
    """How the workers, or the connectors of a KafkaMirrorMaker2, reach one cluster.

    `trust_key` is the key of the cluster's trusted certificates in the Secret that the operator copies them into. `tls`
    is None without TLS, and empty for TLS with the JVM's own trust.
    """

    trust_key: str
    tls: tuple[TrustedCertificate, ...] | None
    authentication: Authentication | None

    @property
    def alias(self) -> str:
        """The alias of a cluster of a KafkaMirrorMaker2; empty for the workers' own cluster."""
        return self.trust_key.removesuffix(TRUST_KEY).removesuffix("-")


def cluster_access(spec: Object) -> ClusterAccess:
    """How a KafkaConnect, or a cluster of a KafkaMirrorMaker2, which has an alias, is reached."""
    trust_key = f"{spec['alias']}-{TRUST_KEY}" if "alias" in spec else TRUST_KEY
    return ClusterAccess(trust_key, _trusted_certificates(spec), _authentication(spec))


def _trusted_certificates(spec: Object) -> tuple[TrustedCertificate, ...] | None:
    if "tls" not in spec:
        return None
    return tuple(
        TrustedCertificate(each["secretName"], each.get("certificate") or each["pattern"])
        for each in spec["tls"].get("trustedCertificates") or []
    )


def _authentication(spec: Object) -> Authentication | None:
    if "authentication" not in spec:
        return None
    given = spec["authentication"]
    kind = given["type"]
    if kind == "tls" and "certificateAndKey" in given:
        pair = given["certificateAndKey"]
        name = pair["secretName"]
        return CertificateAuthentication(SecretKey(name, pair["certificate"]), SecretKey(name, pair["key"]))
    if kind in _MECHANISMS and "passwordSecret" in given:
        secret = given["passwordSecret"]
        password = SecretKey(secret["secretName"], secret["password"])
        return PasswordAuthentication(_MECHANISMS[kind], given.get("username", ""), password)
    if kind == "custom":
        return CustomAuthentication(given.get("sasl", False), given.get("config") or {})
    return UnsupportedAuthentication(kind)
