"""Derives what the objects of a folder make Connect run, before and after a change. Pure.

Objects are judged as published: a changed text restarts a connector, while records and offsets depend on its meaning.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from components.changes.deployment_state import DeployedConnector, DeployedWorkers, DeploymentState, deployment_state
from infra.onboard.importing.effective import effective_state, objects_of
from infra.onboard.importing.flows import Imported, role_of
from infra.onboard.importing.left_out import LeftOut
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.reading import ReadObject
from infra.onboard.importing.topologies import kafka_of
from infra.onboard.importing.values import Placeholders, providers_of
from infra.onboard.importing.workers import group_name
from infra.review.yaml.objects import FolderObjects, Identity, identity_of

_WORKERS = ("KafkaMirrorMaker2", "KafkaConnect")


@dataclass(frozen=True)
class FolderWorkers:
    """Workers with the mirror connectors that run on them; `config_maps` are those of the folder."""

    name: str
    read: ReadObject
    connectors: tuple[ReadObject, ...]
    config_maps: Mapping[tuple[str, str], Mapping[str, str]]

    @property
    def objects(self) -> tuple[ReadObject, ...]:
        return self.read, *self.connectors

    @property
    def config(self) -> Mapping[str, Any]:
        """Return the configuration of the workers."""
        ends = ends_of_mirrors(self.read) if self.read.kind == "KafkaMirrorMaker2" else self.read.spec
        target = ends[0] if isinstance(ends, tuple) else ends
        return {} if isinstance(target, LeftOut) else target.get("config") or {}


def workers_of_both(
    before: FolderObjects, after: FolderObjects, unclear: Collection[Identity]
) -> tuple[tuple[FolderWorkers, ...], tuple[FolderWorkers, ...]]:
    """Return the workers of both sides that can be judged; workers that are the same before and after share a name."""
    old, new = (_read_workers(side, unclear) for side in (before, after))
    names = _names(old, new)
    first = {identity: name for (is_new, identity), name in names.items() if not is_new}
    second = {identity: name for (is_new, identity), name in names.items() if is_new}
    return _named(before, old, first, unclear), _named(after, new, second, unclear)


def _read_workers(side: FolderObjects, unclear: Collection[Identity]) -> dict[Identity, ReadObject]:
    workers = {identity: read for kind in _WORKERS for identity, read in side.read(kind).items()}
    return {identity: read for identity, read in workers.items() if identity not in unclear}


def _names(old: Mapping[Identity, ReadObject], new: Mapping[Identity, ReadObject]) -> dict[tuple[bool, Identity], str]:
    """Name the workers of each side; those of both sides are the same if identity, name or group is equal."""
    partner: dict[Identity, Identity] = {identity: identity for identity in new if identity in old}
    for alike in (lambda identity, _: (identity[0], identity[2]), lambda identity, read: (identity[0], _group(read))):
        left = {alike(identity, read): identity for identity, read in old.items() if identity not in partner.values()}
        for identity, read in new.items():
            if identity not in partner and alike(identity, read) in left:
                partner[identity] = left.pop(alike(identity, read))
    shown = Counter(
        identity[2] for identity in {*new, *(identity for identity in old if identity not in partner.values())}
    )

    def name(identity: Identity) -> str:
        return (
            identity[2] if shown[identity[2]] == 1 else f"{identity[0].rpartition('/')[2]} {identity[1]}/{identity[2]}"
        )

    named = {(True, identity): name(identity) for identity in new}
    named |= {(False, earlier): name(later) for later, earlier in partner.items()}
    return {(False, identity): name(identity) for identity in old} | named


def _group(read: ReadObject) -> str:
    ends = ends_of_mirrors(read) if read.kind == "KafkaMirrorMaker2" else read.spec
    at = ends[0] if isinstance(ends, tuple) else read.spec
    return group_name(read.kind, "groupId", at, at.get("config") or {})


def _named(
    side: FolderObjects,
    workers: Mapping[Identity, ReadObject],
    names: Mapping[Identity, str],
    unclear: Collection[Identity],
) -> tuple[FolderWorkers, ...]:
    maps = {
        (config_map.namespace, config_map.name): dict(config_map.body.get("data") or {})
        for identity, config_map in side.read("ConfigMap").items()
        if identity not in unclear
    }
    connectors = [connector for identity, connector in side.read("KafkaConnector").items() if identity not in unclear]
    return tuple(
        FolderWorkers(
            names[identity],
            read,
            tuple(
                connector
                for connector in connectors
                if read.kind == "KafkaConnect"
                and (connector.namespace, connector.workers) == (read.namespace, read.name)
            ),
            maps,
        )
        for identity, read in workers.items()
    )


def states_of_both(
    before: Sequence[FolderWorkers], after: Sequence[FolderWorkers]
) -> tuple[tuple[DeploymentState, ...], tuple[DeploymentState, ...]]:
    """Return what both sides run; flows are named after their workers, and after their source if there are several."""
    states = [[_state(workers) for workers in side] for side in (before, after)]
    several = _several_sources(states)
    named = [[_with_flows(state, several) for state in side] for side in states]
    shared = {
        key
        for side in named
        for key, count in Counter(
            (connector.flow, connector.role) for state in side for connector in state.connectors
        ).items()
        if count > 1
    }
    parted = [
        tuple(
            replace(
                state,
                connectors=tuple(
                    replace(connector, part=connector.name) if (connector.flow, connector.role) in shared else connector
                    for connector in state.connectors
                ),
            )
            for state in side
        )
        for side in named
    ]
    return parted[0], parted[1]


def _several_sources(states: Iterable[Iterable[DeploymentState]]) -> set[str]:
    return {
        state.name
        for side in states
        for state in side
        if len({connector.source_alias for connector in state.connectors}) > 1
    }


def _with_flows(state: DeploymentState, several: set[str]) -> DeploymentState:
    connectors = tuple(
        replace(connector, flow=f"{state.name} from {connector.source_alias}" if state.name in several else state.name)
        for connector in state.connectors
    )
    return replace(state, connectors=connectors)


def _state(workers: FolderWorkers) -> DeploymentState:
    roles = Counter(role_of(connector) for connector in workers.connectors)
    parts = {connector.name: connector.name for connector in workers.connectors if roles[role_of(connector)] > 1}
    imported = Imported(workers.name, "", {}, {}, list(workers.objects), parts=parts)
    placeholders = Placeholders(workers.read.namespace, providers_of(workers.config), workers.config_maps)
    objects = objects_of(imported, placeholders)
    written = deployment_state(workers.name, objects)
    meant = effective_state(workers.name, objects, placeholders, str(kafka_of(workers.read, None)))
    (group,) = (_workers(*pair) for pair in zip(written.workers, meant.workers, strict=True))
    connectors = tuple(_connector(*pair, group) for pair in zip(written.connectors, meant.connectors, strict=True))
    return replace(meant, workers=(group,), connectors=connectors)


def _workers(written: DeployedWorkers, meant: DeployedWorkers) -> DeployedWorkers:
    """Return workers that restart when their text changes, but not for only naming the group that they have."""
    named = {key: value for key, value in meant.pods.items() if key.endswith("StorageTopic")}
    return replace(
        written,
        group=meant.group,
        offsets_topic=meant.offsets_topic,
        replicas=meant.replicas,
        pods={**written.pods, **named},
        names_group=True,
    )


def _connector(written: DeployedConnector, meant: DeployedConnector, group: DeployedWorkers) -> DeployedConnector:
    """Return a connector that restarts when its text changes, and whose effects depend on the text's meaning."""
    return replace(meant, submitted=written.submitted, workers=group)


def deployments_of(workers: Iterable[FolderWorkers]) -> dict[Identity, str]:
    """Return the name of the deployment of each object."""
    return {identity_of(read): worker.name for worker in workers for read in worker.objects}
