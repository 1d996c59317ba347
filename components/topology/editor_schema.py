"""The JSON Schema of a model's files, for editors and any validator; nothing here decides what a file may hold.

Pydantic writes alternatives as `anyOf` and `oneOf`, and a validator then reports only that a value fits none. Here a
condition chooses the alternative first, so that a mistake is reported at its own key.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

_Node = dict[str, Any]
_NULL = {"type": "null"}


def editor_schema(model: type[BaseModel]) -> _Node:
    """Return the schema of a model's files, in which a mistake leads to an error at its key."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    chosen: _Node = _with_conditions(schema, definitions)
    for definition in chosen.get("$defs", {}).values():
        _require_kind(definition)
        # Each reference says which type it accepts, because some accept null, too.
        if "properties" in definition:
            del definition["type"]
    return {"$schema": GenerateJsonSchema.schema_dialect, **chosen}


def _require_kind(definition: _Node) -> None:
    """Require the key that distinguishes alternatives: in a file nothing else does."""
    kind = definition.get("properties", {}).get("kind", {})
    if "const" in kind and kind.pop("default", None) is not None:
        definition["required"] = ["kind", *definition.get("required", [])]


def _with_conditions(value: Any, definitions: Mapping[str, _Node]) -> Any:
    """Return a part of the schema, in which a condition stands for each choice between alternatives."""
    if isinstance(value, list):
        return [_with_conditions(entry, definitions) for entry in value]
    if not isinstance(value, dict):
        return value
    node = {key: _with_conditions(inner, definitions) for key, inner in value.items()}
    if "$ref" in node:
        return {**node, "type": _definition(node, definitions)["type"]}
    tag = node.pop("discriminator", None)
    choices = node.pop("anyOf", None) or node.pop("oneOf", None)
    if choices is None:
        return node
    others = [choice for choice in choices if choice != _NULL]
    chosen = others[0] if len(others) == 1 else _by_tag(tag) if tag else _by_form(others, definitions)
    if _NULL not in choices:
        return {**chosen, **node}
    if "enum" in (definition := _definition(chosen, definitions)):
        chosen = {**definition, "enum": [*definition["enum"], None]}
    types = chosen["type"]
    return {**chosen, "type": [*([types] if isinstance(types, str) else types), "null"], **node}


def _definition(node: _Node, definitions: Mapping[str, _Node]) -> _Node:
    return definitions[node["$ref"].rsplit("/", 1)[-1]] if "$ref" in node else node


def _by_tag(tag: Mapping[str, Any]) -> _Node:
    """Return the condition on a key that names the alternative."""
    key, values = tag["propertyName"], tag["mapping"]
    conditions = [
        {
            "if": {"properties": {key: {"enum": [value for value, other in values.items() if other == reference]}}},
            "then": {"$ref": reference},
        }
        for reference in dict.fromkeys(values.values())
    ]
    # Without its tag a value fulfils every condition.
    some = {"required": [key], "properties": {key: {"enum": list(values)}}}
    return {"type": "object", **some, "allOf": [{**one, "if": {**one["if"], "required": [key]}} for one in conditions]}


def _by_form(choices: list[_Node], definitions: Mapping[str, _Node]) -> _Node:
    """Return the condition on a type, or on a key that only one alternative has; the first alternative has none."""
    types = list(dict.fromkeys(choice["type"] for choice in choices))
    if all(set(choice) == {"type"} for choice in choices):
        return {"type": types}
    first, *others = ({key: value for key, value in choice.items() if key != "type"} for choice in choices)
    of_first = _definition(first, definitions).get("properties", {})
    chosen = first
    for other in others:
        keys = [key for key in _definition(other, definitions)["required"] if key not in of_first]
        chosen = {"if": {"required": keys[:1]} if of_first else {"type": "object"}, "then": other, "else": chosen}
    return {"type": types if len(types) > 1 else types[0], **chosen}
