"""Reads what Connect workers need from Secrets, and names every fault in Strimzi's words. Pure.

No error contains a secret value. Source: Strimzi 1.2 ReconcilerUtils.validatedSecret.
"""

import base64
import fnmatch
import hashlib
import json
from collections.abc import Iterable, Mapping

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from infra.local.operator.cluster_access import (
    CertificateAuthentication,
    PasswordAuthentication,
    SecretKey,
    TrustedCertificate,
)
from infra.local.operator.resources import ConnectResource

SecretData = Mapping[str, Mapping[str, str]]
"""The data of Secrets in base64, as the API server returns it, by name of the Secret."""


class InvalidSecretError(Exception):
    """A Secret, or a key of it, is missing or unusable; the message names it."""


def secret_names(connect: ConnectResource) -> list[str]:
    """The Secrets that the resource itself refers to."""
    trusted = {each.secret for access in connect.access for each in access.tls or ()}
    return sorted(trusted | {each.secret for each in _credentials(connect)})


def trusted_certificates(connect: ConnectResource, secrets: SecretData) -> dict[str, str]:
    """The PEM certificates that are trusted for each cluster, by key of the operator's own Secret.

    Raises InvalidSecretError.
    """
    return {each.trust_key: _joined(connect, each.tls, secrets) for each in connect.access if each.tls}


def _joined(connect: ConnectResource, trusted: Iterable[TrustedCertificate], secrets: SecretData) -> str:
    parts: list[str] = []
    for each in trusted:
        data = _data(connect, secrets, each.secret)
        keys = fnmatch.filter(sorted(data), each.pattern)
        if not keys:
            raise InvalidSecretError(f"Items with key(s) [{each.pattern}] are missing in Secret {each.secret}")
        parts += [_certificate(f"{connect.namespace}/{each.secret}:{key}", data[key]) for key in keys]
    return "\n".join(parts)


def check_credentials(connect: ConnectResource, secrets: SecretData) -> None:
    """Raise InvalidSecretError if a credential that the workers will read does not exist."""
    for each in _credentials(connect):
        secret_value(connect, secrets, each)


def secret_value(connect: ConnectResource, secrets: SecretData, where: SecretKey) -> bytes:
    """The value of one key. Raises InvalidSecretError."""
    data = _data(connect, secrets, where.secret)
    if where.key not in data:
        raise InvalidSecretError(f"Items with key(s) [{where.key}] are missing in Secret {where.secret}")
    return base64.b64decode(data[where.key])


def contents_digest(secrets: SecretData) -> str:
    """A digest that changes with the data, so that workers are rolled; it does not reveal a value."""
    content = json.dumps({name: dict(data) for name, data in secrets.items()}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _credentials(connect: ConnectResource) -> list[SecretKey]:
    found: list[SecretKey] = []
    for access in connect.access:
        match access.authentication:
            case PasswordAuthentication(password=password):
                found.append(password)
            case CertificateAuthentication(certificate, key):
                found += [certificate, key]
    return found


def _data(connect: ConnectResource, secrets: SecretData, name: str) -> Mapping[str, str]:
    if name not in secrets:
        raise InvalidSecretError(f"Secret {name} not found in namespace {connect.namespace}")
    return secrets[name]


def _certificate(where: str, encoded: str) -> str:
    """The first certificate of a key: Strimzi 1.2 ignores the others."""
    try:
        first, *_ = x509.load_pem_x509_certificates(base64.b64decode(encoded))
    except ValueError as error:
        raise InvalidSecretError(f"Secret {where} is not a PEM certificate") from error
    return first.public_bytes(Encoding.PEM).decode().strip()
