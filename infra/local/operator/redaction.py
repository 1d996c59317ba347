"""Keeps secret values out of what the operator writes: Connect may quote a resolved placeholder in an error."""

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any

from infra.kubernetes.api import KubernetesApi, Reference

HIDDEN = "(hidden)"
SHORTEST_SECRET = 4
"""Shorter values are not hidden: hiding every `1` of a message would make it unreadable."""

_PLACEHOLDER = re.compile(r"\$\{[^:}]+:([^/:}]+)/([^/:}]+):([^}]+)\}")


def placeholders(config: Mapping[str, str]) -> set[tuple[str, str]]:
    """(namespace, name) of every object that a placeholder in the configuration refers to."""
    return {(found[1], found[2]) for value in config.values() for found in _PLACEHOLDER.finditer(value)}


def secret_values(api: KubernetesApi, names: Iterable[tuple[str, str]]) -> list[str]:
    """The values of those of these objects that are Secrets, longest first."""
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
