"""A stack at one point in time: its deployments and their objects, from stack files or from an earlier render."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from kafka_replication.components.changes.deployment_state import DeploymentState, deployment_state
from kafka_replication.components.contract.problems import CannotRunError, ReplicationError
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.resolved import config_keys, resolve_flows
from kafka_replication.components.render.deployments import Deployment, deployments
from kafka_replication.components.render.planned_objects import Manifest, PlannedObject, manifest, needed_keys
from kafka_replication.infra.review.bases import Base
from kafka_replication.infra.review.render import stack_objects
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.settings import PROJECT, StackSettings, read_settings, readable_config, stack_file
from kafka_replication.infra.stack.stack_checks import raise_mistakes

Objects = Mapping[str, Manifest]


class UnreadableBaseError(CannotRunError):
    """The earlier stack cannot be read, so what changed is unknown."""


@dataclass(frozen=True)
class Snapshot:
    """A stack at one point in time. `deployments` are those of the topology, by the name of their workers. `others` has
    what is known only as objects: rendered files, Kafka users and monitoring. `states` has what workers run that were
    read from a folder of YAML. An empty snapshot means a stack that does not exist. `by_gitops`: another tool applies
    the objects."""

    deployments: Mapping[str, Deployment] = field(default_factory=dict)
    others: Mapping[str, Objects] = field(default_factory=dict)
    kubernetes: str | None = None
    by_gitops: bool = False
    states: Mapping[str, DeploymentState] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.deployments, *self.others, *self.states)

    def objects(self, name: str) -> Objects:
        """Return objects of one deployment by role and part; empty if the deployment does not exist."""
        if name in self.deployments:
            return _by_key(self.deployments[name].objects)
        return self.others.get(name, {})

    def state(self, name: str) -> tuple[DeploymentState, ...]:
        """Return what a deployment runs; nothing if the deployment does not exist."""
        if name in self.states:
            return (self.states[name],)
        objects = self.objects(name)
        return (deployment_state(name, objects, self.flows(name)),) if objects else ()

    def waits(self, name: str) -> Mapping[str, tuple[str, ...]]:
        """Return keys of the objects that each object waits for; empty for what is known only as objects."""
        known = self.deployments.get(name)
        return needed_keys(known.objects) if known is not None else {}

    def flows(self, name: str) -> Mapping[str, str]:
        """Return flows of a deployment by the alias of their source; empty if the topology is unknown."""
        known = self.deployments.get(name)
        return {flow.settings.source: flow.name for flow in known.flows} if known is not None else {}

    @functools.cached_property
    def expanded(self) -> Mapping[str, ExpandedFlow]:
        """Return the flows that the topology declares, by name; empty if the topology is unknown."""
        return {flow.name: flow.expanded for deployment in self.deployments.values() for flow in deployment.flows}


def current_snapshot(stack: str, stacks: Path, *, like_rendered: bool = False) -> Snapshot:
    """Return a stack of the working tree, a running local one `like_rendered`. Raises ReplicationError."""
    settings = read_settings(stack, stacks)
    raise_mistakes(settings)
    known = stack_environment(settings).configured().values if like_rendered else {}
    return _of_settings(settings, known)


def earlier_snapshot(stack: str, base: Base) -> Snapshot:
    """Return a stack as it was, unchecked: only today's checks may find its mistakes. Empty if it had no file or
    topology. Raises CannotRunError if it cannot be read."""
    if base.rendered:
        # Of one stack, or with a folder for each; Secrets that we make are known by name.
        folder = base.folder if (base.folder / "kustomization.yaml").is_file() else base.folder / stack
        folders = sorted(inner for inner in folder.iterdir() if inner.is_dir()) if folder.is_dir() else ()
        return Snapshot(others={inner.name: dict(_files(inner)) for inner in folders})
    if not stack_file(stack, base.folder).is_file():
        return Snapshot()
    try:
        settings = read_settings(stack, base.folder)
        return _of_settings(settings, {})
    except CannotRunError as error:
        if error.code == "unknown-topology":
            return Snapshot()
        raise UnreadableBaseError(
            error.code,
            f"{error.what}, at {base.label}",
            str(error.place or error.where).replace(str(base.folder), "stacks"),
            error.why,
            "compare with another ref or folder.",
        ) from error
    except (ReplicationError, ValueError, TypeError, KeyError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        name = (readable_config(stack_file(stack, base.folder)) or {}).get(f"{PROJECT}:topology")
        file = f"stacks/topologies/{name}.yaml" if name else f"stacks/Pulumi.{stack}.yaml"
        what = f"this version cannot read the topology of stack `{stack}` as it was at {base.label}"
        why = f"It says: {reason}."
        remedy = "compare with a later ref, or with a folder of an earlier `replicate render`."
        raise UnreadableBaseError("base-unreadable", what, file, why, remedy) from error


def _of_settings(settings: StackSettings, known: Mapping[str, str]) -> Snapshot:
    """Return objects of settings; addresses that only a running stack's configuration has stay placeholders."""
    unknown = {key: f"(configuration key {key})" for key in config_keys(settings.topology)}
    flows = resolve_flows(settings.topology, settings.region, {**unknown, **settings.values, **known})
    return Snapshot(
        {deployment.name: deployment for deployment in deployments(flows)},
        {name: _by_key(objects) for name, objects in stack_objects(settings, flows).items() if objects},
        " ".join(part for part in (settings.kubeconfig, settings.context) if part),
        settings.by_gitops,
    )


def _by_key(objects: tuple[PlannedObject, ...]) -> Objects:
    return {
        planned.key: {**planned.manifest, "values": dict(planned.secret_values)}
        if planned.secret_values
        else planned.manifest
        for planned in objects
    }


def _files(folder: Path) -> Iterator[tuple[str, Manifest]]:
    for path in sorted(folder.glob("*.yaml")):
        try:
            data = yaml.load(path.read_text(), yaml.CSafeLoader)
        except yaml.YAMLError as error:
            what, why = f"the file is not YAML: {error}", "`replicate render` wrote YAML, so somebody changed the file."
            raise CannotRunError("render-unreadable", what, str(path), why, "render again.") from error
        if path.name == "required-secrets.yaml":
            for secret in data:
                body = manifest("v1", "Secret", secret["name"], secret["namespace"], folder.name, type="Opaque")
                keys = {key: str(value).removeprefix("configuration key ") for key, value in secret["keys"].items()}
                yield f"secret {secret['name']}", {**body, "values": keys}
        elif path.name != "kustomization.yaml":
            yield path.stem, data
