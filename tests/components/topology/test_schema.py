"""The schemas for editors are valid JSON Schema: an editor would silently ignore a keyword that it does not know."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kafka_replication.components.topology.model import topology_schema
from kafka_replication.infra.deploy.promotion.rule.plan import plan_schema
from kafka_replication.infra.stack.stack_checks import stack_schema
from tests.builders import a_flow, a_topology

SCHEMAS = {"topology": topology_schema(), "plan": plan_schema(), "stack": stack_schema()}
KEYWORDS = {
    *jsonschema.Draft202012Validator.VALIDATORS,
    *("$schema", "$defs", "title", "description", "default", "then", "else"),
}
#: Keywords whose value holds schemas by name, schemas in a list, or one schema.
BY_NAME = ("properties", "patternProperties", "$defs")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLE = ("items", "additionalProperties", "propertyNames", "if", "then", "else")


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


def errors_of(topology: Any) -> list[str]:
    """What any validator reports: the place of each error, and its words."""
    errors = jsonschema.Draft202012Validator(json.loads(SCHEMAS["topology"])).iter_errors(topology)
    return sorted(f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in errors)


@pytest.mark.parametrize(
    ("flow", "error"),
    [
        pytest.param(
            {"topcs": ["ledger"]},
            "replications.orders: Additional properties are not allowed ('topcs' was unexpected)",
            id="a key",
        ),
        pytest.param(
            {"kind": "flwo"},
            "replications.orders.kind: 'flwo' is not one of ['flow', 'mirrorMaker2', 'prefixlessPair', 'split']",
            id="the kind",
        ),
        pytest.param(
            {"connect": {"readinessProbe": {"timeout": 5}}},
            "replications.orders.connect.readinessProbe: Additional properties are not allowed ('timeout' was "
            "unexpected)",
            id="a key of something optional",
        ),
        pytest.param(
            {"connect": {"readinessProbe": {"timeoutSeconds": 0}}},
            "replications.orders.connect.readinessProbe.timeoutSeconds: 0 is less than the minimum of 1",
            id="a value of something optional",
        ),
        pytest.param(
            {"connect": {"logging": {"type": "inline", "loggers": {}, "logger": {}}}},
            "replications.orders.connect.logging: Additional properties are not allowed ('logger' was unexpected)",
            id="a key of one of several types",
        ),
        pytest.param(
            {"connectors": {"source": {"config": {"max.request.size": [1]}}}},
            "replications.orders.connectors.source.config.max.request.size: [1] is not of type 'string', 'boolean', "
            "'integer', 'number'",
            id="the value of a property",
        ),
    ],
)
def test_a_validator_reports_one_mistake_once_at_its_key(flow: dict[str, Any], error: str) -> None:
    """With a plain `oneOf` it reports that the replication fits none of four kinds, and shows all of it."""
    assert errors_of(a_topology(a_flow(**flow))) == [error]


@pytest.mark.parametrize(
    ("cluster", "error"),
    [
        pytest.param({"bootstrapServers": {"config": 5}}, "bootstrapServers.config: 5 is not of type 'string'", id="5"),
        pytest.param(
            {"tls": {"trust": {"secret": "ca", "pattern": "*.crt", "kye": "ca"}}},
            "tls.trust: Additional properties are not allowed ('kye' was unexpected)",
            id="trust by a pattern",
        ),
        pytest.param(
            {"tls": {"trust": {"format": "JSK", "secret": "ca", "key": "ca", "password": {"config": "ca"}}}},
            "tls.trust.format: 'JSK' is not one of ['JKS', 'PKCS12']",
            id="a truststore",
        ),
        pytest.param(
            {"authentication": {"type": "plain", "username": "mirror", "password": {"config": "a", "key": "b"}}},
            "authentication.password: Additional properties are not allowed ('key' was unexpected)",
            id="a password",
        ),
    ],
)
def test_a_validator_knows_an_alternative_by_its_key(cluster: dict[str, Any], error: str) -> None:
    topology = a_topology()
    topology["clusters"]["useast"] |= cluster
    assert errors_of(topology) == [f"clusters.useast.{error}"]


def misspelt(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each key of a topology that is not a name or a property, with its place."""
    if not isinstance(value, dict) or {"config", "jvmOptions", "resources", "quota"} & {*place[-1:]}:
        return
    for key, inner in value.items():
        if place not in {("clusters",), ("replications",)} and place[2:] != ("parts",):
            yield place, key
        yield from misspelt(inner, (*place, key))


@pytest.mark.parametrize("file", sorted(Path("stacks/topologies").glob("*.yaml")), ids=lambda file: file.stem)
def test_every_misspelt_key_of_the_examples_is_reported_where_it_is(file: Path) -> None:
    topology = yaml.safe_load(file.read_text())
    assert errors_of(topology) == []
    for place, key in misspelt(topology):
        wrong = deepcopy(topology)
        node = wrong
        for part in place:
            node = node[part]
        node[f"{key}x"] = node.pop(key)
        errors = errors_of(wrong)
        assert errors, (place, key)
        assert {error.partition(": ")[0] for error in errors} == {".".join(place)}, (place, key)
        # A misspelt key that is required is also missing; one that selects the form leaves only the form to name.
        assert any(f"'{key}x'" in error or f"'{key}' is a required" in error for error in errors), errors
