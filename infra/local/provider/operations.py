"""Previews, creates, updates, reads and deletes one object by its inputs, as the real Kubernetes provider does; also
takes over fields from other owners as it does.

Source: pulumi-kubernetes provider/pkg/await/await.go (fixCSAFieldManagers, patchForce, handleSSAErr) and
fluxcd/pkg/ssa PatchReplaceFieldsManagers.
"""

import threading
from collections.abc import Mapping
from typing import Any

from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference, reference
from kafka_replication.infra.kubernetes.managed_fields import PULUMI, owners, union
from kafka_replication.infra.local.provider import manifests
from kafka_replication.infra.local.provider.manifests import Properties, has_unknowns
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for

FIELD_MANAGER = PULUMI

#: Prefixes of managers' names, and the kind of write that made them owners.
_TAKEN_OVER = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    (FIELD_MANAGER, "Update"),
)
_GUIDE = (
    "https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/"
    "#handle-field-conflicts-on-existing-resources"
)


def take_over(live: Object) -> list[Object]:
    """Return the JSON patch, if any, that gives the provider what kubectl wrote or it created itself."""
    entries = live["metadata"].get("managedFields") or []
    ours = [entry for entry in entries if _is_ours(entry)]
    taken = [entry for entry in entries if not _is_ours(entry) and _is_taken_over(entry)]
    if not taken:
        return []
    first, *others = [*ours, *taken]
    fields = first["fieldsV1"]
    for entry in others:
        fields = union(fields, entry["fieldsV1"])
    merged = {**first, "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields}
    kept = [entry for entry in entries if entry not in ours and entry not in taken]
    return [{"op": "replace", "path": "/metadata/managedFields", "value": [*kept, merged]}]


def preview_forces(live: Object) -> bool:
    """Return whether a preview forces its fields. An update does not: it first takes over what the provider created."""
    entries = live["metadata"].get("managedFields") or []
    return any(entry.get("manager") == FIELD_MANAGER and entry["operation"] == "Update" for entry in entries)


def said_of_conflict(error: ApiError) -> str:
    """Return the provider's message when fields belong to somebody else."""
    return (
        f"server-side apply field conflict detected, see {_GUIDE} for troubleshooting help\n"
        f'The resource managed by field manager "{FIELD_MANAGER}" had an apply conflict: {error.message}'
    )


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == FIELD_MANAGER and entry["operation"] == "Apply"


def _is_taken_over(entry: Mapping[str, Any]) -> bool:
    manager, written = entry.get("manager", ""), entry["operation"]
    taken = any(manager.startswith(begins) and written == operation for begins, operation in _TAKEN_OVER)
    return taken and not entry.get("subresource")


#: For a deletion, unless the resource has a custom timeout.
DEFAULT_DEADLINE_SECONDS = 300.0


class OperationError(Exception):
    """An operation failed; the message is for the user."""


class NotReadyError(OperationError):
    """The object exists but differs from the request; `outputs` is what the state must store."""

    def __init__(self, message: str, outputs: Properties) -> None:
        super().__init__(message)
        self.outputs = outputs


class Operations:
    """Works on the objects of one API server. Safe to share between threads."""

    def __init__(self, api: KubernetesApi, *, patch_force: bool) -> None:
        """`patch_force` is the provider's option enablePatchForce: take over fields from other owners."""
        self._api = api
        self._patch_force = patch_force
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End every current wait."""
        self._cancelled.set()

    def resume(self) -> None:
        """Allow waits again, because a new run of the engine begins."""
        self._cancelled.clear()

    def with_namespace(self, inputs: Properties) -> Properties:
        """Return the inputs, with the namespace `default` if the kind is namespaced and they name none."""
        metadata = inputs["metadata"]
        if not isinstance(metadata, dict) or metadata.get("namespace") is not None:
            return inputs
        try:
            namespaced = self._api.is_namespaced(inputs["apiVersion"], inputs["kind"])
        except ApiError as error:
            if not error.not_found:
                raise
            namespaced = False
        return {**inputs, "metadata": {**metadata, "namespace": "default"}} if namespaced else inputs

    def preview_create(self, inputs: Properties) -> Properties:
        """Return the outputs of a creation. The server validates it, unless an input is still unknown."""
        if has_unknowns(inputs):
            return inputs
        live = self._api.get(reference(inputs))
        if live is None:
            self._dry_run(inputs)
        elif FIELD_MANAGER not in {owner.manager for owner in owners(live)}:
            raise _exists(reference(inputs))
        # Otherwise it is ours: the engine will replace it and delete the old object first.
        return inputs

    def create(self, inputs: Properties) -> Properties:
        target = reference(inputs)
        if self._api.get(target) is not None:
            raise _exists(target)
        return manifests.outputs(inputs, self._api.create(manifests.manifest(inputs)))

    def preview_update(self, inputs: Properties) -> Properties:
        if not has_unknowns(inputs):
            live = self._existing(inputs)
            self._apply(inputs, live, force=preview_forces(live), dry_run=True)
        return inputs

    def update(self, inputs: Properties) -> Properties:
        """Apply the inputs; an object that was deleted, or that the new API version refuses, is an error."""
        before = self._existing(inputs)
        try:
            # Even with nothing to take over: the server then validates the existing object in the new API version.
            self._api.patch(reference(inputs), take_over(before))
        except ApiError as error:
            raise _failed(inputs, before, error.message) from error
        return manifests.outputs(inputs, self._apply(inputs, before, force=False))

    def _existing(self, inputs: Properties) -> Object:
        live = self._api.get(reference(inputs))
        if live is None:
            identifier, kind = reference(inputs).identifier, inputs["kind"]
            raise OperationError(f'update of resource "{identifier}" failed: {kind.lower()}s "{identifier}" not found')
        return live

    def _apply(self, inputs: Properties, live: Object, *, force: bool, dry_run: bool = False) -> Object:
        try:
            return self._api.apply(manifests.manifest(inputs), dry_run=dry_run, force=force or self._patch_force)
        except ApiError as error:
            raise _failed(inputs, live, said_of_conflict(error) if error.conflict else error.message) from error

    def read(self, identifier: str, inputs: Properties) -> tuple[Properties, Properties] | None:
        """Return the live inputs and outputs, or None if the object was deleted. `inputs` may contain only apiVersion
        and kind.
        """
        target = manifests.reference_of_id(identifier, inputs)
        live = self._api.get(target)
        if live is None:
            return None
        if "metadata" in inputs:
            read = manifests.live_inputs(inputs, live)
        elif target.kind == "Secret":
            raise OperationError(f"{target}: the local provider does not read a Secret that it did not create")
        else:
            read = manifests.imported_inputs(live)
        return read, manifests.outputs(read, live)

    def delete(self, inputs: Properties, deadline_seconds: float) -> None:
        """Delete the object and wait for its end; a missing object is ignored."""
        target = reference(inputs)

        def gone() -> None:
            if self._cancelled.is_set():
                raise OperationError("cancelled")
            live = self._api.get(target)
            if live is not None:
                raise NotYetError(_why_still_there(live))

        try:
            if self._api.delete(target, foreground=manifests.deletes_in_foreground(inputs)):
                wait_for(f"the deletion of {target}", gone, deadline_seconds)
        except DeadlineError as error:
            raise OperationError(error.what) from error

    def _dry_run(self, inputs: Properties) -> None:
        """Ask the server whether it would create the object; its namespace may not exist yet."""
        try:
            self._api.create(manifests.manifest(inputs), dry_run=True)
        except ApiError as error:
            if not error.not_found:
                raise


def _failed(inputs: Properties, live: Object, said: str) -> NotReadyError:
    """Return the provider's words for an update that the API server refused."""
    what = f'the Kubernetes API server reported that "{reference(inputs).identifier}" failed to fully initialize or'
    return NotReadyError(f"{what} become live: {said}", manifests.outputs(inputs, live))


def _exists(target: Reference) -> OperationError:
    return OperationError(
        f"{target} already exists and does not belong to this stack; delete it, or take it over with `pulumi import`"
    )


def _why_still_there(live: Object) -> str:
    finalizers = live["metadata"].get("finalizers") or (live.get("spec") or {}).get("finalizers") or []
    conditions = (live.get("status") or {}).get("conditions", [])
    words = [
        str(condition["message"])
        for condition in conditions
        if condition.get("status") == "True" and condition.get("message")
    ]
    if finalizers:
        words.append(f"finalizers {', '.join(finalizers)}")
    return "; ".join(words) or "it still exists"
