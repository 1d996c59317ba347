"""Logs a Kafka client on this machine in to a flow's clusters, as the validation job does. It reads the credentials
from Secrets in the stack's Kubernetes cluster, where the stack keeps them.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from components.contract.clusters import (
    CertificateAuthentication,
    ClusterParameters,
    PasswordAuthentication,
    SecretReference,
)
from components.contract.clusters import Reference as CredentialReference
from components.contract.problems import CannotRunError
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, Reference

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


def client_config(cluster: ClusterParameters, read: Read, purpose: Purpose) -> ClientConfig:
    """Return librdkafka's configuration for a cluster. It contains credentials, so never print it."""
    config: ClientConfig = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": cluster.security_protocol,
        # librdkafka would print its log to the terminal; every failure reaches the caller anyway.
        "log_level": _CRITICAL_ONLY,
    }
    if cluster.trust is not None:
        if cluster.trust.format != "PEM":
            what = f"the trust of `{cluster.alias}` is a {cluster.trust.format} file"
            raise _unusable(cluster.alias, what, "trust", purpose)
        config["ssl.ca.pem"] = read(cluster.trust.certificates)
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


def secrets_reader(api: KubernetesApi, alias: str, purpose: Purpose) -> Read:
    """Return a function that reads the credentials of the cluster `alias`. It raises CannotRunError."""

    def read(reference: CredentialReference) -> str:
        assert reference.secret is not None
        return _secret_value(api, alias, reference.secret, purpose)

    return read


def _secret_value(api: KubernetesApi, alias: str, wanted: SecretReference, purpose: Purpose) -> str:
    where = f"Secret {wanted.namespace}/{wanted.name}"
    with asking_kubernetes(where, purpose.why, f"let your user `get` the {where}{purpose.instead}."):
        secret = api.get(Reference("v1", "Secret", wanted.namespace, wanted.name))
    data: Mapping[str, Any] = (secret or {}).get("data") or {}
    if wanted.key not in data:
        what = f"there is no key `{wanted.key}`" if secret else "there is no such Secret"
        remedy = f"deploy the stack or create the Secret{purpose.instead}."
        raise CannotRunError("no-credential", f"{what} for `{alias}`", where, purpose.why, remedy)
    return base64.b64decode(data[wanted.key]).decode()
