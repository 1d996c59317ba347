"""Writes components/checks/worker_template.json from Strimzi's definitions; `make properties` runs it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from kafka_replication.components.checks.worker_template import FILE
from kafka_replication.infra.local.artifacts import V1, V1BETA2, ensure_crds
from kafka_replication.infra.machine.jdk import find_jdk


def short_schema(schema: Mapping[str, Any]) -> Any:
    """A schema of a definition without descriptions, as `worker_template` returns it."""
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    if "enum" in schema:
        return {"enum": schema["enum"]}
    if "properties" in schema:
        return {"keys": {key: short_schema(below) for key, below in schema["properties"].items()}}
    if isinstance(below := schema.get("additionalProperties"), Mapping):
        return {"map": short_schema(below)}
    return {"list": short_schema(schema["items"])} if schema["type"] == "array" else schema["type"]


def united(newer: Any, older: Any) -> Any:
    """Both schemas in one, with the keys of either."""
    if isinstance(newer, Mapping) and isinstance(older, Mapping) and newer.keys() == older.keys():
        ((kind, new),), ((_, old),) = newer.items(), older.items()
        if kind == "keys":
            both = {key: united(new.get(key, old.get(key)), old.get(key, new.get(key))) for key in {**new, **old}}
            return {"keys": dict(sorted(both.items()))}
        return newer if kind == "enum" else {kind: united(new, old)}
    return newer


def template_schema(definitions: list[Path]) -> str:
    """The file's text, from the definition of the KafkaConnect in each API version, newest first."""
    schemas = []
    for file in definitions:
        (version,) = yaml.load(file.read_text(), yaml.CSafeLoader)["spec"]["versions"]
        schemas.append(
            short_schema(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["template"])
        )
    newer, older = schemas
    return json.dumps(united(newer, older), indent=1, sort_keys=True) + "\n"


def generated() -> str:
    """What the file holds, by the pinned releases of Strimzi."""
    ensure_crds(find_jdk(), Console())
    return template_schema([version.folder / "kafkaconnects.yaml" for version in (V1, V1BETA2)])


def main() -> None:
    FILE.write_text(generated())


if __name__ == "__main__":
    main()
