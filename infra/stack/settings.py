"""Stack files and topology files -> settings and model; the only reader of both, and of pulumi.Config."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from kafka_replication.components.contract.problems import CannotRunError, Place, Problem, ReplicationError
from kafka_replication.components.contract.spark_conf import MASTER
from kafka_replication.components.flows.resolved import config_keys
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.components.topology.partial_topology import PartialTopology, partial_topology
from kafka_replication.infra.stack.yaml_files import load_yaml, placed, places_of, shown

PROJECT = "replication"
#: The key of a stack file that says where the validation job runs.
VALIDATION = "validation"
ALLOW_UNPROVEN = "allowUnproven"
DEPLOY = "deploy"
GITOPS = "gitops"
#: The key that names other stacks which deploy the same on purpose.
SHARES_WITH = "sharesWith"
#: Who may deploy a stack.
DEPLOYERS = ("pulumi", GITOPS)
_SPARK: Mapping[str, Any] = {
    "master": {"type": "string", "pattern": f"^({MASTER.pattern})$"},
    "driverMemory": {"type": "string", "pattern": "^[1-9][0-9]*[kmgtKMGT][bB]?$"},
    "conf": {
        "type": "object",
        "propertyNames": {"pattern": r"^spark\."},
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    },
}
#: The keys of a stack file that the program reads, besides those that its topology names by `{config: KEY}`, with the
#: JSON Schema of their values.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "topology": {"type": "string", "description": "Name of the file in `topologies/`, without `.yaml`."},
    "region": {
        "type": "string",
        "description": "The stack deploys the replications whose target is in this region; without it, all of them.",
    },
    "local": {"enum": ["true", "false", True, False], "description": "Whether the stack runs on the local stack."},
    DEPLOY: {
        "enum": list(DEPLOYERS),
        "description": "`gitops` if Argo CD, Flux or somebody else applies what `replicate render` writes.",
    },
    ALLOW_UNPROVEN: {"type": "string", "description": "Why this stack may be deployed without proof, in words."},
    SHARES_WITH: {
        "type": "string",
        "description": "Stacks, with a comma between them, that deploy the same on purpose.",
    },
    VALIDATION: {
        "type": "object",
        "description": "Where the validation job runs.",
        "properties": {
            "spark": {"type": "object", "properties": _SPARK, "additionalProperties": False},
            "inCluster": {"$ref": "#/$defs/InCluster"},
        },
        "additionalProperties": False,
    },
}
_ACCESS = ("kubernetes:kubeconfig", "kubernetes:context")


@dataclass(frozen=True)
class KubernetesAccess:
    """Kubeconfig file and context of a stack's cluster; None means what kubectl would use."""

    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True)
class StackSettings:
    """One stack: its topology, its region (None means all regions), and the configuration in its file. `values` are the
    plain values by key without the project's prefix; `secret_keys` are the keys of the encrypted ones.
    `encrypted_access` names the parts of the access to Kubernetes that are encrypted, so only Pulumi's engine can read
    them. `validation` is what the file says about the validation job, not yet checked. `given` is the
    whole stack file. `without_stack` is the topology file if no stack file was read."""

    stack: str
    stacks: Path
    topology: Topology
    region: str | None
    local: bool
    values: Mapping[str, str]
    secret_keys: frozenset[str]
    kubeconfig: str | None = None
    context: str | None = None
    encrypted_access: tuple[str, ...] = ()
    validation: object = None
    given: Mapping[str, object] = field(default_factory=dict, repr=False)
    without_stack: Path | None = None

    @property
    def topology_file(self) -> Path:
        """Return the file with the stack's topology."""
        return self.without_stack or topology_file(self.values["topology"], self.stacks)

    @property
    def allow_unproven(self) -> str | None:
        """Return the reason to deploy a model that earlier stacks have not proven; None if there is none."""
        return self.values.get(ALLOW_UNPROVEN)

    @property
    def by_gitops(self) -> bool:
        """Return whether Argo CD, Flux or somebody else applies what `replicate render` writes, instead of Pulumi."""
        return self.values.get(DEPLOY) == GITOPS


def stack_names(stacks: Path) -> tuple[str, ...]:
    """Return the names of all stacks with a file in a folder, sorted."""
    files = [path.name for path in stacks.glob("Pulumi.*.yaml") if path.is_file()]
    return tuple(sorted(name.removeprefix("Pulumi.").removesuffix(".yaml") for name in files))


