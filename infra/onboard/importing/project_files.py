"""Imported topologies as the files of a project, with the validation's own logins."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.topology.clusters import ValidationAccess
from kafka_replication.components.topology.model import topology_schema
from kafka_replication.infra.onboard.importing.topologies import ImportedTopology
from kafka_replication.infra.onboard.new_project.files import plain_files
from kafka_replication.infra.stack.stack_checks import stack_schema
from kafka_replication.infra.stack.yaml_files import load_yaml, shown

_SCHEMA = "# yaml-language-server: $schema={}.schema.json\n"


def environments(environment: str, count: int) -> list[str]:
    """Return this many topology names; each has a stack of the same name."""
    return [environment if index == 0 else f"{environment}-{index + 1}" for index in range(count)]


def project_files(
    topologies: Sequence[ImportedTopology], environment: str, folder: Path, package: str, context: str | None
) -> dict[str, str]:
    """Return contents by path relative to the project."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name) or "replication"
    files = dict(plain_files(name, package))
    for stack, imported in zip(environments(environment, len(topologies)), topologies, strict=True):
        config = {"replication:topology": stack} | ({"kubernetes:context": context} if context else {})
        files[f"stacks/Pulumi.{stack}.yaml"] = _SCHEMA.format("stack") + _yaml({"config": config})
        files[f"stacks/topologies/{stack}.yaml"] = _SCHEMA.format("../topology") + _yaml(imported.document)
    return {**files, "stacks/topology.schema.json": topology_schema(), "stacks/stack.schema.json": stack_schema()}


def needed_values(topologies: Sequence[ImportedTopology], environment: str) -> list[str]:
    """Return a line for each value that somebody has to set because it must not be written."""
    lines = []
    for stack, topology in zip(environments(environment, len(topologies)), topologies, strict=True):
        needed: Mapping[str, str] = {
            key: what for replication in topology.imported for key, what in replication.needed.items()
        }
        for key, what in sorted(needed.items()):
            secret = "" if key.endswith("Servers") else "--secret "
            lines.append(f"pulumi config set --stack {stack} {secret}replication:{key} VALUE    # {what}")
    return lines


def _yaml(data: Any) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes every mapping in full, because readers of a topology do not expect anchors."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


_FORM = (
    "for each cluster, write `ALIAS: {authentication: {type: scram-sha-512, username: NAME, password: {secret: NAME, "
    "key: KEY}}}`, with Secrets of the workers' namespace."
)


def read_logins(file: Path) -> dict[str, Any]:
    """Return `validation` by alias. Raises CannotRunError, which quotes no value: it may be a password."""
    if not file.is_file():
        raise _refused("no-such-file", "there is no such file", shown(file), "name a file that exists.")
    logins = load_yaml(file)
    if not isinstance(logins, Mapping) or not logins:
        raise _refused("validation-login-form", "it is not a mapping of aliases to logins", shown(file), _FORM)
    wrong = [reason for alias, given in logins.items() for reason in _wrong(str(alias), given)]
    if wrong:
        raise _refused("validation-login-form", "; ".join(wrong), shown(file), _FORM)
    return {str(alias): given for alias, given in logins.items()}


def add_logins(topologies: Sequence[ImportedTopology], logins: Mapping[str, Any], file: Path) -> None:
    """Give the clusters their logins. Raises CannotRunError for an alias that no cluster has."""
    known = sorted({alias for topology in topologies for alias in topology.clusters})
    if unknown := sorted(logins.keys() - set(known)):
        what = f"no cluster has the alias {', '.join(f'`{alias}`' for alias in unknown)}"
        remedy = f"name one of {', '.join(f'`{alias}`' for alias in known)}."
        raise _refused("unknown-alias", what, shown(file), remedy)
    for topology in topologies:
        for alias, login in logins.items():
            if alias in topology.clusters:
                topology.clusters[alias]["validation"] = login


def _wrong(alias: str, given: object) -> Iterator[str]:
    try:
        ValidationAccess.model_validate(given)
    except ValidationError as error:
        for mistake in error.errors(include_input=False, include_url=False):
            path = ".".join(str(step) for step in (alias, *mistake["loc"]))
            yield f"`{path}`: {mistake['type'].replace('_', ' ')}"


def _refused(code: str, what: str, where: str, remedy: str) -> CannotRunError:
    why = "`--validation-login` names the logins with which the validation reads both clusters."
    return CannotRunError(code, what, where, why, remedy)
