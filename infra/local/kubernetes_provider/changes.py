"""What a change of an object's inputs means: the changed property paths, and whether they need a replacement. Pure.

Mirrors what the real Kubernetes provider decides. Source: pulumi-kubernetes provider/pkg/provider/diff.go.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from infra.local.kubernetes_provider.wire import UNKNOWN, Properties

Path = tuple[str | int, ...]


class Kind(Enum):
    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True)
class Change:
    """One changed property; `replaces` when the API server would not take the new value for the old object."""

    path: str
    kind: Kind
    replaces: bool


@dataclass(frozen=True)
class Changes:
    """All changes, and whether the old object has to go before the new one can come: both have the same name."""

    changes: tuple[Change, ...]
    delete_before_replace: bool

    @property
    def replaces(self) -> bool:
        return any(change.replaces for change in self.changes)


REPLACED_BY: Mapping[tuple[str, str], tuple[Path, ...]] = {
    ("", "ConfigMap"): (("data",), ("binaryData",), ("immutable",)),
    ("", "Secret"): (("data",), ("stringData",), ("type",), ("immutable",)),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
}
"""Properties, by group and kind, of which a change replaces the object. The real provider, too, replaces a ConfigMap
or Secret with changed data, immutable or not, so that whatever reads it can be made to change with it."""

IDENTITY: tuple[Path, ...] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))


def group_of(api_version: str) -> str:
    """API group of an apiVersion; empty for the core group."""
    return api_version.rpartition("/")[0]


def compare(old: Properties, new: Properties) -> Changes:
    """Changes from old to new inputs. A value not known yet counts as changed."""
    changes = tuple(Change(_text(path), kind, _is_replacing(path, old, new)) for path, kind in _walk((), old, new))
    replaces = any(change.replaces for change in changes)
    return Changes(changes, delete_before_replace=replaces and _identity(old) == _identity(new))


def _identity(item: Properties) -> tuple[object, ...]:
    metadata = item.get("metadata")
    known: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    group = group_of(item.get("apiVersion", ""))
    return group, item.get("kind"), known.get("namespace"), known.get("name", metadata)


def _is_replacing(path: Path, old: Properties, new: Properties) -> bool:
    if path == ("apiVersion",):
        # Another version of one group shows the same object; another group is another object.
        return group_of(old["apiVersion"]) != group_of(new["apiVersion"])
    watched = IDENTITY + REPLACED_BY.get((group_of(old.get("apiVersion", "")), old.get("kind", "")), ())
    # An unknown can stand for a whole branch, so a change above a watched property counts as well as one below it.
    return any(path[: len(prefix)] == prefix[: len(path)] for prefix in watched)


def _walk(path: Path, old: object, new: object) -> Iterator[tuple[Path, Kind]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            if key not in old:
                yield (*path, key), Kind.ADD
            elif key not in new:
                yield (*path, key), Kind.DELETE
            else:
                yield from _walk((*path, key), old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            if index >= len(old):
                yield (*path, index), Kind.ADD
            elif index >= len(new):
                yield (*path, index), Kind.DELETE
            else:
                yield from _walk((*path, index), old[index], new[index])
    elif old != new or new == UNKNOWN:
        yield path, Kind.UPDATE


def _text(path: Path) -> str:
    """Property path as Pulumi writes it: a.b[0]["c.d"]."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", step):
            text += f".{step}" if text else step
        else:
            escaped = step.replace('"', '\\"')
            text += f'["{escaped}"]'
    return text
