"""A stack at one time: its deployments and their objects, from stack files or from an earlier render."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components.clusters import ConfigValue
from components.problems import ReplicationError
from components.resolved import resolve_flows
from components.specs.deployments import Deployment, deployment_objects, deployments
from components.specs.kafka_users import kafka_user_objects
from components.specs.planned import Manifest, PlannedObject, manifest, waits
from infra.errors import CannotRunError
from infra.render import USERS_FOLDER
from infra.review.bases import Base
from infra.settings import StackSettings, read_settings, stack_file
from infra.stack_checks import addresses, raise_mistakes

Objects = Mapping[str, Manifest]


class UnreadableBaseError(CannotRunError):
    """A stack as it was cannot be read, so nothing is known of what changed."""


@dataclass(frozen=True)
class Snapshot:
    """A stack at one time.

    `deployments` are those of the topology, by the name of their workers; of rendered files there are only objects,
    in `others`, where Kafka users are, too. An empty snapshot is a stack that is not there.
    """

    deployments: Mapping[str, Deployment] = field(default_factory=dict)
    others: Mapping[str, Objects] = field(default_factory=dict)
    kubernetes: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.deployments, *self.others)

    def objects(self, name: str) -> Objects:
        """Objects of one deployment by role and part; none where it is not there."""
        if name in self.deployments:
            return planned_objects(self.deployments[name])
        return self.others.get(name, {})

    def waits(self, name: str) -> Mapping[str, tuple[str, ...]]:
        """Keys of what each object of a deployment waits for; of rendered files and Kafka users that is not known."""
        known = self.deployments.get(name)
        return waits(deployment_objects(known)) if known is not None else {}

    def flows(self, name: str) -> Mapping[str, str]:
        """Flows of a deployment by the alias of their source, as far as the topology is known."""
        known = self.deployments.get(name)
        return {flow.flow.source: flow.name for flow in known.flows} if known is not None else {}

    def place(self, flow: str, key: str) -> str | None:
        """Path in the topology file of a flow's key, where the flow is known."""
        named = self._named.get(flow)
        return named.where(key) if named is not None else None

    @functools.cached_property
    def _named(self) -> Mapping[str, Any]:
        return {flow.name: flow.named for each in self.deployments.values() for flow in each.flows}


def planned_objects(deployment: Deployment) -> Objects:
    """Objects of a deployment by role and part."""
    return _by_key(deployment_objects(deployment))


def current_snapshot(stack: str, stacks: Path, *, like_rendered: bool = False) -> Snapshot:
    """A stack of the working tree; raises ReplicationError with every problem of its topology.

    `like_rendered` takes addresses of a local stack from the one that runs, as a render did.
    """
    settings = read_settings(stack, stacks)
    raise_mistakes(settings)
    known = addresses(settings) if like_rendered else {}
    return _of_settings(settings, known)


def earlier_snapshot(stack: str, base: Base) -> Snapshot:
    """A stack as it was; empty where it had no file or no topology.

    What was deployed then may have mistakes that are only known today: it is not checked, and a topology that cannot
    be read at all raises CannotRunError.
    """
    if base.rendered:
        return _of_files(stack, base)
    if not stack_file(stack, base.folder).is_file():
        return Snapshot()
    try:
        settings = read_settings(stack, base.folder)
        return _of_settings(settings, {})
    except CannotRunError as error:
        if error.what.startswith("topology `") and error.what.endswith("` has no file"):
            return Snapshot()
        raise UnreadableBaseError(
            f"{error.what}, at {base.label}",
            _relative(error.where, base),
            error.why,
            "compare with another ref or folder.",
        ) from error
    except (ReplicationError, ValueError, TypeError, KeyError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise UnreadableBaseError(
            f"this version cannot read the topology of stack `{stack}` as it was at {base.label}",
            _topology_file(stack, base),
            f"It says: {reason}.",
            "compare with a later ref, or with a folder of an earlier `replicate render`.",
        ) from error


def _of_settings(settings: StackSettings, known: Mapping[str, str]) -> Snapshot:
    """Addresses that only the configuration of a running stack holds stay placeholders."""
    unknown = {
        value.config: f"(configuration key {value.config})"
        for cluster in settings.topology.clusters.values()
        if isinstance(value := cluster.bootstrap_servers, ConfigValue)
    }
    flows = resolve_flows(settings.topology, settings.region, {**unknown, **settings.values, **known})
    users = kafka_user_objects(settings.topology, settings.region)
    return Snapshot(
        {each.name: each for each in deployments(flows)},
        {USERS_FOLDER: _by_key(users)} if users else {},
        " ".join(each for each in (settings.kubeconfig, settings.context) if each),
    )


def _by_key(objects: tuple[PlannedObject, ...]) -> Objects:
    return {
        planned.key: {**planned.manifest, "values": dict(planned.secret_values)}
        if planned.secret_values
        else planned.manifest
        for planned in objects
    }


def _of_files(stack: str, base: Base) -> Snapshot:
    """An earlier render, of one stack or with a folder for each; Secrets of our making are known by name."""
    folder = base.folder if (base.folder / "kustomization.yaml").is_file() else base.folder / stack
    if not folder.is_dir():
        return Snapshot()
    return Snapshot(others={each.name: dict(_files(each)) for each in sorted(folder.iterdir()) if each.is_dir()})


def _files(folder: Path) -> Iterator[tuple[str, Manifest]]:
    for path in sorted(folder.glob("*.yaml")):
        try:
            data = yaml.load(path.read_text(), yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise CannotRunError(
                f"the file is no YAML: {error}", str(path), "It was rendered.", "render again."
            ) from error
        if path.name == "required-secrets.yaml":
            yield from _required_secrets(data, folder.name)
        elif path.name != "kustomization.yaml":
            yield path.stem, data


def _required_secrets(data: list[dict[str, Any]], name: str) -> Iterator[tuple[str, Manifest]]:
    for secret in data:
        body = manifest("v1", "Secret", secret["name"], secret["namespace"], name, type="Opaque")
        keys = {key: str(value).removeprefix("configuration key ") for key, value in secret["keys"].items()}
        yield f"secret {secret['name']}", {**body, "values": keys}


def _topology_file(stack: str, base: Base) -> str:
    try:
        data = yaml.load(stack_file(stack, base.folder).read_text(), yaml.CSafeLoader)
        return f"stacks/topologies/{data['config']['replication:topology']}.yaml"
    except (OSError, yaml.YAMLError, KeyError, TypeError):
        return f"stacks/Pulumi.{stack}.yaml"


def _relative(where: str, base: Base) -> str:
    return where.replace(str(base.folder), "stacks")