def stack_file(stack: str, stacks: Path) -> Path:
    """Return the file with a stack's configuration."""
    return stacks / f"Pulumi.{stack}.yaml"


def topology_file(name: str, stacks: Path) -> Path:
    """Return the file of a topology."""
    return stacks / "topologies" / f"{name}.yaml"


def read_settings(stack: str, stacks: Path) -> StackSettings:
    """Read a stack's file and its topology, without Pulumi. Raises CannotRunError if one of them is missing or
    unreadable, and ReplicationError for mistakes in the form of the topology.
    """
    path = stack_file(stack, stacks)
    if not path.is_file():
        known = ", ".join(stack_names(stacks)) or "none"
        what, remedy = f"stack `{stack}` has no file", _renamed(path) or f"name one of these, or write {path.name}."
        raise CannotRunError("unknown-stack", what, shown(path), f"Stacks are: {known}.", remedy)
    data = load_yaml(path)
    given_file: Mapping[str, object] = data if isinstance(data, Mapping) else {}
    config = given_file.get("config")
    if not isinstance(config, Mapping):
        what = "the stack file has no mapping `config`" if data else "the stack file is empty"
        why = "It holds the stack's configuration."
        remedy = (
            f"write `config:`, and below it, indented, `{PROJECT}:topology: NAME` for topologies/NAME.yaml beside it."
        )
        raise CannotRunError("no-stack-config", what, shown(path), why, remedy, place=Place(shown(path), 1, 1))
    given = {str(key): value for key, value in config.items() if value is not None}
    own = {key.split(":", 1)[1]: value for key, value in given.items() if key.startswith(f"{PROJECT}:")}
    validation = own.pop(VALIDATION, None)
    encrypted = frozenset(key for key, value in own.items() if _is_encrypted(value))
    values = {key: value_text(value) for key, value in own.items() if key not in encrypted}
    hidden = tuple(key for key in _ACCESS if _is_encrypted(given.get(key)))
    kubeconfig, context = (value_text(given[key]) if key in given and key not in hidden else None for key in _ACCESS)
    settings = _settings(stack, values, encrypted, stacks)
    settings = replace(settings, kubeconfig=kubeconfig, context=context, encrypted_access=hidden)
    return replace(settings, validation=validation, given=given_file)


def settings_of_topology(file: Path, context: str | None) -> StackSettings:
    """Return the settings of a topology that no stack deploys. Raises CannotRunError if the file is missing or
    unreadable, or holds a Kubernetes object, and ReplicationError for mistakes in the form of the topology.
    """
    if not file.is_file():
        what, remedy = "there is no such topology file", "name a topology file, such as `stacks/topologies/prod.yaml`."
        raise CannotRunError("no-such-file", what, shown(file), "It declares what to validate.", remedy)
    document = load_yaml(file)
    if isinstance(document, Mapping) and {"apiVersion", "kind"} <= document.keys():
        what = f"it is a Kubernetes object of the kind {document['kind']}, not a topology"
        why = "A topology has `clusters` and `replications`."
        remedy = "write a topology for it with `replicate import FILE --out DIR`, and name that."
        raise CannotRunError("kubernetes-object", what, shown(file), why, remedy)
    try:
        topology = parse_topology(document)
    except ReplicationError as error:
        raise ReplicationError(placed(error.problems, file)) from None
    return StackSettings(
        file.stem, file.parent, topology, None, False, {}, frozenset(), context=context, without_stack=file
    )


def regions_of_topology(topology: str, stacks: Path) -> tuple[frozenset[str | None], tuple[str, ...]]:
    """Return the regions of all stacks of a topology (None for all), and the files of stacks whose topology is unknown,
    because it is missing or they cannot be read.
    """
    regions: set[str | None] = set()
    unread: list[str] = []
    for stack in stack_names(stacks):
        path = stack_file(stack, stacks)
        config = readable_config(path)
        if config is None or not topology_file(str(config.get(f"{PROJECT}:topology")), stacks).is_file():
            unread.append(path.name)
        elif config.get(f"{PROJECT}:topology") == topology:
            region = config.get(f"{PROJECT}:region")
            regions.add(None if region is None else str(region))
    return frozenset(regions), tuple(unread)


