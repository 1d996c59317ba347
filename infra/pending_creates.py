"""Objects that a killed deployment created without noting it in Pulumi's state: taken into the state before the next.

The engine keeps such an operation as pending and warns, and the provider then refuses to create what exists already.
Source: pulumi-kubernetes from 4.29 on, `upsertExistingObjects`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes import client
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import NotFoundError, ResourceNotFoundError
from pulumi import automation

from infra.kubernetes_access import asking_kubernetes

_CALL_SECONDS = 10
_KUBERNETES = "kubernetes:"

Say = Callable[[str], object]


@dataclass(frozen=True)
class PendingCreate:
    """A creation that was begun, and the object that it was to make; `namespace` is empty for one without."""

    urn: str
    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def identifier(self) -> str:
        """The provider's id of the object. Source: pulumi-kubernetes, `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def adopt_pending_creates(stack: automation.Stack, api: client.ApiClient, say: Say) -> int:
    """Note in the state what a killed deployment created, forget what it did not; how many objects were noted."""
    exported = stack.export_stack()
    state = dict(exported.deployment or {})
    if not state.get("pending_operations"):
        return 0
    with asking_kubernetes(
        f"stack {stack.name}",
        "A deployment was killed: whether the object that it was to create is there decides how to go on.",
        "let the account of the stack's Kubernetes context read what it deploys.",
    ):
        found = [each for each in pending_creates(state) if _exists(api, each)]
    stack.import_stack(automation.Deployment(version=exported.version, deployment=adopting(state, found)))
    if found:
        # What the provider itself keeps of an object is read from the object.
        stack.refresh(target=[each.urn for each in found], on_output=say, on_error=say, suppress_outputs=True)
    return len(found)


def adopting(state: Mapping[str, Any], found: Sequence[PendingCreate]) -> dict[str, Any]:
    """The state with these objects in it, and nothing pending, of which the engine would warn for ever."""
    begun = {each["resource"]["urn"]: each["resource"] for each in state.get("pending_operations") or []}
    adopted = [{**begun[each.urn], "id": each.identifier, "outputs": begun[each.urn]["inputs"]} for each in found]
    return {**state, "resources": [*(state.get("resources") or []), *adopted], "pending_operations": []}


def pending_creates(state: Mapping[str, Any]) -> tuple[PendingCreate, ...]:
    """The Kubernetes objects whose creation is pending and that the state does not hold in spite of it."""
    known = {resource["urn"] for resource in state.get("resources") or []}
    return tuple(
        _pending(operation["resource"])
        for operation in state.get("pending_operations") or []
        if operation["type"] == "creating"
        and operation["resource"]["urn"] not in known
        and operation["resource"]["type"].startswith(_KUBERNETES)
    )


def _pending(resource: Mapping[str, Any]) -> PendingCreate:
    inputs = resource["inputs"]
    metadata = inputs["metadata"]
    return PendingCreate(
        resource["urn"], inputs["apiVersion"], inputs["kind"], metadata.get("namespace", ""), metadata["name"]
    )


def _exists(api: client.ApiClient, pending: PendingCreate) -> bool:
    dynamic: Any = DynamicClient(api)  # type: ignore[no-untyped-call]
    try:
        resource = dynamic.resources.get(api_version=pending.api_version, kind=pending.kind)
        resource.get(name=pending.name, namespace=pending.namespace or None, _request_timeout=_CALL_SECONDS)
    except (NotFoundError, ResourceNotFoundError):
        return False
    return True
