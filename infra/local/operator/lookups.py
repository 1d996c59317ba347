"""Makes Connect's messages fit for a status: without secret values, and with the reason of a failed lookup."""

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any

from infra.kubernetes.api import KubernetesApi, Reference
from infra.local.operator.resources import ConnectorResource

_FAILED_LOOKUP = re.compile(r"Failed to retrieve (Secret|ConfigMap) (\S+) from Kubernetes namespace (\S+)")


def explained(api: KubernetesApi, connector: ConnectorResource, message: str) -> str:
    """The message; for a failed lookup, also whether RBAC forbids the read to the worker's service account."""
    failed = _FAILED_LOOKUP.search(message)
    if failed is None:
        return message
    kind, name, namespace = failed.groups()
    account = f"system:serviceaccount:{connector.namespace}:{connector.service_account}"
    if api.may_get(account, f"{kind.lower()}s", namespace, name):
        return message
    return f"{message}: Forbidden: no Role lets {account} get {kind} {namespace}/{name}"


HIDDEN = "(hidden)"
SHORTEST_SECRET = 4
"""Shorter values are not hidden: hiding every `1` of a message would make it unreadable."""

_PLACEHOLDER = re.compile(r"\$\{[^:}]+:([^/:}]+)/([^/:}]+):([^}]+)\}")


def placeholders(config: Mapping[str, str]) -> set[tuple[str, str]]:
    """(namespace, name) of every object that a placeholder in the configuration refers to."""
    return {(found[1], found[2]) for value in config.values() for found in _PLACEHOLDER.finditer(value)}


def secret_values(api: KubernetesApi, names: Iterable[tuple[str, str]]) -> list[str]:
    """The values of the Secrets among these objects, longest first."""
    found: set[str] = set()
    for namespace, name in names:
        secret = api.get(Reference("v1", "Secret", namespace, name)) or {}
        found |= {base64.b64decode(each).decode(errors="replace") for each in secret.get("data", {}).values()}
    return sorted((each for each in found if len(each) >= SHORTEST_SECRET), key=len, reverse=True)


def redacted(value: Any, secrets: Iterable[str]) -> Any:
    """The same value with every secret in every text replaced."""
    if isinstance(value, Mapping):
        return {key: redacted(each, secrets) for key, each in value.items()}
    if isinstance(value, list):
        return [redacted(each, secrets) for each in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
    return value
