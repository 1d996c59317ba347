"""Reads who wrote the fields of a live object, and when, and makes writers give up fields. Pure.

Source: Kubernetes managedFields, FieldsV1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kafka_replication.components.render.planned_objects import Manifest

#: Field managers that deploy what a stack declares. All others count as edits by hand.
DEPLOYERS = ("pulumi-kubernetes", "argocd-controller", "kustomize-controller")
#: Field managers that repeatedly apply what is in Git, whoever changes the object in between.
GITOPS = ("argocd", "kustomize-controller", "helm-controller")
PULUMI = "pulumi-kubernetes"
#: Field managers that keep writing to an object whoever deploys it: ourselves, the operator, and Kubernetes.
_STAYING = ("kafka-replication", "strimzi-", "kube-")
#: The name under which Kubernetes records what was written before an object was first applied on the server.
_EARLIER = "before-first-apply"

Path = tuple[str, ...]


@dataclass(frozen=True)
class FieldOwner:
    """A field manager, and when it last wrote one of its fields; `since` is a time as Kubernetes writes it."""

    manager: str
    since: str

    @property
    def yields(self) -> bool:
        """Whether Pulumi takes over this manager's fields when it next changes the object, and removes undeclared ones.

        Source: pulumi-kubernetes provider/pkg/await/await.go, fixCSAFieldManagers.
        """
        return self.manager.startswith(("kubectl", _EARLIER))

    @property
    def deploys(self) -> bool:
        return self.manager.startswith(DEPLOYERS)

    @property
    def by_gitops(self) -> bool:
        return self.manager.startswith(GITOPS)

    @property
    def stays(self) -> bool:
        """Whether this manager keeps its fields when a stack adopts the object."""
        return self.manager.startswith(_STAYING)


def owners(live: Manifest) -> list[FieldOwner]:
    """Return all owners of fields of an object, except the status, in the order in which the API server lists them."""
    return [owner for owner, _ in _managed(live)]


def owner_of(live: Manifest, path: Path) -> FieldOwner | None:
    """Return the owner of a field, if possible not a deployer; None for what only the server set, such as a default."""
    return min(owners_of(live, path), key=lambda owner: owner.deploys, default=None)


def owners_of(live: Manifest, path: Path) -> list[FieldOwner]:
    """Return all owners of a field."""
    return [owner for owner, fields in _managed(live) if _owns(fields, path)]


def owned_parts(live: Manifest) -> dict[FieldOwner, tuple[str, ...]]:
    """Return what each owner owns of an object except its status, by the first two path steps, as in `spec.config`."""
    by_manager: dict[str, tuple[FieldOwner, dict[str, None]]] = {}
    for owner, fields in _managed(live):
        newest, parts = by_manager.get(owner.manager, (owner, {}))
        parts |= dict.fromkeys(_parts(fields))
        by_manager[owner.manager] = (max(newest, owner, key=attrgetter("since")), parts)
    return {owner: tuple(parts) for owner, parts in by_manager.values()}


def _parts(fields: Mapping[str, Any]) -> Iterator[str]:
    for first, below in fields.items():
        inner = [key.removeprefix("f:") for key in below if key.startswith("f:")]
        yield from (f"{first.removeprefix('f:')}.{key}" for key in inner)
        if not inner:
            yield first.removeprefix("f:")


def newest_writer(live: Manifest, field: str) -> FieldOwner | None:
    """Return who last wrote any part of a top-level field, except the status."""
    writers = [owner for owner, fields in _managed(live) if f"f:{field}" in fields]
    return max(writers, key=attrgetter("since"), default=None)


def status_time(live: Manifest) -> str:
    """Return when the operator last wrote the status, which it does when the status changes; empty if that is not
    recorded.
    """
    entries = live["metadata"].get("managedFields") or []
    return max((entry.get("time", "") for entry in entries if entry.get("subresource") == "status"), default="")


def is_deployed(live: Manifest) -> bool:
    """Return whether a deployer owns any field of an object; otherwise somebody created it by hand."""
    return any(owner.deploys for owner in owners(live))


def yielding(live: Manifest) -> list[dict[str, Any]]:
    """Return the managedFields of an object after every owner that does not stay has yielded to Pulumi; `Owner.yields`
    says how.
    """
    entries: list[dict[str, Any]] = []
    for entry in live["metadata"].get("managedFields") or []:
        owner = FieldOwner(entry.get("manager", ""), entry.get("time", ""))
        if entry.get("subresource") or owner.stays or owner.yields:
            entries.append(entry)
            continue
        other = {**entry, "manager": _EARLIER, "operation": "Update"}
        same = next((entry for entry in entries if _writer(entry) == _writer(other)), None)
        if same is not None:
            entries.remove(same)
            other["fieldsV1"] = union(same["fieldsV1"], other["fieldsV1"])
        entries.append(other)
    return entries


def _writer(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry.get(key) for key in ("manager", "operation", "apiVersion", "subresource"))


def union(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return two sets of fields as one: a tree whose leaves are empty."""
    return {
        key: union(one[key], other[key]) if key in one and key in other else one.get(key, other.get(key))
        for key in {**one, **other}
    }


def _managed(live: Manifest) -> Iterator[tuple[FieldOwner, Mapping[str, Any]]]:
    for entry in live["metadata"].get("managedFields") or []:
        if entry.get("subresource") != "status":
            yield FieldOwner(entry.get("manager", ""), entry.get("time", "")), entry.get("fieldsV1") or {}


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


_BY_KIND: Mapping[tuple[str, str], tuple[Path, ...]] = {
    ("", "ConfigMap"): (("data",), ("binaryData",), ("immutable",)),
    ("", "Secret"): (("type",),),
    ("batch", "Job"): (("spec", "completions"), ("spec", "parallelism"), ("spec", "selector"), ("spec", "template")),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
}
"""By group and kind. A ConfigMap is replaced if its data changed, immutable or not. A Secret is updated in place, as
with the provider's option enableSecretMutable.
"""


def replacing_fields(item: Mapping[str, Any]) -> tuple[Path, ...]:
    """The paths of such fields of an object, besides its identity."""
    return _BY_KIND.get((group_of(item.get("apiVersion", "")), item.get("kind", "")), ())


def group_of(api_version: str) -> str:
    """Return the API group of an apiVersion; empty for the core group."""
    return api_version.rpartition("/")[0]
