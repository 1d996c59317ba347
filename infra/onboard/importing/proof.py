"""Whether the topology renders what was read: effects on replication, and every property that differs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from components.changes.all_effects import all_effects
from components.changes.deployment_state import DeployedWorkers, DeploymentState, deployment_state
from components.changes.effect import Effect, Severity
from components.flows.naming import MIRRORED
from components.render.deployments import Deployment
from components.render.planned_objects import Manifest
from components.topology.clusters import is_subdomain
from infra.onboard.importing.effective import effective, group_names, objects_of
from infra.onboard.importing.flows import Imported
from infra.onboard.importing.placeholders import OURS, Placeholders
from infra.onboard.importing.secret_values import may_be_secret
from infra.onboard.importing.workers import CONVERTERS

_CONNECTOR = "connector "
#: Fields of workers that decide whether records and offsets continue, and properties that every rendering adds.
_DECISIVE = re.compile(
    r"config\..*|bootstrapServers|(.*\.)?(tls|authentication)|groupId|\w+StorageTopic|version|image"
    r"|externalConfiguration|build|plugins|jvmOptions|template\..*"
)
_ADDED = re.compile(r"config\.(config\.providers.*|connector\.client\.config\.override\.policy|\w+\.converter.*)")


@dataclass(frozen=True)
class Difference:
    """A field or property that differs between the rendered object and the one that was read; None if absent.

    `key` is "" if one of them does not have the object at all.
    """

    obj: str
    key: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if not self.key:
            return f"{self.obj} is {'added' if self.before is None else 'removed'}"
        return f"{self.obj}: {self.key}: {_shown(self.key, self.before)} -> {_shown(self.key, self.after)}"


@dataclass(frozen=True)
class Proof:
    """What deploying an imported replication would change, and which of its flows replicate no heartbeats."""

    name: str
    effects: tuple[Effect, ...]
    differences: tuple[Difference, ...]
    without_heartbeats: tuple[str, ...] = ()

    @property
    def changes_records(self) -> bool:
        """Whether records or offsets would be copied twice, skipped or left behind."""
        return any(each.severity in {Severity.DATA, Severity.RE_READ} for each in self.effects)

    @property
    def properties(self) -> int:
        """The number of differing values that connectors depend on. Records certainly continue unchanged only if it
        is 0.
        """
        return sum(
            each.obj.startswith(_CONNECTOR)
            or (_DECISIVE.fullmatch(each.key) is not None and _ADDED.fullmatch(each.key) is None)
            for each in self.differences
        )


def prove(imported: Imported, deployment: Deployment, placeholders: Placeholders) -> Proof:
    """Compare what was read with what the topology renders for it."""
    kafka = deployment.flows[0].expanded.kafka
    ours = {each.key: each.manifest for each in deployment.objects}
    theirs = objects_of(imported, placeholders)
    flows = {flow.settings.source: flow.name for flow in deployment.flows}
    sides, specs = [], []
    for objects, resolving in ((theirs, placeholders), (ours, replace(placeholders, providers=OURS))):
        own = {each["metadata"]["name"]: each["spec"] for each in objects.values() if each["kind"] in CONVERTERS}
        specs.append(own)
        sides.append(effective(deployment_state(imported.name, objects, flows), own, resolving, kafka))
    of = {flow.name: flow.expanded for flow in deployment.flows}
    effects = all_effects(sides[:1], sides[1:], lambda flow, key: of[flow].where(key) if flow in of else key)
    return Proof(imported.name, effects, tuple(sorted(_differences(sides, specs), key=str)))


def _differences(sides: Sequence[DeploymentState], specs: Sequence[Mapping[str, Manifest]]) -> Iterator[Difference]:
    before, after = sides
    # A connector whose name no object can have is compared with the one that replaces it.
    made_of = {(each.role, each.part): each.name for each in after.connectors}
    old = {
        each.name if is_connector(each.name) else made_of.get((each.role, each.part), each.name): each
        for each in before.connectors
    }
    new = {each.name: each for each in after.connectors}
    for name in sorted({*old, *new}):
        read, made = old.get(name), new.get(name)
        if read is None or made is None:
            yield Difference(f"{_CONNECTOR}{name}", "", None if read is None else name, None if made is None else name)
            continue
        sides_of = ({**each.submitted, "state": each.state, "name": each.name} for each in (read, made))
        yield from _changed(f"{_CONNECTOR}{name}", *sides_of)
    for workers in after.workers:
        same = next((each for each in before.workers if (each.kind, each.name) == (workers.kind, workers.name)), None)
        if same is None:
            yield Difference(f"{workers.kind} {workers.name}", "", None, workers.name)
            continue
        yield from _changed(
            f"{workers.kind} {workers.name}", _facts(same, specs[0][same.name]), _facts(workers, specs[1][workers.name])
        )


def is_connector(name: str) -> bool:
    """Whether the operator can create a connector with this name."""
    return is_subdomain(name) or MIRRORED.fullmatch(name) is not None


def _facts(workers: DeployedWorkers, spec: Manifest) -> dict[str, Any]:
    return {
        **{f"config.{key}": value for key, value in workers.config.items()},
        **workers.pods,
        **group_names(workers.kind, spec),
        "replicas": workers.replicas,
        "logging": workers.logging,
        "bootstrapServers": workers.target_address,
    }


def _changed(obj: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old != new and str(old) != str(new):
            yield Difference(obj, key, None if old is None else str(old), None if new is None else str(new))


def _shown(key: str, text: str | None) -> str:
    if not text:
        return "not set" if text is None else "empty"
    # A structure may hold a credential in any of its fields.
    if text.startswith(("{", "[")):
        return "…"
    return "(a credential)" if may_be_secret(key, text) else f"`{text}`"
