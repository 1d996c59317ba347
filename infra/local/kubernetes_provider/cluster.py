"""The provider's operations on the cluster: create, preview, update, read and delete one object by its inputs."""

import threading

from infra.local.kubernetes_api import ApiError, KubernetesApi, Object, Reference, reference
from infra.local.kubernetes_provider import manifests
from infra.local.kubernetes_provider.wire import Properties, has_unknowns
from infra.local.waiting import DeadlineError, NotYetError, wait_for

FIELD_MANAGER = "pulumi-kubernetes"

DEFAULT_DEADLINE_SECONDS = 300.0
"""For a deletion or an awaited condition, unless the resource has a custom timeout."""


class OperationError(Exception):
    """An operation that cannot be done; the message is for the user."""


class NotReadyError(OperationError):
    """The object is in the cluster, but did not become ready: `outputs` is what the state must keep of it."""

    def __init__(self, message: str, outputs: Properties) -> None:
        super().__init__(message)
        self.outputs = outputs


class Cluster:
    """Objects of one API server. Safe to share between threads."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End every wait that is under way."""
        self._cancelled.set()

    def resume(self) -> None:
        """Allow waits again: a new run of the engine begins."""
        self._cancelled.clear()

    def with_namespace(self, inputs: Properties) -> Properties:
        """Inputs with the namespace `default` where a namespaced kind names none; as they are if it is not served."""
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
        """What a creation would give. The server is asked, unless something that it would need is not there yet."""
        if has_unknowns(inputs):
            return inputs
        try:
            live = self._api.get(reference(inputs))
        except ApiError as error:
            if error.not_found:
                return inputs
            raise
        if live is None:
            self._dry_run(inputs)
        elif not manifests.applied_by(live, FIELD_MANAGER):
            raise _exists(reference(inputs))
        # Else it is ours: a replacement that deletes the old object first, which only the engine knows here.
        return inputs

    def create(self, inputs: Properties, deadline_seconds: float) -> Properties:
        target = reference(inputs)
        if self._api.get(target) is not None:
            raise _exists(target)
        live = self._api.apply(manifests.manifest(inputs))
        self._await_condition(inputs, live, deadline_seconds)
        return manifests.outputs(inputs, live)

    def preview_update(self, inputs: Properties) -> Properties:
        if not has_unknowns(inputs):
            self._dry_run(inputs)
        return inputs

    def update(self, inputs: Properties, deadline_seconds: float) -> Properties:
        live = self._api.apply(manifests.manifest(inputs))
        self._await_condition(inputs, live, deadline_seconds)
        return manifests.outputs(inputs, live)

    def read(self, identifier: str, inputs: Properties) -> tuple[Properties, Properties] | None:
        """Live inputs and outputs, or None when the object is gone. `inputs` may hold only apiVersion and kind."""
        target = manifests.reference_of_id(identifier, inputs)
        try:
            live = self._api.get(target)
        except ApiError as error:
            if error.not_found:
                return None
            raise
        if live is None:
            return None
        if "metadata" in inputs:
            read = manifests.live_inputs(inputs, live)
        elif target.kind == "Secret":
            raise OperationError(f"{target}: the local provider does not read a Secret that it did not create")
        else:
            read = manifests.unrefined_inputs(live)
        return read, manifests.outputs(read, live)

    def delete(self, inputs: Properties, deadline_seconds: float) -> None:
        """Delete the object and wait until it is gone; a missing one is fine."""
        target = reference(inputs)

        def gone() -> None:
            self._stop_if_cancelled()
            live = self._api.get(target)
            if live is not None:
                raise NotYetError(_why_still_there(live))

        try:
            if self._api.delete(target):
                wait_for(f"the deletion of {target}", gone, deadline_seconds, interval_seconds=0.2)
        except ApiError as error:
            # The kind is no longer served: its CRD is gone, and every object with it.
            if not error.not_found:
                raise
        except DeadlineError as error:
            raise OperationError(str(error)) from error

    def _dry_run(self, inputs: Properties) -> None:
        try:
            self._api.apply(manifests.manifest(inputs), dry_run=True)
        except ApiError as error:
            if not error.not_found:
                raise

    def _await_condition(self, inputs: Properties, live: Object, deadline_seconds: float) -> None:
        condition = manifests.awaited_condition(inputs)
        if condition is None:
            return
        target = reference(inputs)

        def holds() -> None:
            self._stop_if_cancelled()
            now = self._api.get(target)
            held, seen = manifests.condition_seen(now, condition) if now else (False, "it is gone")
            if not held:
                raise NotYetError(seen)

        try:
            wait_for(f"{target} to be {condition}", holds, deadline_seconds, interval_seconds=0.5)
        except (DeadlineError, OperationError, ApiError) as error:
            raise NotReadyError(str(error), manifests.outputs(inputs, live)) from error

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise OperationError("cancelled")


def _exists(target: Reference) -> OperationError:
    return OperationError(
        f"{target} already exists and is not of this stack; delete it, or take it over with `pulumi import`"
    )


def _why_still_there(live: Object) -> str:
    finalizers = live["metadata"].get("finalizers") or (live.get("spec") or {}).get("finalizers") or []
    conditions = (live.get("status") or {}).get("conditions", [])
    words = [str(each["message"]) for each in conditions if each.get("status") == "True" and each.get("message")]
    if finalizers:
        words.append(f"finalizers {', '.join(finalizers)}")
    return "; ".join(words) or "still there"
