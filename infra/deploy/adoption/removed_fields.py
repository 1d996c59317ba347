"""A live object before adoption: what the stack declares of it, and what adoption would remove. Pure. Every field owner
yields to Pulumi, which then removes what the stack does not declare. Fields that Kubernetes and the operator set stay.
"""

from collections.abc import Mapping
from typing import Any

from components.render.planned_objects import Manifest
from infra.kubernetes.managed_fields import Path, owners_of
from infra.review.live_objects import as_declared

#: Kubernetes writes it again at once.
_NAME_OF_NAMESPACE = ("metadata", "labels", "kubernetes.io/metadata.name")
#: An annotation may hold the whole object, with credentials.
_ANNOTATIONS = ("metadata", "annotations")
_HIDDEN = "(not shown)"
_OF_METADATA = ("name", "namespace", "labels", "annotations")


def before_take_over(live: Manifest, declared: Manifest) -> Manifest:
    """The fields of a live object that the stack declares or that adoption removes, written as the stack does."""
    body = as_declared(live, declared)
    metadata = {key: body["metadata"][key] for key in _OF_METADATA if key in body["metadata"]}
    known = {key: value for key, value in body.items() if key != "status"}
    found: Manifest = _kept(live, {**known, "metadata": metadata}, declared, ())
    return found


def _kept(whole: Manifest, value: Any, declared: Any, path: Path) -> Any:
    if not isinstance(value, Mapping) or not isinstance(declared, Mapping):
        return value
    kept = {}
    for key, inner in value.items():
        here = (*path, key)
        if key in declared:
            kept[key] = _kept(whole, inner, declared[key], here)
        elif (left := _removed(whole, inner, here)) is not None:
            kept[key] = left
    return kept


def _removed(whole: Manifest, value: Any, path: Path) -> Any:
    """What adoption removes of an undeclared field; None if nothing."""
    if isinstance(value, Mapping) and value:
        inner = {key: left for key, each in value.items() if (left := _removed(whole, each, (*path, key))) is not None}
        return inner or None
    owners = owners_of(whole, path)
    if path == _NAME_OF_NAMESPACE or not owners or any(owner.stays for owner in owners):
        return None
    return _HIDDEN if path[: len(_ANNOTATIONS)] == _ANNOTATIONS else value
