"""Imported topologies -> the files of a project."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from components.topology.model import topology_schema
from infra.onboard.importing.topologies import ImportedTopology
from infra.onboard.new_project.files import plain_files

_SCHEMA = "# yaml-language-server: $schema=../topology.schema.json\n"


def environments(environment: str, count: int) -> list[str]:
    """Return this many topology names; each has a stack of the same name."""
    return [environment if index == 0 else f"{environment}-{index + 1}" for index in range(count)]


def project_files(
    topologies: Sequence[ImportedTopology], environment: str, folder: Path, package: str, context: str | None
) -> dict[str, str]:
    """Return contents by path relative to the project."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name) or "replication"
    files = dict(plain_files(name, package))
    for each, imported in zip(environments(environment, len(topologies)), topologies, strict=True):
        config = {"replication:topology": each} | ({"kubernetes:context": context} if context else {})
        files[f"stacks/Pulumi.{each}.yaml"] = _yaml({"config": config})
        files[f"stacks/topologies/{each}.yaml"] = _SCHEMA + _yaml(imported.document)
    files["stacks/topology.schema.json"] = topology_schema()
    return files


def needed_values(topologies: Sequence[ImportedTopology], environment: str) -> list[str]:
    """Return a line for each value that somebody has to set because it must not be written."""
    found = []
    for stack, topology in zip(environments(environment, len(topologies)), topologies, strict=True):
        needed: Mapping[str, str] = {key: what for each in topology.imported for key, what in each.needed.items()}
        for key, what in sorted(needed.items()):
            secret = "" if key.endswith("Servers") else "--secret "
            found.append(f"pulumi config set --stack {stack} {secret}replication:{key} VALUE    # {what}")
    return found


def _yaml(data: Any) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes every mapping in full, because readers of a topology do not expect anchors."""

    def ignore_aliases(self, _: Any) -> bool:
        return True
