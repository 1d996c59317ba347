"""Reads who wrote the fields of a live object, and when. Pure. Source: Kubernetes managedFields, FieldsV1."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.render.planned_objects import Manifest

#: Field managers that deploy what a stack declares. Everybody else edits by hand.
DEPLOYERS = ("pulumi-kubernetes", "argocd-controller", "kustomize-controller")

Path = tuple[str, ...]


@dataclass(frozen=True)
class Owner:
    """A field manager, and when it last wrote one of its fields; `since` is a time as Kubernetes writes it."""

    manager: str
    since: str

    @property
    def yields(self) -> bool:
        """Whether Pulumi takes over this manager's fields when it next changes the object, and removes undeclared ones.

        Source: pulumi-kubernetes provider/pkg/await/await.go, fixCSAFieldManagers.
        """
        return self.manager.startswith(("kubectl", "before-first-apply"))

    @property
    def deploys(self) -> bool:
        return self.manager.startswith(DEPLOYERS)


def owners(live: Manifest) -> list[Owner]:
    """Who owns any field of an object, the status aside, in the order in which the API server lists them."""
    return [owner for owner, _ in _managed(live)]


def owner_of(live: Manifest, path: Path) -> Owner | None:
    """Who owns a field: an editor rather than a deployer; None for what only the server set, such as a default."""
    found = [owner for owner, fields in _managed(live) if _owns(fields, path)]
    return min(found, key=lambda owner: owner.deploys, default=None)


def newest_writer(live: Manifest, field: str) -> Owner | None:
    """Who was the last to write any part of a top-level field, the status aside."""
    found = [owner for owner, fields in _managed(live) if f"f:{field}" in fields]
    return max(found, key=lambda owner: owner.since, default=None)


def status_time(live: Manifest) -> str:
    """When the operator last wrote the status, which it does when the status changes; empty if that is not recorded."""
    entries = live["metadata"].get("managedFields") or []
    return max((each.get("time", "") for each in entries if each.get("subresource") == "status"), default="")


def is_deployed(live: Manifest) -> bool:
    """Whether a deployer owns any field of an object; otherwise somebody created it by hand."""
    return any(owner.deploys for owner in owners(live))


def _managed(live: Manifest) -> Iterator[tuple[Owner, Mapping[str, Any]]]:
    for entry in live["metadata"].get("managedFields") or []:
        if entry.get("subresource") != "status":
            yield Owner(entry.get("manager", ""), entry.get("time", "")), entry.get("fieldsV1") or {}


def _owns(fields: Mapping[str, Any], path: Path) -> bool:
    for step in path:
        inner = fields.get(f"f:{step}")
        if inner is None:
            return False
        if not inner:
            # A leaf owns everything below it: it is a value, or a list that is written as a whole.
            return True
        fields = inner
    return True
