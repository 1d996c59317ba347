"""Reads the credentials of a flow's clusters from Secrets of the stack's Kubernetes cluster."""

import base64
from collections.abc import Mapping
from typing import Any

from components.clients.login import Purpose, Read
from components.contract.clusters import Reference as CredentialReference
from components.contract.clusters import (
    SecretReference,
)
from components.contract.problems import CannotRunError
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, Reference


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
