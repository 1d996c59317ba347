"""stacks/README.md is the reference of topology files, stack files and plans: all keys, no others, true defaults."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from components.topology.clusters import Cluster, KafkaUserDeclaration
from components.topology.in_cluster import Executors, InCluster
from components.topology.model import Flow, Monitoring, PrefixlessPair, Topology
from infra.deploy.promotion.rule.plan import Plan, Wave
from infra.stack.settings import SETTINGS
from tests.repository import STACKS

TEXT = (STACKS / "README.md").read_text()
#: The models that have the keys of the reference, each with only its required keys.
MODELS: dict[str, BaseModel] = {
    "": Flow(kind="flow", source="one", target="two"),
    "pair": PrefixlessPair(kind="prefixlessPair", between=("one", "two"), topics=()),
    "cluster": Cluster(region="here", bootstrap_servers="kafka:9092"),
    "monitoring": Monitoring(namespace="monitoring"),
    "kafkaUser": KafkaUserDeclaration(cluster="kafka", namespace="kafka"),
    "plan": Plan(environments=()),
    "wave": Wave(stacks=()),
    "inCluster": InCluster(image="one"),
    "executors": Executors(),
}
DEFAULTS: dict[str, Any] = {
    name: model.model_dump(mode="json", by_alias=True, exclude_none=True) for name, model in MODELS.items()
}


def keys_of(schema: dict[str, Any]) -> set[str]:
    parts = [schema, *schema.get("$defs", {}).values()]
    return {key for part in parts for key in part.get("properties", {})}


def rows() -> Iterator[tuple[list[str], str]]:
    """Keys of each row of the tables of keys, and the cell after them."""
    for table in re.findall(r"^\| key[^|]*\|.*\n\|.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE):
        for row in table.splitlines():
            keys, cell, *_ = row.strip("|").split("|")
            yield re.findall(r"`([^`]+)`", keys), cell.strip()


def default_of(key: str) -> list[Any]:
    """Defaults of a dotted key, in each model that has it."""
    found = []
    for name, values in DEFAULTS.items():
        value: Any = {name: values, **values}
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            found.append(value)
    return found


SCHEMAS: dict[str, type[BaseModel]] = {"topology": Topology, "plan": Plan, "inCluster": InCluster}


@pytest.mark.parametrize("schema", [each.model_json_schema() for each in SCHEMAS.values()], ids=SCHEMAS)
def test_the_reference_has_every_key(schema: dict[str, Any]) -> None:
    assert [key for key in sorted(keys_of(schema)) if not re.search(rf"\b{re.escape(key)}\b", TEXT)] == []


def test_the_reference_has_every_key_of_a_stack_file() -> None:
    assert {key for keys, _ in rows() for key in keys if ":" in key} == {
        *(f"replication:{key}" for key in SETTINGS),
        "kubernetes:context",
        "kubernetes:kubeconfig",
    }


def test_the_reference_has_no_key_that_nothing_reads() -> None:
    known = {key for each in SCHEMAS.values() for key in keys_of(each.model_json_schema())}
    shown = {part for keys, _ in rows() for key in keys if ":" not in key for part in key.split(".")}
    assert shown
    assert shown - known == set()


def test_a_default_in_the_reference_is_the_default_of_the_model() -> None:
    """Words such as `none` and `the operator's` are not compared, nor names with a placeholder."""
    compared = set()
    for keys, cell in rows():
        if re.fullmatch(r"\d+|`[^<`]+`", cell) and ":" not in keys[0]:
            for key in keys:
                defaults = default_of(key)
                texts = {
                    value if isinstance(value, str) else json.dumps(value).removesuffix(".0") for value in defaults
                }
                assert texts == {cell.strip("`")}, key
                compared.add(key)
    assert len(compared) > 20
