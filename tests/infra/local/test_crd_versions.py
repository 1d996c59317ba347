"""One CRD from two. A mistake here shows no error: the API server drops fields without a message."""

from typing import Any

import pytest

from kafka_replication.infra.local.artifacts import served_definition, united_schema

ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
STRING = {"type": "string"}


def a_definition(version: str, **spec: dict[str, Any]) -> dict[str, Any]:
    """A definition of one version, as Strimzi's generator writes it."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "kafkaconnects.kafka.strimzi.io"},
        "spec": {
            "group": "kafka.strimzi.io",
            "conversion": {"strategy": "None"},
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    }


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_the_newer_version_is_unchanged_and_the_older_one_is_stored_with_all_fields() -> None:
    newer, older = a_definition("v1", groupId=STRING), a_definition("v1beta2", externalConfiguration=STRING)
    served = served_definition(newer, older)
    new, old = served["spec"]["versions"]
    assert new == {**newer["spec"]["versions"][0], "storage": False}
    assert {key: old[key] for key in ("name", "served", "storage")} == {
        "name": "v1beta2",
        "served": True,
        "storage": True,
    }
    known = old["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert known == {"groupId": STRING, "externalConfiguration": STRING}


def test_the_two_input_definitions_are_not_changed() -> None:
    newer, older = a_definition("v1", groupId=STRING), a_definition("v1beta2", pause=STRING)
    served_definition(newer, older)
    assert (newer, older) == (a_definition("v1", groupId=STRING), a_definition("v1beta2", pause=STRING))


def test_a_definition_of_several_versions_is_refused() -> None:
    twice = a_definition("v1")
    twice["spec"]["versions"] *= 2
    with pytest.raises(ValueError, match="too many values"):
        served_definition(twice, a_definition("v1beta2"))


RULE, OTHER_RULE = {"rule": "has(self.a)"}, {"rule": "has(self.b)"}

CASES = {
    "fields of either are known, at any depth": (
        an_object(a=an_object(new=STRING)),
        an_object(a=an_object(old=STRING), b=STRING),
        an_object(a=an_object(new=STRING, old=STRING), b=STRING),
    ),
    "fields of either are known in an array's items": (
        {"type": "array", "items": an_object(new=STRING)},
        {"type": "array", "items": an_object(old=STRING)},
        {"type": "array", "items": an_object(new=STRING, old=STRING)},
    ),
    "fields of either are known in a map's values": (
        {"type": "object", "additionalProperties": an_object(new=STRING)},
        {"type": "object", "additionalProperties": an_object(old=STRING)},
        {"type": "object", "additionalProperties": an_object(new=STRING, old=STRING)},
    ),
    "only what both require is required": (
        {**an_object(a=STRING, b=STRING), "required": ["b", "a"]},
        {**an_object(a=STRING, b=STRING), "required": ["a"]},
        {**an_object(a=STRING, b=STRING), "required": ["a"]},
    ),
    "nothing is required when one requires nothing": (
        {**an_object(a=STRING), "required": ["a"]},
        an_object(a=STRING),
        an_object(a=STRING),
    ),
    "values of either are accepted": (
        {"type": "string", "enum": ["tls", "custom"]},
        {"type": "string", "enum": ["tls", "oauth"]},
        {"type": "string", "enum": ["tls", "oauth", "custom"]},
    ),
    "any value is accepted if one accepts any": ({"type": "string", "enum": ["Memory"]}, STRING, STRING),
    "a range that both have stays": (
        {"type": "integer", "minimum": 1},
        {"type": "integer", "minimum": 1},
        {"type": "integer", "minimum": 1},
    ),
    "a range that differs is dropped": (
        {"type": "integer", "minimum": 1},
        {"type": "integer", "minimum": 0},
        {"type": "integer"},
    ),
    "a rule stays only where both have it": (
        {"type": "object", "x-kubernetes-validations": [RULE, OTHER_RULE]},
        {"type": "object", "x-kubernetes-validations": [RULE]},
        {"type": "object", "x-kubernetes-validations": [RULE]},
    ),
    "anything is kept where one keeps anything": (
        {"type": "object", **ANYTHING},
        an_object(a=STRING),
        {**an_object(a=STRING), **ANYTHING},
    ),
    "anything is kept where the types differ": (STRING, an_object(amount=STRING), ANYTHING),
    "alternatives that differ are dropped": (
        {"type": "object", "oneOf": [{"properties": {"a": {}, "b": {}}}]},
        {"type": "object", "oneOf": [{"properties": {"a": {}}}]},
        {"type": "object"},
    ),
}


@pytest.mark.parametrize(("newer", "older", "united"), CASES.values(), ids=CASES.keys())
def test_a_united_schema_accepts_what_either_schema_accepts(
    newer: dict[str, Any], older: dict[str, Any], united: dict[str, Any]
) -> None:
    assert united_schema(newer, older) == united
