"""Adds objects that a killed deployment created, but did not record, to Pulumi's state before the next deployment.

The engine only warns about such a pending operation, and the provider then refuses to create an object that exists.
Source: pulumi-kubernetes from 4.29 on, `upsertExistingObjects`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pulumi import automation

from infra.engine.command import Say
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, Reference, reference

_KUBERNETES = "kubernetes:"


@dataclass(frozen=True)
class PendingCreate:
    """A creation that was begun, and its object."""

    urn: str
    object: Reference


def adopt_pending_creates(stack: automation.Stack, api: KubernetesApi, say: Say) -> int:
    """Record what a killed deployment created and forget the rest; returns how many objects were recorded."""
    exported = stack.export_stack()
    state = dict(exported.deployment or {})
    if not state.get("pending_operations"):
        return 0
    with asking_kubernetes(
        f"stack {stack.name}",
        "A deployment was killed, and only the cluster knows whether it created its last object.",
        "allow the account of the stack's Kubernetes context to read what it deploys.",
    ):
        found = [each for each in pending_creates(state) if api.get(each.object) is not None]
    stack.import_stack(automation.Deployment(version=exported.version, deployment=adopting(state, found)))
    if found:
        # The provider's own fields of the state can be read from the object only.
        stack.refresh(target=[each.urn for each in found], on_output=say, on_error=say, suppress_outputs=True)
    return len(found)


def adopting(state: Mapping[str, Any], found: Sequence[PendingCreate]) -> dict[str, Any]:
    """The state with these objects in it and nothing pending, which the engine would warn about for ever."""
    begun = {each["resource"]["urn"]: each["resource"] for each in state.get("pending_operations") or []}
    adopted = [
        {**begun[each.urn], "id": each.object.identifier, "outputs": begun[each.urn]["inputs"]} for each in found
    ]
    return {**state, "resources": [*(state.get("resources") or []), *adopted], "pending_operations": []}


def pending_creates(state: Mapping[str, Any]) -> tuple[PendingCreate, ...]:
    """The Kubernetes objects whose creation is pending and that are not in the state."""
    known = {resource["urn"] for resource in state.get("resources") or []}
    return tuple(
        PendingCreate(operation["resource"]["urn"], reference(operation["resource"]["inputs"]))
        for operation in state.get("pending_operations") or []
        if operation["type"] == "creating"
        and operation["resource"]["urn"] not in known
        and operation["resource"]["type"].startswith(_KUBERNETES)
    )
