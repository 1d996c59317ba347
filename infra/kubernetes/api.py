"""The one client of a Kubernetes API server: JSON objects in and out, each call with a deadline.

The kubernetes package reads the kubeconfig, logs in and sends; its typed and dynamic clients are not used, because they
cannot ask for strict validation, and convert every answer to objects and back. Imports nothing of ours.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from kubernetes import client, config
from kubernetes.config.incluster_config import SERVICE_HOST_ENV_NAME
from urllib3 import Retry
from urllib3.exceptions import HTTPError

Object = dict[str, Any]

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 30.0
CONNECTIONS = 32
"""As many as the local provider has threads: a further connection is closed after one call."""

_APPLY = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
#: The server may ask the client to wait (429 with Retry-After). A server that does not answer is not asked again.
_RETRIES = Retry(total=3, connect=0, read=1, other=0)


class ApiError(Exception):
    """The API server refused a call or did not answer.

    `status` is the HTTP status, or 0 without an answer; `reason` is Kubernetes' one-word reason, and `message` the
    server's own sentence.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.unreachable = status == 0
        self.forbidden = status == 403
        self.not_found = status == 404
        self.conflict = status == 409


@dataclass(frozen=True, order=True)
class Reference:
    """The address of one object."""

    api_version: str
    kind: str
    namespace: str | None
    name: str

    @property
    def identifier(self) -> str:
        """Namespace and name, or the name of a cluster-wide object; Pulumi's id. Source: pulumi-kubernetes."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.identifier}"


def reference(item: Mapping[str, Any]) -> Reference:
    metadata = item["metadata"]
    return Reference(item["apiVersion"], item["kind"], metadata.get("namespace"), metadata["name"])


def annotations_of(item: Mapping[str, Any]) -> dict[str, str]:
    return dict(item["metadata"].get("annotations") or {})


class KubernetesApi:
    """Calls to one API server as the user of one kubeconfig. Safe to share between threads.

    Every method raises ApiError. Those that address one object return None (`delete` False) if it does not exist.
    """

    def __init__(self, kubeconfig: Path | str | None = None, *, field_manager: str, context: str | None = None) -> None:
        """Without `kubeconfig` or `context`, uses what kubectl would, in a pod without a kubeconfig the pod's account.
        Raises what the kubernetes package raises.
        """
        settings = client.Configuration()
        load: Callable[..., None] = config.load_kube_config
        try:
            load(config_file=kubeconfig and str(kubeconfig), context=context, client_configuration=settings)
        except config.ConfigException:
            if kubeconfig or context or SERVICE_HOST_ENV_NAME not in os.environ:
                raise
            in_pod: Callable[..., None] = config.load_incluster_config
            in_pod(client_configuration=settings)
        if urlsplit(settings.host).hostname in _LOOPBACK:
            # A proxy from the environment must never see these calls.
            settings.proxy = None
        settings.connection_pool_maxsize = CONNECTIONS
        settings.retries = _RETRIES
        self._client = client.ApiClient(settings)
        self._field_manager = field_manager
        self._seconds = CONNECT_SECONDS, ANSWER_SECONDS
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        close: Callable[[], None] = self._client.close
        close()

    def within(self, seconds: tuple[float, float]) -> Self:
        """Return the same client with other time limits: to connect, and for the answer to each call."""
        other = copy(self)
        other._seconds = seconds
        return other

    def get(self, target: Reference) -> Object | None:
        return self._or_none("GET", target)

    def list_all(
        self, api_version: str, kind: str, *, label_selector: str = "", namespace: str | None = None
    ) -> list[Object]:
        """Return all objects of a kind, in one namespace or all; each has the apiVersion and kind that a list leaves
        out.
        """
        params = {"labelSelector": label_selector} if label_selector else {}
        answer = self._call("GET", self._collection(api_version, kind, namespace), params=params)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer["items"]]

    def list_if_served(
        self, api_version: str, kind: str, *, label_selector: str = "", namespace: str | None = None
    ) -> list[Object]:
        """The same; none for a kind that is not served."""
        try:
            return self.list_all(api_version, kind, label_selector=label_selector, namespace=namespace)
        except ApiError as error:
            if error.not_found:
                return []
            raise

    def list_where_allowed(
        self, api_version: str, kind: str, namespaces: Iterable[str], *, label_selector: str
    ) -> list[Object]:
        """Return the objects with these labels, from the whole cluster, or if that is forbidden, from these namespaces.
        None for a kind that is not served.
        """
        try:
            return self.list_if_served(api_version, kind, label_selector=label_selector)
        except ApiError as error:
            if not error.forbidden:
                raise
        within = namespaces if self.is_namespaced(api_version, kind) else ()
        lists = (self.list_all(api_version, kind, label_selector=label_selector, namespace=name) for name in within)
        return [item for items in lists for item in items]

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        target = reference(item)
        path = self._collection(target.api_version, target.kind, target.namespace)
        return self._call("POST", path, params=self._writing(fieldValidation="Strict", dry_run=dry_run), body=item)

    def replace(self, item: Object) -> Object:
        """Make the object exactly this, whoever wrote the earlier one."""
        return self._call("PUT", self._path(reference(item)), params=self._writing(), body=item)

    def apply(self, item: Object, *, dry_run: bool = False, force: bool = True) -> Object:
        """Apply on the server, and fail with the name of an unknown field.

        `force` takes over fields that others own; without it such a field is a conflict, which names the others.
        """
        params = self._writing(force=str(force).lower(), fieldValidation="Strict", dry_run=dry_run)
        return self._call("PATCH", self._path(reference(item)), params=params, body=item, content=_APPLY)

    def patch(self, target: Reference, operations: list[Object]) -> Object:
        """Change an object by a JSON patch (RFC 6902), in the API version that `target` names."""
        return self._call("PATCH", self._path(target), params=self._writing(), body=operations, content=_JSON_PATCH)

    def apply_status(self, target: Reference, status: Object) -> Object | None:
        """Make our fields of the status exactly this; None if the object was deleted."""
        metadata = {"name": target.name, "namespace": target.namespace}
        body = {"apiVersion": target.api_version, "kind": target.kind, "metadata": metadata, "status": status}
        params = self._writing(force="true", fieldValidation="Strict")
        return self._or_none("PATCH", target, suffix="/status", params=params, body=body, content=_APPLY)

    def delete(self, target: Reference, *, foreground: bool = False) -> bool:
        """Request the deletion; False if the object did not exist. The garbage collector deletes what the object owns.
        With `foreground` it deletes them first, and updates the object in the newest served version. If that version
        refuses the object, because only an older version accepts it, the deletion never ends.
        """
        policy = "Foreground" if foreground else "Background"
        return self._or_none("DELETE", target, body={"propagationPolicy": policy}) is not None

    def service_account_token(self, namespace: str, name: str, lifetime_seconds: int) -> str:
        """Return a token of a ServiceAccount from the TokenRequest API."""
        target = Reference("v1", "ServiceAccount", namespace, name)
        spec = {"expirationSeconds": lifetime_seconds}
        return str(
            self._asked(self._path(target) + "/token", "authentication.k8s.io/v1", "TokenRequest", spec)["token"]
        )

    def may_get(self, user: str, resource: str, namespace: str, name: str) -> bool:
        """Return whether RBAC allows the user (`system:serviceaccount:<namespace>:<name>`) to get this object."""
        attributes = {"verb": "get", "resource": resource, "namespace": namespace, "name": name}
        return self._allowed("SubjectAccessReview", {"user": user, "resourceAttributes": attributes})

    def may(self, verb: str, group: str, resource: str, namespace: str, name: str) -> bool:
        """Return whether the client's own user may do this; `name` is "" for a whole collection."""
        place = {"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name}
        return self._allowed("SelfSubjectAccessReview", {"resourceAttributes": place})

    def _allowed(self, review: str, spec: Object) -> bool:
        version = "authorization.k8s.io/v1"
        status = self._asked(f"/apis/{version}/{review.lower()}s", version, review, spec)
        return bool(status.get("allowed", False))

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        return self._plural(api_version, kind)[1]

    def _writing(self, *, dry_run: bool = False, **params: str) -> dict[str, str]:
        return {"fieldManager": self._field_manager, **params, **({"dryRun": "All"} if dry_run else {})}

    def _asked(self, path: str, api_version: str, kind: str, spec: Object) -> Object:
        """Return the status of an object that the server returns but does not store."""
        body = {"apiVersion": api_version, "kind": kind, "spec": spec}
        return dict(self._call("POST", path, body=body)["status"])

    def _or_none(self, method: str, target: Reference, *, suffix: str = "", **request: Any) -> Object | None:
        try:
            return self._call(method, self._path(target) + suffix, **request)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def _path(self, target: Reference) -> str:
        return f"{self._collection(target.api_version, target.kind, target.namespace)}/{target.name}"

    def _collection(self, api_version: str, kind: str, namespace: str | None) -> str:
        plural, namespaced = self._plural(api_version, kind)
        place = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{_group_path(api_version)}{place}/{plural}"

    def _plural(self, api_version: str, kind: str) -> tuple[str, bool]:
        """Return the plural name of a kind, and whether it is namespaced; the server is asked once for each kind."""
        if (api_version, kind) not in self._plurals:
            for resource in self._served(api_version):
                if "/" not in resource["name"]:
                    self._plurals[api_version, resource["kind"]] = resource["name"], resource["namespaced"]
        if (api_version, kind) not in self._plurals:
            message = f"the API server does not serve {kind} in {api_version}: is its CRD installed?"
            raise ApiError(404, "NotFound", message)
        return self._plurals[api_version, kind]

    def _served(self, api_version: str) -> list[Object]:
        try:
            return list(self._call("GET", _group_path(api_version))["resources"])
        except ApiError as error:
            if not error.not_found:
                raise
            return []

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Object | list[Object] | None = None,
        content: str = "application/json",
    ) -> Object:
        request = self._client.param_serialize(
            method,
            path,
            query_params=list((params or {}).items()),
            header_params={"Accept": "application/json", "Content-Type": content},
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            answer = self._client.call_api(*request, _request_timeout=self._seconds)
            read: Callable[[], bytes] = answer.read
            text = read().decode()
        except HTTPError as error:
            host = self._client.configuration.host
            message = f"the Kubernetes API server at {host} does not answer: {_no_answer(error)}"
            raise ApiError(0, "Unreachable", message) from error
        if 200 <= answer.status < 300:
            return dict(json.loads(text))
        raise _refusal(answer.status, text)


def _group_path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _refusal(status: int, text: str) -> ApiError:
    try:
        said = json.loads(text)
    except ValueError:
        return ApiError(status, "Unknown", text.strip() or f"HTTP {status}")
    return ApiError(status, said.get("reason", "Unknown"), said.get("message", text))


def _no_answer(error: HTTPError) -> str:
    """Return why there is no answer: the connection was refused, a certificate is not valid, a name is unknown, or time
    ran out.
    """
    cause: BaseException = error
    while (inner := _within(cause)) is not None:
        cause = inner
    text = getattr(cause, "verify_message", None) or getattr(cause, "strerror", None) or str(cause)
    return re.sub(r"^_ssl\.c:\d+: | \(_ssl\.c:\d+\)", "", str(text)).rstrip(".")


def _within(error: BaseException) -> BaseException | None:
    causes = (getattr(error, "reason", None), *error.args, error.__cause__)
    return next((cause for cause in causes if isinstance(cause, BaseException)), None)
