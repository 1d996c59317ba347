"""Logs a Kafka client in to a cluster: librdkafka's configuration for a cluster of the parameter document."""

from collections.abc import Callable
from dataclasses import dataclass

from kafka_replication.components.contract.parameters import (
    CertificateAuthentication,
    ClusterParameters,
    CredentialReference,
    PasswordAuthentication,
    Trust,
)
from kafka_replication.components.contract.problems import CannotRunError

_CRITICAL_ONLY = 2
#: The value of a credential.
Read = Callable[[CredentialReference], str]
ClientConfig = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Purpose:
    """Why a command logs in, as a sentence, and what its user can do instead, as the end of a remedy; empty if there is
    no alternative.
    """

    why: str
    instead: str = ""


def client_config(
    cluster: ClusterParameters, read: Read, purpose: Purpose, keystore: Callable[[Trust], str] | None = None
) -> ClientConfig:
    """Return librdkafka's configuration for a cluster. It contains credentials, so never print it.

    `keystore` returns the certificates of a JKS or PKCS12 file as PEM, because librdkafka reads only PEM.
    """
    config: ClientConfig = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": cluster.security_protocol,
        # librdkafka would print its log to the terminal; every failure reaches the caller anyway.
        "log_level": _CRITICAL_ONLY,
    }
    if cluster.trust is not None:
        if cluster.trust.format == "PEM":
            config["ssl.ca.pem"] = read(cluster.trust.certificates)
        elif keystore is not None:
            config["ssl.ca.pem"] = keystore(cluster.trust)
        else:
            what = f"the trust of `{cluster.alias}` is a {cluster.trust.format} file"
            raise _unusable(cluster.alias, what, "trust", purpose)
    match cluster.authentication:
        case PasswordAuthentication() as login:
            password = read(login.password)
            config |= {"sasl.mechanism": login.type.upper(), "sasl.username": login.username, "sasl.password": password}
        case CertificateAuthentication() as login:
            config |= {"ssl.certificate.pem": read(login.certificate), "ssl.key.pem": read(login.key)}
        case None:
            pass
        case other:
            raise _unusable(cluster.alias, f"the login to `{cluster.alias}` is {other.type}", "authentication", purpose)
    return config


def _unusable(alias: str, what: str, key: str, purpose: Purpose) -> CannotRunError:
    remedy = f"set `clusters.{alias}.validation.{key}`{purpose.instead}."
    what = f"{what}, which this command cannot use"
    return CannotRunError("login-unusable", what, f"clusters.{alias}", purpose.why, remedy)
