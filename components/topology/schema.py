"""The JSON Schema of a file, with which editors complete and check it."""

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


def topology_schema() -> str:
    """The schema of topology files as text."""
    return schema_text(Topology)


def schema_text(model: type[Model]) -> str:
    """The schema of a model's files as text."""
    schema = {"$schema": GenerateJsonSchema.schema_dialect}
    schema |= model.model_json_schema(schema_generator=_EditorSchema)
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
