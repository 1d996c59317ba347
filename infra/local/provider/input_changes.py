"""Compares an object's inputs as the real provider does. Source: pulumi-kubernetes provider/pkg/provider/diff.go."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from infra.kubernetes.managed_fields import group_of, replacing_fields
from infra.local.provider.manifests import UNKNOWN, Properties

Path = tuple[str | int, ...]


class Edit(Enum):
    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True)
class InputChange:
    """One changed property; `replaces` if the API server would refuse the new value for the old object."""

    path: str
    kind: Edit
    replaces: bool


@dataclass(frozen=True)
class InputChanges:
    """All changes, and whether the old object must be deleted first because the new one has the same name."""

    changes: tuple[InputChange, ...]
    delete_before_replace: bool

    @property
    def replaces(self) -> bool:
        return any(change.replaces for change in self.changes)


IDENTITY: tuple[Path, ...] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))


def compare(old: Properties, new: Properties) -> InputChanges:
    """Return the changes from old to new inputs. An unknown value counts as changed."""
    changes = tuple(InputChange(_text(path), kind, _is_replacing(path, old, new)) for path, kind in _walk((), old, new))
    replaces = any(change.replaces for change in changes)
    return InputChanges(changes, delete_before_replace=replaces and _identity(old) == _identity(new))


def _identity(item: Properties) -> tuple[object, ...]:
    metadata = item.get("metadata")
    known: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    group = group_of(item.get("apiVersion", ""))
    return group, item.get("kind"), known.get("namespace"), known.get("name", metadata)


def _is_replacing(path: Path, old: Properties, new: Properties) -> bool:
    if path == ("apiVersion",):
        # Another version of the same group is the same object; another group is another object.
        return group_of(old["apiVersion"]) != group_of(new["apiVersion"])
    watched = IDENTITY + replacing_fields(old)
    # An unknown may stand for a whole branch, so a change above a watched property counts like one below it.
    return any(path[: len(prefix)] == prefix[: len(path)] for prefix in watched)


def _walk(path: Path, old: object, new: object) -> Iterator[tuple[Path, Edit]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            if key not in old:
                yield (*path, key), Edit.ADD
            elif key not in new:
                yield (*path, key), Edit.DELETE
            else:
                yield from _walk((*path, key), old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            if index >= len(old):
                yield (*path, index), Edit.ADD
            elif index >= len(new):
                yield (*path, index), Edit.DELETE
            else:
                yield from _walk((*path, index), old[index], new[index])
    elif old != new or new == UNKNOWN:
        yield path, Edit.UPDATE


def _text(path: Path) -> str:
    """Return a property path as Pulumi writes it: a.b[0]["c.d"]."""
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
