"""The types of the Pulumi package: what Pulumi generates from them accepts what a topology file may say."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.provider.host import Host
from kafka_replication.components.provider.replications import PACKAGE
from kafka_replication.components.topology.model import Topology
from tests.builders import a_flow, a_topology
from tests.repository import ROOT, STACKS

SCHEMA = json.loads(Host().schema or "")
((TOKEN, COMPONENT),) = SCHEMA["resources"].items()
ARGUMENTS = {
    "type": "object",
    "properties": COMPONENT["inputProperties"],
    "required": COMPONENT["requiredInputs"],
}
#: Without Strimzi's own objects, whose other fields the project passes through: mappings of anything.
MODELS = {
    name: model
    for name, model in Topology.model_json_schema()["$defs"].items()
    if name not in {"PodTemplate", "ContainerTemplate"}
}
PRIMITIVES: dict[str, Any] = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(below)


def mistakes(value: Any, form: dict[str, Any], path: str = "") -> list[str]:
    """Return the paths at which a value is not of a type; with alternatives, of the one that fits best."""
    if "$ref" in form:
        token = form["$ref"].removeprefix("#/types/")
        return [] if form["$ref"] == "pulumi.json#/Any" else mistakes(value, SCHEMA["types"][token], path)
    if "oneOf" in form:
        choices = form["oneOf"]
        if tag := form.get("discriminator"):
            choices = [{"$ref": tag["mapping"][value[tag["propertyName"]]]}]
        return min((mistakes(value, choice, path) for choice in choices), key=len)
    if form["type"] == "array":
        return [
            where for index, entry in enumerate(value) for where in mistakes(entry, form["items"], f"{path}.{index}")
        ]
    if form["type"] != "object":
        fits = isinstance(value, PRIMITIVES[form["type"]]) and value == form.get("const", value)
        return [] if fits and value in [choice["value"] for choice in form.get("enum", [{"value": value}])] else [path]
    if not isinstance(value, dict):
        return [path]
    inner = form.get("properties", {key: form.get("additionalProperties") for key in value})
    missing = [f"{path}.{key} is missing" for key in form.get("required", ()) if key not in value]
    unknown = [f"{path}.{key}" for key in value if key not in inner]
    below = [where for key in value.keys() & inner for where in mistakes(value[key], inner[key], f"{path}.{key}")]
    return [*missing, *unknown, *below]


def test_each_model_of_a_topology_is_a_type_and_each_type_has_a_name_of_its_own() -> None:
    assert SCHEMA["types"].keys() == {f"{PACKAGE}:index:{name}" for name in MODELS}
    # In some languages, a class `NameArgs` or `NameResult` belongs to each type.
    names = [token.lower() for token in [*SCHEMA["types"], TOKEN]]
    assert len({*names, *(name + suffix for name in names for suffix in ("args", "result"))}) == 3 * len(names)


def test_the_types_have_the_keys_of_the_models() -> None:
    for name, model in MODELS.items():
        form = SCHEMA["types"][f"{PACKAGE}:index:{name}"]
        assert form.get("properties", {}).keys() == model.get("properties", {}).keys(), name
        constants = [key for key, value in form.get("properties", {}).items() if "const" in value]
        assert set(form.get("required", ())) == {*model.get("required", ()), *constants}, name


def test_a_replication_has_to_say_its_kind() -> None:
    for name in ("Flow", "PrefixlessPair", "Split", "MirrorMaker2"):
        form = SCHEMA["types"][f"{PACKAGE}:index:{name}"]
        assert form["properties"]["kind"]["const"] == f"{name[0].lower()}{name[1:]}"
        assert "kind" in form["required"]


def test_each_type_and_each_key_has_a_description() -> None:
    described = [
        (token, key, node.get("description"))
        for token, form in [*SCHEMA["types"].items(), (TOKEN, ARGUMENTS)]
        for key, node in [*form.get("properties", {}).items(), *([("", form)] if token != TOKEN else [])]
    ]
    assert [entry for entry in described if not entry[2]] == []
    assert ("kafka-replication:index:Flow", "kind", "`flow`") in described
    assert ("kafka-replication:index:Flow", "source", "Alias of the cluster that is replicated.") in described


def test_every_reference_leads_to_a_type() -> None:
    references = {node["$ref"] for node in nodes(SCHEMA) if "$ref" in node}
    references |= {
        reference for node in nodes(SCHEMA) for reference in node.get("discriminator", {}).get("mapping", {}).values()
    }
    assert references - {"pulumi.json#/Any"} == {f"#/types/{token}" for token in SCHEMA["types"]}


def test_only_credentials_and_models_as_a_whole_may_be_outputs() -> None:
    """Pulumi generates Go that does not compile for a mapping of plain models, so the host refuses such outputs."""
    arguments = ARGUMENTS["properties"]
    assert [key for key, form in arguments.items() if not form.get("plain")] == ["secrets"]
    assert "plain" not in arguments["clusters"]["additionalProperties"]
    assert all("plain" not in form for form in nodes(arguments["replications"]["additionalProperties"]))
    keys = [form for model in SCHEMA["types"].values() for form in model.get("properties", {}).values()]
    parts = [form for key in keys for form in nodes(key) if form.keys() & {"type", "oneOf"}]
    assert parts
    assert all(form["plain"] for form in parts)


@pytest.mark.parametrize("file", sorted((STACKS / "topologies").glob("*.yaml")), ids=lambda file: file.stem)
def test_an_example_topology_is_of_the_types(file: Path) -> None:
    assert mistakes(yaml.safe_load(file.read_text()), ARGUMENTS) == []


@pytest.mark.parametrize(
    ("replication", "places"),
    [
        pytest.param(a_flow(topic=["orders"]), [".topic"], id="an unknown key"),
        pytest.param(a_flow(exactlyOnce="yes"), [".exactlyOnce"], id="a value that is not one of those listed"),
        pytest.param(a_flow(offsetSyncs={"lagMax": "many"}), [".offsetSyncs.lagMax"], id="text for a number"),
        pytest.param({"kind": "prefixlessPair", "topics": []}, [".between is missing"], id="a missing key"),
        pytest.param(a_flow(topics=[7]), [".topics.0"], id="a number in a list of texts"),
        pytest.param(a_flow(connect={"config": {"offset.flush.interval.ms": 7}}), [], id="a property of the workers"),
        pytest.param(a_flow(connect={"template": {"pod": {"affinity": {}}}}), [], id="a field passed on to Strimzi"),
    ],
)
def test_the_types_tell_what_a_replication_may_say(replication: dict[str, Any], places: list[str]) -> None:
    declared = a_topology(replications={"orders": replication})
    assert mistakes(declared, ARGUMENTS) == [f".replications.orders{place}" for place in places]


def test_the_readmes_programs_in_yaml_and_typescript_pass_the_same_arguments_of_these_types() -> None:
    text = (ROOT / "components" / "README.md").read_text()
    program = yaml.safe_load(text.partition("```yaml\nname: mirrors\n")[2].partition("```")[0])
    arguments = program["resources"]["mirrors"]["properties"]
    assert mistakes(arguments, ARGUMENTS) == []
    # What a program in TypeScript passes is YAML as well.
    assert yaml.safe_load(text.partition('new Replications("mirrors", ')[2].partition(");\n")[0]) == arguments
