"""Cleans up what an unfinished deployment left in Pulumi's state, before the next deployment.

A killed deployment may have created objects that it did not record. The engine only warns about such a pending
operation, and the provider then refuses to create an object that exists. Source: pulumi-kubernetes from 4.29 on,
`upsertExistingObjects`.

A failed deployment leaves the objects that it has replaced, and would delete them at the end of the next one. If the
change is undone, the next deployment would first create them again, and also be refused.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pulumi import automation

from infra.deploy.engine.changed_objects import KUBERNETES
from infra.deploy.engine.command import Say
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, Object, Reference, reference
from infra.machine.waiting import DeadlineError, NotYetError, wait_for

#: How long a provider may outlive its killed engine and finish what it had begun.
_OUTLIVING_SECONDS = 5.0
State = Mapping[str, Any]


@dataclass(frozen=True)
class PendingCreate:
    """A creation that began but was not recorded as finished, and its object."""

    urn: str
    object: Reference


def settle(
    stack: automation.Stack, api: KubernetesApi, declared: Callable[[], Collection[Reference]], say: Say
) -> None:
    """Record what a killed deployment created, and keep what a failed one replaced and this one declares again.

    `declared` returns the objects of this deployment; it is called only if something was left.
    """
    exported = stack.export_stack()
    state: State = exported.deployment or {}
    begun, replaced = pending_creates(state), replaced_objects(state)
    if not state.get("pending_operations") and not replaced:
        return
    with asking_kubernetes(
        f"stack {stack.name}",
        "The last deployment did not finish, and only the cluster shows what it created.",
        "allow the account of the stack's Kubernetes context to read what it deploys.",
    ):
        found = created(begun, api.get)
        again = {each for each in replaced & set(declared() if replaced else ()) if api.get(each) is not None}
    settled = adopting(keeping(state, again), found)
    if settled == state:
        return
    stack.import_stack(automation.Deployment(version=exported.version, deployment=settled))
    if found:
        # Only the object has the provider's own fields of the state.
        stack.refresh(target=[each.urn for each in found], on_output=say, on_error=say, suppress_outputs=True)


def created(
    begun: Sequence[PendingCreate],
    get: Callable[[Reference], Object | None],
    outliving_seconds: float = _OUTLIVING_SECONDS,
) -> list[PendingCreate]:
    """The creations whose object exists, or is created before the killed deployment's provider must have ended."""
    found: list[PendingCreate] = []

    def look() -> None:
        found.extend([each for each in begun if each not in found and get(each.object) is not None])
        if len(found) < len(begun):
            raise NotYetError(f"{len(found)} of {len(begun)} objects")

    with suppress(DeadlineError):
        wait_for("what a killed deployment had begun", look, outliving_seconds)
    return found


def adopting(state: State, found: Sequence[PendingCreate]) -> dict[str, Any]:
    """The state with these objects and nothing pending, because the engine would warn about that forever."""
    if not state.get("pending_operations"):
        return dict(state)
    begun = {each["resource"]["urn"]: each["resource"] for each in state["pending_operations"]}
    adopted = [
        {**begun[each.urn], "id": each.object.identifier, "outputs": begun[each.urn]["inputs"]} for each in found
    ]
    return {**state, "resources": [*(state.get("resources") or []), *adopted], "pending_operations": []}


def pending_creates(state: State) -> tuple[PendingCreate, ...]:
    """The Kubernetes objects whose creation is pending and that are not in the state."""
    known = {resource["urn"] for resource in state.get("resources") or []}
    return tuple(
        PendingCreate(operation["resource"]["urn"], reference(operation["resource"]["inputs"]))
        for operation in state.get("pending_operations") or []
        if operation["type"] == "creating"
        and operation["resource"]["urn"] not in known
        and operation["resource"]["type"].startswith(KUBERNETES)
    )


def replaced_objects(state: State) -> set[Reference]:
    """The Kubernetes objects that are marked for deletion because others have replaced them."""
    return {reference(each["inputs"]) for each in state.get("resources") or [] if _is_replaced(each)}


def keeping(state: State, again: Collection[Reference]) -> dict[str, Any]:
    """The state in which these objects are current again, and those that replaced them are marked for deletion. They
    also swap positions, because the engine requires a resource's dependencies to come before it.
    """
    resources = list(state.get("resources") or [])
    present = {each["urn"]: index for index, each in enumerate(resources) if not each.get("delete")}
    for index, each in enumerate(resources):
        other = present.get(each["urn"])
        if other is not None and _is_replaced(each) and reference(each["inputs"]) in again:
            newer = resources[other]
            resources[other] = {key: value for key, value in each.items() if key != "delete"}
            resources[index] = {**newer, "delete": True}
    return {**state, "resources": resources} if resources else dict(state)


def _is_replaced(resource: Mapping[str, Any]) -> bool:
    return bool(resource.get("delete")) and resource["type"].startswith(KUBERNETES)
