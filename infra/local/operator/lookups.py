"""Says why a placeholder could not be looked up: Connect's own message ends before the reason."""

import re

from infra.local.kubernetes_api import KubernetesApi, Reference
from infra.local.operator.resources import ConnectorResource

_FAILED_LOOKUP = re.compile(r"Failed to retrieve (Secret|ConfigMap) (\S+) from Kubernetes namespace (\S+)")


def explained(api: KubernetesApi, connector: ConnectorResource, message: str) -> str:
    """The message, and, if it is about a failed lookup, what the API server says to the worker's service account."""
    failed = _FAILED_LOOKUP.search(message)
    if failed is None:
        return message
    kind, name, namespace = failed.groups()
    account = f"system:serviceaccount:{connector.namespace}:{connector.cluster}-connect"
    if not api.may_get(account, f"{kind.lower()}s", namespace, name):
        return f"{message}: Forbidden: no Role lets {account} get {kind} {namespace}/{name}"
    if api.get(Reference("v1", kind, namespace, name)) is None:
        return f"{message}: it does not exist"
    return message
