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

#: The fields of a KafkaConnect that a topology passes to Strimzi as they are.
PASSED = ("build", "plugins", "template")


def short_schema(schema: Mapping[str, Any]) -> Any:
    """A schema of a definition without descriptions, as `worker_template` returns it."""
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    if "enum" in schema:
        return {"enum": schema["enum"]}
    if "pattern" in schema:
        return {"pattern": schema["pattern"]}
    if "properties" in schema:
        keys = {key: short_schema(below) for key, below in schema["properties"].items()}
        return {"keys": keys, **({"required": schema["required"]} if "required" in schema else {})}
    if isinstance(below := schema.get("additionalProperties"), Mapping):
        return {"map": short_schema(below)}
    return {"list": short_schema(schema["items"])} if schema["type"] == "array" else schema["type"]


def united(newer: Any, older: Any) -> Any:
    """Both schemas in one, with the keys of either."""
    if isinstance(newer, Mapping) and isinstance(older, Mapping) and next(iter(newer)) == next(iter(older)):
        (kind, new), old = next(iter(newer.items())), next(iter(older.values()))
        if kind == "keys":
            both = {key: united(new.get(key, old.get(key)), old.get(key, new.get(key))) for key in {**new, **old}}
            required = sorted({*newer.get("required", ())} & {*older.get("required", ())})
            return {"keys": dict(sorted(both.items())), **({"required": required} if required else {})}
        return newer if kind in ("enum", "pattern") else {kind: united(new, old)}
    return newer


def template_schema(definitions: list[Path]) -> str:
    """The file's text, from the definition of the KafkaConnect in each API version, newest first."""
    schemas = []
    for file in definitions:
        (version,) = yaml.load(file.read_text(), yaml.CSafeLoader)["spec"]["versions"]
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        schemas.append({"keys": {key: short_schema(spec[key]) for key in PASSED if key in spec}})
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
