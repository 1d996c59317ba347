"""Explains why a placeholder could not be resolved: Connect's own message omits the reason."""

import re

from infra.kubernetes.api import KubernetesApi
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
