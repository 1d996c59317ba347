"""The types of the Pulumi package, made from the models of a topology file; only the host imports this."""

from typing import Any

from kafka_replication.components.provider.replications import PACKAGE
from kafka_replication.components.topology.model import Topology

_Node = dict[str, Any]

_TOPOLOGY: _Node = Topology.model_json_schema()
_MODELS: _Node = _TOPOLOGY["$defs"]
#: Marks a value that must be known before the deployment.
_PLAIN: _Node = {"plain": True}


def with_types(package: _Node) -> _Node:
    """Return the package's schema with our models as types, to which the component's arguments refer.

    Source: https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/
    """
    ((token, component),) = package["resources"].items()
    # Not the models that an argument holds: Pulumi generates Go that does not compile for a mapping of plain models.
    arguments = {key: {**value, **_PLAIN} for key, value in _model(_TOPOLOGY, {})["properties"].items()}
    inputs = {**component["inputProperties"], **arguments}
    types = {f"{PACKAGE}:index:{name}": _model(node, _PLAIN) for name, node in _MODELS.items() if not _is_open(node)}
    return {**package, "resources": {token: {**component, "inputProperties": inputs}}, "types": types}


def _is_open(model: _Node) -> bool:
    """Return whether a model passes other keys on to Strimzi; a Pulumi type has only its own."""
    return model.get("additionalProperties") is True


def _model(node: _Node, plain: _Node) -> _Node:
    described = {"type": node["type"], "description": node["description"]}
    if "enum" in node:
        return {**described, "enum": [{"value": value} for value in node["enum"]]}
    properties = {key: _property(value, node, plain) for key, value in node["properties"].items()}
    # The key that distinguishes alternatives has a default in a program, but not in a file.
    constants = [key for key, value in properties.items() if "const" in value]
    return {**described, "properties": properties, "required": sorted({*node.get("required", ()), *constants})}


def _property(node: _Node, model: _Node, plain: _Node) -> _Node:
    """Return the type of a model's key, with the nearest description of it."""
    constant = {"const": node["const"]} if "const" in node else {}
    values = " or ".join(f"`{value}`" for value in node.get("enum", constant.values()))
    nearest = values or _MODELS.get(_name(node), model)["description"]
    return {**_type(node, plain), **constant, "description": node.get("description", nearest)}


def _type(node: _Node, plain: _Node) -> _Node:
    choices = [choice for choice in node.get("anyOf") or node.get("oneOf") or () if choice != {"type": "null"}]
    if len(choices) == 1:
        return _type(choices[0], plain)
    form: _Node = {"type": node.get("type")}
    if choices:
        form = {"oneOf": [_type(choice, plain) for choice in choices], **_tag(node)}
    elif "$ref" in node:
        if _is_open(_MODELS[_name(node)]):
            return _type(_MODELS[_name(node)], plain)
        form = {"$ref": _reference(node["$ref"])}
    elif node["type"] == "array":
        form["items"] = _type(node["items"] if "items" in node else node["prefixItems"][0], plain)
    elif node["type"] == "object":
        (values,) = (node.get("patternProperties") or {"": node["additionalProperties"]}).values()
        form["additionalProperties"] = {"$ref": "pulumi.json#/Any"} if values is True else _type(values, plain)
    return {**form, **plain}


def _tag(node: _Node) -> _Node:
    if "discriminator" not in node:
        return {}
    mapping = {value: _reference(model) for value, model in node["discriminator"]["mapping"].items()}
    return {"discriminator": {**node["discriminator"], "mapping": mapping}}


def _name(node: _Node) -> str:
    return str(node.get("$ref", "")).rpartition("/")[2]


def _reference(model: str) -> str:
    return model.replace("#/$defs/", f"#/types/{PACKAGE}:index:")
