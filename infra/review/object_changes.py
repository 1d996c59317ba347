"""Finds which objects a change adds, changes, replaces and removes, and which of their fields differ."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kafka_replication.components.checks.property_values import is_open_credential
from kafka_replication.components.render.planned_objects import Manifest

#: Fields that identify an entry of a list.
_IDENTITIES = ("name", "alias", "sourceCluster", "secretName")
#: Places of properties, whose names say that a value is a credential.
_OWN_VALUES = re.compile(r"(^|\.)(config|data)\.")
#: The value of an environment variable in a pod's template, which may be a credential.
_ENVIRONMENT = re.compile(r"\.env(\[.*\])?\.value$")

Identity = tuple[str, str, str]


class ChangeKind(StrEnum):
    """Says what happens to an object; it is replaced (deleted and created) if its name or immutable content differs."""

    REMOVED = "removed"
    REPLACED = "replaced"
    CHANGED = "changed"
    ADDED = "added"


@dataclass(frozen=True)
class FieldChange:
    """A field that differs; None if one side lacks it. Values of credentials are not shown."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True)
class ObjectChange:
    """Says what happens to one object of a deployment; `key` is its role and part."""

    change: ChangeKind
    deployment: str
    key: str
    kind: str
    namespace: str | None
    name: str
    fields: tuple[FieldChange, ...] = ()


def identity(body: Manifest) -> Identity:
    """Return kind, namespace and name, which cannot be updated in place; the version of a kind's API can."""
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace") or "", metadata["name"]


def object_changes(
    deployment: str, before: Mapping[str, Manifest], after: Mapping[str, Manifest]
) -> Iterator[ObjectChange]:
    """Yield changes of a deployment's objects in the order of their deployment, then the removed ones."""
    old, new = _by_identity(before), _by_identity(after)
    for key, body in new.items():
        if key not in old:
            yield _change(ChangeKind.ADDED, deployment, key, body)
        elif fields := tuple(field_changes(old[key], body)):
            kind = ChangeKind.REPLACED if identity(old[key]) != identity(body) else ChangeKind.CHANGED
            yield _change(kind, deployment, key, body, fields)
    for key, body in old.items():
        if key not in new:
            yield _change(ChangeKind.REMOVED, deployment, key, body)


def field_changes(before: Any, after: Any, path: str = "") -> Iterator[FieldChange]:
    """Yield fields in which two values differ; entries of lists are matched by name, or else by content."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            inner = f"{path}.{key}" if path else str(key)
            yield from field_changes(before.get(key), after.get(key), inner)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    else:
        yield FieldChange(path, _shown(path, before), _shown(path, after))


def _list_changes(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[FieldChange]:
    old, new = named_entries(before), named_entries(after)
    if old is not None and new is not None:
        for name in {**old, **new}:
            yield from field_changes(old.get(name), new.get(name), f"{path}[{name}]")
        if list(old) != list(new) and set(old) == set(new):
            yield FieldChange(f"{path}[]", ", ".join(old), ", ".join(new))
        return
    gone = [entry for entry in before if entry not in after]
    added = [entry for entry in after if entry not in before]
    if not gone and not added:
        yield FieldChange(f"{path}[]", _shown(path, before), _shown(path, after))
    yield from (FieldChange(f"{path}[]", _shown(path, entry), None) for entry in gone)
    yield from (FieldChange(f"{path}[]", None, _shown(path, entry)) for entry in added)


def named_entries(entries: Sequence[Any]) -> dict[str, Any] | None:
    """Return entries of a list by name, if each has a unique name."""
    named = {name: entry for entry in entries if (name := _entry_name(entry)) is not None}
    return named if len(named) == len(entries) else None


def _entry_name(entry: Any) -> str | None:
    if not isinstance(entry, Mapping):
        return None
    name = next((entry[key] for key in _IDENTITIES if isinstance(entry.get(key), str)), None)
    if name is None and isinstance(entry.get("resources"), list):
        # A rule of a Role.
        name = ",".join(entry["resources"])
    return name or _entry_name(entry.get("source"))


def _shown(path: str, value: Any) -> Any:
    """Return a value as a report may show it: without credentials in plain text."""
    if isinstance(value, Mapping):
        return {key: _shown(f"{path}.{key}", inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(path, inner) for inner in value]
    if value is None:
        return None
    own = _OWN_VALUES.search(path)
    hidden = is_open_credential(path[own.start() :] if own else "", value) or _ENVIRONMENT.search(path)
    return "(not shown)" if hidden else value


def _by_identity(objects: Mapping[str, Manifest]) -> dict[str, Manifest]:
    """Return objects by role and part; a Secret by its name, because rendered files contain no more of it."""
    return {
        f"secret {body['metadata']['name']}" if body["kind"] == "Secret" else key: body for key, body in objects.items()
    }


def _change(
    kind: ChangeKind, deployment: str, key: str, body: Manifest, fields: tuple[FieldChange, ...] = ()
) -> ObjectChange:
    metadata = body["metadata"]
    return ObjectChange(kind, deployment, key, body["kind"], metadata.get("namespace"), metadata["name"], fields)