def topologies_of_clusters(stacks: Path) -> dict[str, str]:
    """Return the topology of each stack that is deployed to a cluster, as far as the stack files can be read."""
    configs = {stack: readable_config(stack_file(stack, stacks)) or {} for stack in stack_names(stacks)}
    return {
        stack: str(topology)
        for stack, config in configs.items()
        if (topology := config.get(f"{PROJECT}:topology")) is not None
        and str(config.get(f"{PROJECT}:local")).lower() != "true"
    }


def readable_config(file: Path) -> Mapping[str, object] | None:
    """Return the configuration in a stack file; None if the file cannot be read or has none."""
    try:
        data = load_yaml(file)
    except (CannotRunError, OSError):
        return None
    config = data.get("config") if isinstance(data, Mapping) else None
    return config if isinstance(config, Mapping) else None


def _renamed(path: Path) -> str:
    """Return the remedy if the file exists with another ending; "" if it does not."""
    other = next((file for ending in (".yml", ".json") if (file := path.with_suffix(ending)).is_file()), None)
    return f"rename {other.name} to {path.name}." if other is not None else ""


def _named_alone(name: str, stacks: Path) -> str:
    """Return the remedy for a topology name that includes its folder or ending; "" for other mistakes."""
    alone = Path(name).stem
    if alone == name or not topology_file(alone, stacks).is_file():
        return ""
    return f"set `{PROJECT}:topology: {alone}`, without folder and ending."


def _is_encrypted(value: object) -> bool:
    return isinstance(value, Mapping) and "secure" in value


def deployed_settings(stacks: Path) -> StackSettings:
    """Return the settings of the stack that Pulumi's engine is running, from its configuration and its topology."""
    # Importing Pulumi takes longer than a whole check or render, and neither needs it.
    import pulumi

    config = pulumi.Config(PROJECT)
    values = {key: value for key in SETTINGS if key != VALIDATION and (value := config.get(key)) is not None}
    settings = replace(
        _settings(pulumi.get_stack(), values, frozenset(), stacks), validation=config.get_object(VALIDATION)
    )
    named = sorted(config_keys(settings.topology))
    secret_keys = frozenset(key for key in named if pulumi.runtime.is_config_secret(config.full_key(key)))
    plain = {key: value for key in named if key not in secret_keys and (value := config.get(key)) is not None}
    return replace(settings, values={**values, **plain}, secret_keys=secret_keys)


def _settings(stack: str, values: Mapping[str, str], encrypted: frozenset[str], stacks: Path) -> StackSettings:
    name, own = values.get("topology"), stack_file(stack, stacks)
    if name is None:
        what, why = f"stack `{stack}` names no topology", "Every stack of an environment reads the same topology file."
        remedy = f"did you mean `{PROJECT}:topology` instead of `topology`?"
        if "topology" not in (readable_config(own) or ()):
            remedy = f"set `{PROJECT}:topology: NAME` below `config`, for topologies/NAME.yaml beside it."
        raise CannotRunError("no-topology", what, shown(own), why, remedy, place=Place(shown(own), 1, 1))
    path = topology_file(name, stacks)
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in (stacks / "topologies").glob("*.yaml"))) or "none"
        raise CannotRunError(
            "unknown-topology",
            f"topology `{name}` has no file",
            shown(path),
            f"Topologies are: {known}.",
            _renamed(path) or _named_alone(name, stacks) or f"correct `{PROJECT}:topology` in {shown(own)}.",
            place=next(places_of([f"config.{PROJECT}:topology"], own)),
        )
    data = load_yaml(path)
    settings = partial(
        StackSettings,
        stack=stack,
        stacks=stacks,
        region=values.get("region"),
        local=values.get("local") == "true",
        values=values,
        secret_keys=encrypted,
    )
    try:
        return settings(topology=parse_topology(data))
    except ReplicationError as error:
        left = partial_topology(data)
        if left is None:
            raise ReplicationError(placed(error.problems, path)) from None
        certain = settings(topology=left.certain)
        raise FormError(placed([*error.problems, *left.further], path), left, certain) from None


class FormError(ReplicationError):
    """Mistakes in the form of a topology. `left` is the rest, which can still be checked. `settings` hold the part of
    the rest that stays the same however the mistakes are corrected.
    """

    def __init__(self, problems: Iterable[Problem], left: PartialTopology, settings: StackSettings) -> None:
        super().__init__(problems)
        self.left, self.settings = left, settings
