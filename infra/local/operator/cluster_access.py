"""How workers and connectors reach a Kafka cluster: what they trust, and as whom they log in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.kubernetes_api import Object

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
    """Certificates of a Secret: one key, or every key that the glob pattern matches."""

    secret: str
    pattern: str


@dataclass(frozen=True)
class PasswordAuthentication:
    """SASL with a user name and a password: `mechanism` is Kafka's name of it."""

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
    """Client properties of the user's own; `sasl` says whether they are those of a SASL mechanism."""

    sasl: bool
    config: Mapping[str, Any]


@dataclass(frozen=True)
class UnsupportedAuthentication:
    """An authentication that the real operator has and this one has not."""

    type: str


Authentication = PasswordAuthentication | CertificateAuthentication | CustomAuthentication | UnsupportedAuthentication


@dataclass(frozen=True)
class ClusterAccess:
    """What the connectors of a KafkaMirrorMaker2 need to reach a cluster, as `tls` and `authentication` of workers.

    `trust_key` is where its trusted certificates are in the Secret that the operator copies them into.
    """

    trust_key: str
    tls: tuple[TrustedCertificate, ...] | None
    authentication: Authentication | None

    @property
    def alias(self) -> str:
        """Of a cluster of a KafkaMirrorMaker2; empty for that of the workers themselves."""
        return self.trust_key.removesuffix(TRUST_KEY).removesuffix("-")


def trusted_certificates(spec: Object) -> tuple[TrustedCertificate, ...] | None:
    """What the `tls` of a KafkaConnect's spec, or of a cluster of a KafkaMirrorMaker2, trusts; None without it."""
    if "tls" not in spec:
        return None
    return tuple(
        TrustedCertificate(each["secretName"], each.get("certificate") or each["pattern"])
        for each in spec["tls"].get("trustedCertificates") or []
    )


def authentication(spec: Object) -> Authentication | None:
    """The `authentication` of a KafkaConnect's spec, or of a cluster of a KafkaMirrorMaker2."""
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
