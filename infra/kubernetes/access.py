"""Access to a stack's Kubernetes cluster, and what to tell the user when the cluster refuses or does not answer."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import yaml
from kubernetes.config import list_kube_config_contexts
from kubernetes.config.config_exception import ConfigException

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi
from kafka_replication.infra.stack.settings import KubernetesAccess, StackSettings, stack_file
from kafka_replication.infra.stack.yaml_files import shown

_DEFAULT = "~/.kube/config"
FIELD_MANAGER = "kafka-replication"
_UNAUTHORIZED = 401
_LOGIN = "renew the certificate or token of the stack's Kubernetes context: it expired or belongs to another cluster."
_REMEDY = (
    "correct `kubernetes:context` or `kubernetes:kubeconfig` in the stack file, or KUBECONFIG; or run the command "
    "again."
)


def api_client(settings: StackSettings, access: KubernetesAccess) -> KubernetesApi:
    """Client of the stack's Kubernetes cluster. Raises CannotRunError for a kubeconfig that cannot be used."""
    if settings.without_stack is not None:
        remedy = "name another context with `--context`, or set KUBECONFIG."
        return connected(access, shown(settings.without_stack), remedy)
    remedy = "set `kubernetes:context` or `kubernetes:kubeconfig` in the stack file, or KUBECONFIG."
    return connected(access, shown(stack_file(settings.stack, settings.stacks)), remedy)


def connected(access: KubernetesAccess, where: str, remedy: str) -> KubernetesApi:
    """Client of a Kubernetes cluster. Raises CannotRunError for a kubeconfig that cannot be used.

    `where` is what names the kubeconfig or context, `remedy` what to correct there.
    """
    try:
        return KubernetesApi(access.kubeconfig, context=access.context, field_manager=FIELD_MANAGER)
    except (ConfigException, OSError, ValueError, TypeError, yaml.YAMLError) as error:
        # Only these two explain the error without quoting the file, which holds credentials.
        reason = str(error).rstrip(".") if isinstance(error, ConfigException | OSError) else "it is not a kubeconfig"
        raise CannotRunError(
            "kubeconfig-unusable",
            f"no access to Kubernetes with {access.kubeconfig or os.environ.get('KUBECONFIG') or _DEFAULT}: {reason}",
            where,
            "The command reads from this cluster.",
            remedy,
        ) from error


def current_context() -> str | None:
    """Return the context that is used if none is named; None if no kubeconfig has one."""
    read: Callable[[str | None], tuple[object, Mapping[str, object] | None]] = list_kube_config_contexts
    try:
        _, active = read(os.environ.get("KUBECONFIG") or None)
    except (ConfigException, OSError, ValueError, TypeError, yaml.YAMLError):
        return None
    return str(active["name"]) if active else None


@contextmanager
def asking_kubernetes(where: str, why: str, permission: str) -> Iterator[None]:
    """Turn an ApiError into a CannotRunError that says why.

    `where` names the stack, `why` what the command does there. `permission` is the remedy for a refusal.
    """
    try:
        yield
    except ApiError as error:
        if error.unreachable:
            raise CannotRunError("kubernetes-unreachable", error.message, where, why, _REMEDY) from error
        what = f"Kubernetes answers {error.status} {error.reason}"
        remedy = _LOGIN if error.status == _UNAUTHORIZED else permission
        raise CannotRunError("kubernetes-refused", what, where, why, remedy) from error
