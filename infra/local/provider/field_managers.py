"""Whose fields an update takes over, and which it forces, as the real Kubernetes provider does. Pure.

Source: pulumi-kubernetes provider/pkg/await/await.go (fixCSAFieldManagers, patchForce, handleSSAErr) and
fluxcd/pkg/ssa PatchReplaceFieldsManagers.
"""

from collections.abc import Mapping
from typing import Any

from infra.kubernetes.api import ApiError, Object
from infra.kubernetes.managed_fields import PULUMI, union

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
    """The JSON patch that gives the provider the fields that kubectl wrote or that it created itself; may be empty."""
    entries = live["metadata"].get("managedFields") or []
    ours = [each for each in entries if _is_ours(each)]
    taken = [each for each in entries if not _is_ours(each) and _is_taken_over(each)]
    if not taken:
        return []
    first, *others = [*ours, *taken]
    fields = first["fieldsV1"]
    for each in others:
        fields = union(fields, each["fieldsV1"])
    merged = {**first, "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields}
    kept = [each for each in entries if each not in ours and each not in taken]
    return [{"op": "replace", "path": "/metadata/managedFields", "value": [*kept, merged]}]


def preview_forces(live: Object) -> bool:
    """Whether a preview forces its fields. An update does not: it first takes over what the provider created."""
    entries = live["metadata"].get("managedFields") or []
    return any(each.get("manager") == FIELD_MANAGER and each["operation"] == "Update" for each in entries)


def said_of_conflict(error: ApiError) -> str:
    """The provider's message when fields belong to somebody else."""
    return (
        f"server-side apply field conflict detected, see {_GUIDE} for troubleshooting help\n"
        f'The resource managed by field manager "{FIELD_MANAGER}" had an apply conflict: {error.message}'
    )


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == FIELD_MANAGER and entry["operation"] == "Apply"


def _is_taken_over(entry: Mapping[str, Any]) -> bool:
    if entry.get("subresource"):
        return False
    manager, operation = entry.get("manager", ""), entry["operation"]
    return any(manager.startswith(begins) and operation == written for begins, written in _TAKEN_OVER)
