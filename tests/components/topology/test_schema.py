"""The schemas for editors are valid JSON Schema: an editor would silently ignore a keyword that it does not know."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from components.topology.model import topology_schema
from infra.deploy.promotion.rule.plan import plan_schema
from tests.builders import a_flow, a_topology

SCHEMAS = {"topology": topology_schema(), "plan": plan_schema()}
KEYWORDS = {
    *jsonschema.Draft202012Validator.VALIDATORS,
    *("$schema", "$defs", "title", "description", "default"),
}
#: Keywords whose value holds schemas by name, schemas in a list, or one schema.
BY_NAME = ("properties", "patternProperties", "$defs")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE = ("items", "additionalProperties", "propertyNames")


def keywords(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    yield from schema
    inner = [node for key in BY_NAME for node in schema.get(key, {}).values()]
    inner += [node for key in LISTS for node in schema.get(key, [])]
    inner += [schema[key] for key in SINGLE if key in schema]
    for node in inner:
        yield from keywords(node)


@pytest.mark.parametrize("text", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_has_only_keywords_of_json_schema(text: str) -> None:
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(keywords(schema)) - KEYWORDS == set()


@pytest.mark.parametrize(
    ("flow", "fits"),
    [
        pytest.param({"connect": {"replicas": 1}}, True, id="the smallest number"),
        pytest.param({"connect": {"replicas": 0}}, False, id="below the smallest number"),
        pytest.param({"connectors": {"source": {"tasksMax": 2**31}}}, False, id="above the largest number"),
        pytest.param({"offsetSyncs": {"lagMax": -1}}, False, id="a negative number"),
    ],
)
def test_an_editor_checks_the_range_of_a_number(flow: dict[str, Any], fits: bool) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMAS["topology"]))
    assert validator.is_valid(a_topology(a_flow(**flow))) is fits
