"""Converts Pulumi's wire format to inputs, inputs to an object for the API server, and a live object to inputs. Pure.

Outputs are the inputs plus the object's uid. So nothing that the server adds can leak a secret into the state or make
the state differ after every reconciliation. An imported custom resource has no `spec` in its inputs, and its outputs
have the live one. Source: pulumi-kubernetes provider/pkg/provider/provider.go, Read.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format, struct_pb2
from pulumi.runtime import rpc

from infra.kubernetes.api import Object, Reference
from infra.kubernetes.managed_fields import group_of

UNKNOWN = rpc.UNKNOWN
"""Represents a value that only the deployment will know; the engine sends it during a preview."""

Properties = dict[str, Any]


def decode(properties: struct_pb2.Struct) -> Properties:
    """Plain values. The wire has only floats, so whole numbers become integers again."""
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
    shape = {**inputs, "apiVersion": inputs["apiVersion"]}
    return {**_restrict(seen, shape), "apiVersion": inputs["apiVersion"], "kind": inputs["kind"]}


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
