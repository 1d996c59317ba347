"""Converts property values between Pulumi's wire format and plain Python, and finds unknown ones. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format, struct_pb2
from pulumi.runtime import rpc

UNKNOWN = rpc.UNKNOWN
"""Stands for a value that only the deployment will know; the engine sends it during a preview."""

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
        return any(has_unknowns(each) for each in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(has_unknowns(each) for each in value)
    return value == UNKNOWN


def _whole_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
