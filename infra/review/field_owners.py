"""Who wrote a field of a Kubernetes object, and when. Pure. Source: Kubernetes managedFields, FieldsV1."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.specs.planned import Manifest

#: Field managers that deploy what a stack declares; everybody else edits by hand.
DEPLOYERS = ("pulumi-kubernetes", "argocd-controller", "kustomize-controller")

Path = tuple[str, ...]


@dataclass(frozen=True)
class Owner:
    """A field manager, and when it last wrote any of its fields of the object, as Kubernetes writes times."""

    manager: str
    since: str

    @property
    def deploys(self) -> bool:
        return self.manager.startswith(DEPLOYERS)


def owner_of(live: Manifest, path: Path) -> Owner | None:
    """Who owns a field: somebody by hand before a deployer; None for what only the server set, such as a default."""
    found = [owner for owner, fields in _managed(live) if _owns(fields, path)]
    return min(found, key=lambda owner: owner.deploys, default=None)


def newest_writer(live: Manifest, field: str) -> Owner | None:
    """Who wrote any part of a top-level field last, a status aside."""
    found = [owner for owner, fields in _managed(live) if f"f:{field}" in fields]
    return max(found, key=lambda owner: owner.since, default=None)


def status_time(live: Manifest) -> str:
    """When the operator last wrote a status, which it does when that differs; empty where nobody noted it."""
    entries = live["metadata"].get("managedFields") or []
    return max((each.get("time", "") for each in entries if each.get("subresource") == "status"), default="")


def is_deployed(live: Manifest) -> bool:
    """Whether a deployer has a share in an object; else somebody made it by hand."""
    return any(owner.deploys for owner, _ in _managed(live))


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
            # A leaf, which owns all below it: a value, or a list that is written as a whole.
            return True
        fields = inner
    return True
