"""Converts Pulumi's wire format to inputs, inputs to an object for the API server, and a live object to inputs, and
compares inputs as the real provider does (source: pulumi-kubernetes provider/pkg/provider/diff.go). Pure.

Outputs are the inputs plus the object's uid. So nothing that the server adds can leak a secret into the state or make
the state differ after every reconciliation. An imported custom resource has no `spec` in its inputs, and its outputs
have the live one. Source: pulumi-kubernetes provider/pkg/provider/provider.go, Read.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from google.protobuf import json_format, struct_pb2
from pulumi.runtime import rpc

from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.kubernetes.managed_fields import group_of, replacing_fields

UNKNOWN = rpc.UNKNOWN
"""Represents a value that only the deployment will know; the engine sends it during a preview."""

Properties = dict[str, Any]


def decode(properties: struct_pb2.Struct) -> Properties:
    """Return plain values. The wire has only floats, so whole numbers become integers again."""
    decoded = _whole_numbers(json_format.MessageToDict(properties))
    assert isinstance(decoded, dict)
    return decoded


def encode(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    return json_format.ParseDict(dict(properties), struct_pb2.Struct())


def has_unknowns(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(has_unknowns(item) for item in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(has_unknowns(item) for item in value)
    return value == UNKNOWN


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


WAIT_FOR = "pulumi.com/waitFor"
DELETION = "pulumi.com/deletionPropagationPolicy"


def reference_of_id(identifier: str, inputs: Properties) -> Reference:
    namespace, _, name = identifier.rpartition("/")
    return Reference(inputs["apiVersion"], inputs["kind"], namespace or None, name)


def manifest(inputs: Properties) -> Object:
    """Return the object to apply: without nulls, and with stringData written as data.

    stringData is write-only: a key removed from it would stay in the object, and it cannot be compared with the object.
    """
    item: Object = {key: _without_nulls(value) for key, value in inputs.items() if value is not None}
    strings = item.pop("stringData", None)
    if strings is not None:
        item["data"] = {
            **item.get("data", {}),
            **{key: base64.b64encode(text.encode()).decode() for key, text in strings.items()},
        }
    return item


def outputs(inputs: Properties, live: Object) -> Properties:
    """Return the inputs and the uid, and the live `spec` of a custom resource whose inputs have none."""
    imported = {"spec": live["spec"]} if _is_custom(inputs) and "spec" in live else {}
    return {**imported, **inputs, "metadata": {**inputs["metadata"], "uid": live["metadata"]["uid"]}}


def live_inputs(inputs: Properties, live: Object) -> Properties:
    """Return the live values of the properties that the inputs set, so that a refresh shows only their drift."""
    seen = dict(live)
    strings = inputs.get("stringData")
    if strings is not None:
        data = live.get("data", {})
        seen["stringData"] = {key: base64.b64decode(data[key]).decode() for key in strings if key in data}
    return {**_restrict(seen, inputs), "apiVersion": inputs["apiVersion"], "kind": inputs["kind"]}


#: Groups that the real provider's schema knows, besides those that end with `.k8s.io`.
_BUILT_IN = frozenset({"", "apps", "autoscaling", "batch", "extensions", "policy"})


def _is_custom(item: Properties) -> bool:
    group = group_of(item["apiVersion"])
    return group not in _BUILT_IN and not group.endswith(".k8s.io")


def imported_inputs(live: Object) -> Properties:
    """Return the inputs of an imported object: the whole object without what the server wrote, or the identity of a
    custom resource, whose other properties the real provider's schema does not know.
    """
    if _is_custom(live):
        identity = {key: live["metadata"][key] for key in ("name", "namespace") if key in live["metadata"]}
        return {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": identity}
    server_written = {"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}
    metadata = {key: value for key, value in live["metadata"].items() if key not in server_written}
    return {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}


def deletes_in_foreground(inputs: Properties) -> bool:
    """Return whether the objects that a resource of workers owns are deleted before it, which is the default."""
    annotations = inputs.get("metadata", {}).get("annotations") or {}
    owner = inputs["kind"] in ("KafkaConnect", "KafkaMirrorMaker2")
    return owner and annotations.get(DELETION, "foreground").lower() == "foreground"


def _restrict(live: object, shape: object) -> Any:
    if isinstance(live, Mapping) and isinstance(shape, Mapping):
        return {key: _restrict(live[key], shape[key]) for key in shape if key in live}
    if isinstance(live, list) and isinstance(shape, list) and len(live) == len(shape):
        return [_restrict(*pair) for pair in zip(live, shape, strict=True)]
    return live


def _without_nulls(value: object) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


#: The steps from an object to one of its properties.
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
    if isinstance(old, list) and isinstance(new, list):
        yield from _walk(path, dict(enumerate(old)), dict(enumerate(new)))
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            if key not in old:
                yield (*path, key), Edit.ADD
            elif key not in new:
                yield (*path, key), Edit.DELETE
            else:
                yield from _walk((*path, key), old[key], new[key])
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
