"""Stack files and topology files -> settings and model; the only reader of both, and of pulumi.Config."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from components.model import Topology
from components.parsing import parse_topology
from components.resolved import (
    config_values,
)
from infra.errors import CannotRunError

ROOT = Path(__file__).resolve().parent.parent
STACKS = ROOT / "stacks"
PROJECT = "replication"
ALLOW_UNPROVEN = "allowUnproven"


@dataclass(frozen=True)
class StackSettings:
    """One stack: its topology, its region (all when None), and what its file in `stacks` holds of configuration.

    `values` are the plain ones by key without the project's prefix; `secret_keys` names the encrypted ones.
    """

    stack: str
    stacks: Path
    topology: Topology
    region: str | None
    local: bool
    values: Mapping[str, str]
    secret_keys: frozenset[str]
    kubeconfig: str | None = None
    context: str | None = None

    @property
    def allow_unproven(self) -> str | None:
        """Why the stack is deployed although the stacks before it have not proven its model, if it is."""
        return self.values.get(ALLOW_UNPROVEN)


class _UniqueKeyLoader(yaml.CSafeLoader):
    """YAML loader in C that refuses a key given twice; YAML itself would keep the last in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"`{key}` is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def stack_names(stacks: Path = STACKS) -> tuple[str, ...]:
    """Names of the stacks that have a file, sorted."""
    return tuple(
        sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in stacks.glob("Pulumi.*.yaml"))
    )


def stack_file(stack: str, stacks: Path = STACKS) -> Path:
    """File with a stack's configuration."""
    return stacks / f"Pulumi.{stack}.yaml"


def read_settings(stack: str, stacks: Path = STACKS) -> StackSettings:
    """Settings of a stack from its file, without Pulumi.

    Raises CannotRunError for a file that is missing or is no YAML, ReplicationError for a topology in a wrong form.
    """
    path = stack_file(stack, stacks)
    if not path.is_file():
        known = ", ".join(stack_names(stacks)) or "none"
        raise CannotRunError(
            f"stack `{stack}` has no file",
            str(path),
            f"Stacks are: {known}.",
            f"name one of these, or write {path.name}.",
        )
    data = load_yaml(path)
    config = data.get("config") if isinstance(data, Mapping) else None
    if not isinstance(config, Mapping):
        raise CannotRunError(
            "no `config`",
            str(path),
            "A stack file holds the stack's configuration.",
            f"add `{PROJECT}:topology: NAME`.",
        )
    own = {key.split(":", 1)[1]: value for key, value in config.items() if str(key).startswith(f"{PROJECT}:")}
    encrypted = frozenset(key for key, value in own.items() if isinstance(value, Mapping))
    values = {key: str(value) for key, value in own.items() if key not in encrypted}
    settings = _settings(stack, values, encrypted, stacks)
    return replace(settings, kubeconfig=config.get("kubernetes:kubeconfig"), context=config.get("kubernetes:context"))


def deployed_settings(stacks: Path = STACKS) -> StackSettings:
    """Settings of the stack that the Pulumi engine runs, from its configuration and the topology in `stacks`."""
    # Loading Pulumi takes longer than a check or a render, which do without.
    import pulumi

    config = pulumi.Config(PROJECT)
    values = {
        key: value for key in ("topology", "region", "local", ALLOW_UNPROVEN) if (value := config.get(key)) is not None
    }
    settings = _settings(pulumi.get_stack(), values, frozenset(), stacks)
    named = sorted(
        {value.config for cluster in settings.topology.clusters.values() for value in config_values(cluster)}
    )
    secret_keys = frozenset(key for key in named if pulumi.runtime.is_config_secret(config.full_key(key)))
    plain = {key: value for key in named if key not in secret_keys and (value := config.get(key)) is not None}
    return replace(settings, values={**values, **plain}, secret_keys=secret_keys)


def _settings(stack: str, values: Mapping[str, str], encrypted: frozenset[str], stacks: Path) -> StackSettings:
    name = values.get("topology")
    if name is None:
        raise CannotRunError(
            f"stack `{stack}` names no topology",
            f"stacks/Pulumi.{stack}.yaml",
            "Every stack of an environment reads the same topology file.",
            "`pulumi config set topology NAME`, for stacks/topologies/NAME.yaml.",
        )
    path = stacks / "topologies" / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml"))) or "none"
        raise CannotRunError(
            f"topology `{name}` has no file",
            str(path),
            f"Topologies are: {known}.",
            "correct `topology` in the stack file.",
        )
    return StackSettings(
        stack=stack,
        stacks=stacks,
        topology=parse_topology(load_yaml(path)),
        region=values.get("region"),
        local=values.get("local") == "true",
        values=values,
        secret_keys=encrypted,
    )


def load_yaml(path: Path) -> object:
    """Parsed YAML of a file; a key given twice is an error."""
    try:
        return yaml.load(path.read_bytes(), _UniqueKeyLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        what = getattr(error, "problem", None) or "it is no YAML"
        raise CannotRunError(str(what), place, "The file cannot be read as YAML.", "correct it there.") from error
