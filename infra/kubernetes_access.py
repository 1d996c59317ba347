"""Access to the Kubernetes cluster of a stack, as its file says it, and why a cluster does not answer."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import yaml
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import HTTPError

from infra.errors import CannotRunError
from infra.local.endpoints import load_endpoints
from infra.settings import StackSettings, shown, stack_file

_DEFAULT = "~/.kube/config"
_UNAUTHORIZED = 401
_LOGIN = "renew the certificate or token of the stack's Kubernetes context: it is over, or of another cluster."
_REMEDY = "correct `kubernetes:context` or `kubernetes:kubeconfig` in the stack file or KUBECONFIG, or run it again."


def api_client(settings: StackSettings) -> client.ApiClient:
    """Client of the stack's Kubernetes cluster: `kubernetes:kubeconfig` and `kubernetes:context`, else the default."""
    kubeconfig, context = kubernetes_access(settings)
    try:
        connect: Callable[..., client.ApiClient] = config.new_client_from_config
        return connect(config_file=kubeconfig, context=context)
    except (ConfigException, OSError, ValueError, TypeError, yaml.YAMLError) as error:
        # Only these two say what is wrong without showing what stands in the file.
        reason = str(error).rstrip(".") if isinstance(error, ConfigException | OSError) else "it is no kubeconfig"
        raise CannotRunError(
            f"no access to Kubernetes by {kubeconfig or os.environ.get('KUBECONFIG') or _DEFAULT}: {reason}",
            shown(stack_file(settings.stack, settings.stacks)),
            "The stack's cluster is asked for status and Secrets.",
            "set `kubernetes:context` or `kubernetes:kubeconfig` in the stack file, or KUBECONFIG.",
        ) from error


def kubernetes_access(settings: StackSettings) -> tuple[str | None, str | None]:
    """Kubeconfig file and context of a stack; None stands for the default.

    Raises CannotRunError when Pulumi's engine alone can read them.
    """
    if settings.local:
        return str(load_endpoints().kubeconfig), None
    inline = ("kubernetes:kubeconfig",) if "\n" in (settings.kubeconfig or "") else ()
    if unusable := (*settings.encrypted_access, *inline):
        raise CannotRunError(
            f"`{unusable[0]}` is {'encrypted' if settings.encrypted_access else 'a whole file, not its path'}",
            shown(stack_file(settings.stack, settings.stacks)),
            "Pulumi's engine alone can read it so; the cluster is asked without it, too.",
            "keep the kubeconfig in a file, and name it by KUBECONFIG or by its path in `kubernetes:kubeconfig`.",
        )
    return settings.kubeconfig, settings.context


@contextmanager
def asking_kubernetes(where: str, why: str, permission: str) -> Iterator[None]:
    """Turn a cluster that refuses or does not answer into a CannotRunError that says why.

    `where` says what is asked of which stack, `why` what for; `permission` is the remedy for a refusal.
    """
    try:
        yield
    except client.ApiException as error:
        remedy = _LOGIN if error.status == _UNAUTHORIZED else permission
        raise CannotRunError(f"Kubernetes answers {error.status} {error.reason}", where, why, remedy) from error
    except HTTPError as error:
        what = f"the Kubernetes API server does not answer: {no_answer(error)}"
        raise CannotRunError(what, where, why, _REMEDY) from error


def no_answer(error: HTTPError) -> str:
    """Why there is none: refused, a certificate that is not valid, an unknown name, a time that is over."""
    cause: BaseException = error
    while (inner := _within(cause)) is not None:
        cause = inner
    text = getattr(cause, "verify_message", None) or getattr(cause, "strerror", None) or str(cause)
    return re.sub(r"^_ssl\.c:\d+: | \(_ssl\.c:\d+\)", "", str(text)).rstrip(".")


def _within(error: BaseException) -> BaseException | None:
    told = (getattr(error, "reason", None), *error.args, error.__cause__)
    return next((each for each in told if isinstance(each, BaseException)), None)
