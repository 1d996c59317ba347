"""Access to the Kubernetes cluster of a stack, as its file says it."""

from collections.abc import Callable

from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from infra.errors import CannotRunError
from infra.local.endpoints import load_endpoints
from infra.settings import StackSettings, stack_file


def api_client(settings: StackSettings) -> client.ApiClient:
    """Client of the stack's Kubernetes cluster: `kubernetes:kubeconfig` and `kubernetes:context`, else the default."""
    kubeconfig, context = kubernetes_access(settings)
    try:
        connect: Callable[..., client.ApiClient] = config.new_client_from_config
        return connect(config_file=kubeconfig, context=context)
    except (ConfigException, OSError) as error:
        raise CannotRunError(
            f"no access to Kubernetes: {str(error).rstrip('.')}",
            str(stack_file(settings.stack, settings.stacks)),
            "The stack's cluster is asked for status and Secrets.",
            "set `kubernetes:context` or `kubernetes:kubeconfig` in the stack file, or KUBECONFIG.",
        ) from error


def kubernetes_access(settings: StackSettings) -> tuple[str | None, str | None]:
    """Kubeconfig file and context of a stack; None stands for the default."""
    if settings.local:
        return str(load_endpoints().kubeconfig), None
    return settings.kubeconfig, settings.context
