"""The JSON Schema of a file, which editors use to complete and check it."""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from components.topology.clusters import Model
from components.topology.model import Topology


class _EditorSchema(GenerateJsonSchema):
    """JSON Schema without OpenAPI's `discriminator`, which JSON Schema does not know."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        found = super().generate_inner(schema)
        found.pop("discriminator", None)
        return found


def _require_kind(part: dict[str, Any]) -> None:
    """Require the key that distinguishes alternatives: in a program the class does that, in a file only the key
    does.
    """
    kind = part.get("properties", {}).get("kind", {})
    if "const" in kind and kind.pop("default", None) is not None:
        part["required"] = ["kind", *part.get("required", [])]


def topology_schema() -> str:
    """The schema of topology files as text."""
    return schema_text(Topology)


def schema_text(model: type[Model]) -> str:
    """The schema of a model's files as text."""
    schema: dict[str, Any] = {"$schema": GenerateJsonSchema.schema_dialect}
    schema |= model.model_json_schema(schema_generator=_EditorSchema)
    for part in schema.get("$defs", {}).values():
        _require_kind(part)
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
