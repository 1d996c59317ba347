"""Small typed client of a Kubernetes API server, shared by the local operator and the local Kubernetes provider.

The kubernetes package reads the kubeconfig; the requests go through httpx, so that every call has a deadline, nothing
is cached on disk, and an answer is the server's JSON unchanged. May import nothing of ours.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from kubernetes import client, config

Object = dict[str, Any]

CALL_DEADLINE_SECONDS = 30.0
APPLY = "application/apply-patch+yaml"


class ApiError(Exception):
    """The API server refused a call, or could not be reached (status 0).

    `status` is the HTTP status, `reason` Kubernetes' one-word reason, `message` the server's own sentence.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message

    @property
    def not_found(self) -> bool:
        return self.status == 404


@dataclass(frozen=True, order=True)
class Reference:
    """What it takes to address one object."""

    api_version: str
    kind: str
    namespace: str | None
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


def reference(item: Mapping[str, Any]) -> Reference:
    metadata = item["metadata"]
    return Reference(item["apiVersion"], item["kind"], metadata.get("namespace"), metadata["name"])


class KubernetesApi:
    """Calls to one API server as the user of one kubeconfig. Safe to share between threads.

    Every method raises ApiError; those that address one object and may miss it answer None instead.
    """

    def __init__(self, kubeconfig: Path, *, field_manager: str) -> None:
        settings = client.Configuration()
        load: Callable[..., None] = config.load_kube_config
        load(config_file=str(kubeconfig), client_configuration=settings, persist_config=False)
        context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file)
        token = settings.api_key.get("BearerToken") or settings.api_key.get("authorization")
        headers = {"Authorization": token} if token else {}
        # trust_env off: a proxy of the environment must never see calls to a server on loopback.
        self._http = httpx.Client(
            base_url=str(settings.host),
            verify=context,
            headers=headers,
            timeout=CALL_DEADLINE_SECONDS,
            # The pool of httpx would close a connection for its age in the moment that another thread takes it.
            limits=httpx.Limits(keepalive_expiry=None),
            trust_env=False,
        )
        self._field_manager = field_manager
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, target: Reference) -> Object | None:
        return self._or_none("GET", target)

    def list_all(self, api_version: str, kind: str, *, label_selector: str = "") -> list[Object]:
        """All objects of a kind in every namespace, each with its apiVersion and kind, which a list leaves out."""
        params = {"labelSelector": label_selector} if label_selector else {}
        answer = self._call("GET", self._collection(api_version, kind, None), params=params)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer["items"]]

    def apply(self, item: Object, *, dry_run: bool = False) -> Object:
        """Server-side apply that takes over conflicting fields and refuses unknown ones by name."""
        target = reference(item)
        params = {"fieldManager": self._field_manager, "force": "true", "fieldValidation": "Strict"}
        if dry_run:
            params["dryRun"] = "All"
        return self._call("PATCH", self._path(target), params=params, body=item, content=APPLY)

    def apply_status(self, target: Reference, status: Object) -> Object | None:
        """Make the status exactly this, as far as it is ours; None when the object is gone."""
        metadata = {"name": target.name, "namespace": target.namespace}
        body = {"apiVersion": target.api_version, "kind": target.kind, "metadata": metadata, "status": status}
        params = {"fieldManager": self._field_manager, "force": "true", "fieldValidation": "Strict"}
        return self._or_none("PATCH", target, suffix="/status", params=params, body=body, content=APPLY)

    def delete(self, target: Reference) -> bool:
        """Ask for the deletion; False when the object was not there. What it owns is collected afterwards.

        In the foreground the garbage collector would first change the object through the newest version that is served,
        which refuses an object that only an older version takes: such a deletion never ends.
        """
        return self._or_none("DELETE", target, body={"propagationPolicy": "Background"}) is not None

    def service_account_token(self, namespace: str, name: str, lifetime_seconds: int) -> str:
        """Token of a ServiceAccount from the TokenRequest API."""
        target = Reference("v1", "ServiceAccount", namespace, name)
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": lifetime_seconds},
        }
        answer = self._call("POST", self._path(target) + "/token", body=body)
        return str(answer["status"]["token"])

    def may_get(self, user: str, resource: str, namespace: str, name: str) -> bool:
        """Whether RBAC lets the user (`system:serviceaccount:<namespace>:<name>`) get one object of the core group."""
        attributes = {"verb": "get", "resource": resource, "namespace": namespace, "name": name}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        }
        answer = self._call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body=body)
        return bool(answer["status"].get("allowed", False))

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        return self._plural(api_version, kind)[1]

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
        """Plural name and whether the kind is namespaced, asked once a kind."""
        known = self._plurals.get((api_version, kind))
        if known is None:
            served = self._served(api_version)
            self._plurals.update(served)
            known = served.get((api_version, kind))
        if known is None:
            raise ApiError(
                404, "NotFound", f"the API server does not serve {kind} in {api_version}: is its CRD installed?"
            )
        return known

    def _served(self, api_version: str) -> dict[tuple[str, str], tuple[str, bool]]:
        try:
            resources = self._call("GET", _group_path(api_version))["resources"]
        except ApiError as error:
            if not error.not_found:
                raise
            return {}
        return {
            (api_version, each["kind"]): (each["name"], each["namespaced"])
            for each in resources
            if "/" not in each["name"]
        }

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Object | None = None,
        content: str = "application/json",
    ) -> Object:
        try:
            answer = self._http.request(
                method, path, params=dict(params or {}), json=body, headers={"Content-Type": content}
            )
        except httpx.HTTPError as error:
            raise ApiError(
                0, "Unreachable", f"the API server at {self._http.base_url} did not answer: {error}"
            ) from error
        if answer.is_success:
            return dict(answer.json())
        raise _refusal(answer)


def _group_path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _refusal(answer: httpx.Response) -> ApiError:
    try:
        status = answer.json()
    except ValueError:
        return ApiError(answer.status_code, "Unknown", answer.text.strip() or f"HTTP {answer.status_code}")
    return ApiError(answer.status_code, status.get("reason", "Unknown"), status.get("message", answer.text))
