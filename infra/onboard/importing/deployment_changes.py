"""Finds what deploying an imported topology, or moving a mirror to it, would change."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_replication.components.changes.all_effects import all_effects
from kafka_replication.components.changes.deployment_state import (
    DeployedConnector,
    DeployedWorkers,
    DeploymentState,
    worker_cluster,
)
from kafka_replication.components.changes.effect import Effect, Impact
from kafka_replication.components.checks.properties import WITHOUT_EFFECT, refused_properties
from kafka_replication.components.flows.naming import MIRRORED, STORAGE_TOPICS
from kafka_replication.components.flows.resolved import ResolvedFlow, config_keys, resolve_flows
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC, SIDES
from kafka_replication.components.properties.definitions import Owner
from kafka_replication.components.properties.keys import OtherOwner, Unknown, WithoutEffect, connector_key_meaning
from kafka_replication.components.render.deployments import Deployment, deployments
from kafka_replication.components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.topology.clusters import is_subdomain
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.onboard.importing.effective import effective_state, objects_of
from kafka_replication.infra.onboard.importing.flows import Imported
from kafka_replication.infra.onboard.importing.reading import ReadObject, ReadProperties, read_documents
from kafka_replication.infra.onboard.importing.topologies import ImportedTopology
from kafka_replication.infra.onboard.importing.values import (
    OURS,
    ConfigMaps,
    Placeholders,
    config_map_data,
    may_be_secret,
)

_CONNECTOR = "connector "
#: Shown instead of a structure, and of a credential.
_HIDDEN = ("…", "(a credential)")
#: Properties of connectors whose change has an effect, or none on records and offsets.
_JUDGED = frozenset({"topics.exclude", "groups.exclude", "add.source.alias.to.metrics"})
#: Fields of workers that decide whether records and offsets continue, and properties that every rendering adds.
_DECISIVE = re.compile(
    r"config\..*|bootstrapServers|(.*\.)?(tls|authentication)|groupId|\w+StorageTopic|version|image"
    r"|externalConfiguration|build|plugins|jvmOptions|template\..*"
)
_ADDED = re.compile(r"config\.(config\.providers.*|connector\.client\.config\.override\.policy|\w+\.converter.*)")


@dataclass(frozen=True)
class ChangedSetting:
    """A value that differs between the rendered and the read object, None if absent; without `key`, the object."""

    obj: str
    key: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if not self.key:
            return f"{self.obj} is {'added' if self.before is None else 'removed'}"
        before, after = self.shown
        return f"{self.obj}: {self.key}: {_quoted(before)} -> {_quoted(after)}"

    @property
    def shown(self) -> tuple[str | None, str | None]:
        """Return both sides without what may be a credential."""
        return _shown(self.key, self.before), _shown(self.key, self.after)


@dataclass(frozen=True)
class ImportChanges:
    """Says what deploying an imported replication would change, and which of its flows replicate no heartbeats."""

    name: str
    effects: tuple[Effect, ...]
    differences: tuple[ChangedSetting, ...]
    without_heartbeats: tuple[str, ...] = ()

    @property
    def changes_records(self) -> bool:
        """Return whether records or offsets would be copied twice, skipped or left behind."""
        return any(effect.severity in {Impact.DATA, Impact.RE_READ} for effect in self.effects)

    @property
    def decisive(self) -> tuple[ChangedSetting, ...]:
        """Return the differing values that connectors depend on; only without any do records surely continue."""
        return tuple(
            difference
            for difference in self.differences
            if (difference.obj.startswith(_CONNECTOR) and difference.key not in _JUDGED)
            or (_DECISIVE.fullmatch(difference.key) is not None and _ADDED.fullmatch(difference.key) is None)
        )


def changes_of_import(imported: Imported, deployment: Deployment, placeholders: Placeholders) -> ImportChanges:
    """Compare what was read with what the topology renders for it."""
    kafka = deployment.flows[0].expanded.kafka
    theirs = objects_of(imported, placeholders)
    before = effective_state(imported.name, theirs, placeholders, kafka, _by_source(deployment))
    after = _after(imported.name, deployment, replace(placeholders, providers=OURS))
    before, after = (_as_read(state, kafka) for state in (before, after))
    workers, differences, same = imported.read[0], _changed_settings(before, after), before
    if isinstance(workers, ReadProperties):
        # They have no fields for the login, which they take from the properties of the target.
        differences = (each for each in differences if each.key not in ("tls", "authentication"))
        same = before if workers.keeps_group else _excluding_new_topics(before, after)
    effects = all_effects([same], [after], _topology_path([deployment]))
    return ImportChanges(imported.name, effects, tuple(sorted(differences, key=str)))


def _as_read(state: DeploymentState, kafka: str) -> DeploymentState:
    """Return workers and connectors without the properties that they do not read."""

    def read(connector: DeployedConnector) -> DeployedConnector:
        config = connector.config
        syncs = config.get("offset-syncs.topic.location", "source")

        def is_unread(key: str) -> bool:
            meaning = connector_key_meaning(
                Owner(connector.role),
                key,
                kafka,
                config=config,
                offset_syncs_location=syncs if syncs in SIDES else "",
                exactly_once=connector.workers.config.get(EXACTLY_ONCE_SUPPORT) == "enabled",
            )
            nowhere = isinstance(meaning, Unknown) and not meaning.known_in
            return nowhere or isinstance(meaning, WithoutEffect | OtherOwner)

        unread = set(filter(is_unread, config))
        known = {key: value for key, value in config.items() if key not in unread}
        submitted = {key: value for key, value in connector.submitted.items() if key not in unread}
        return replace(connector, config=known, submitted=submitted)

    def of_workers(workers: DeployedWorkers) -> DeployedWorkers:
        once = workers.config.get(EXACTLY_ONCE_SUPPORT) == "enabled"
        refused = refused_properties(Owner.WORKER, workers.config, kafka, exactly_once=once)
        unread = {key for key, problem in refused.items() if problem.code in WITHOUT_EFFECT}
        return replace(workers, config={key: value for key, value in workers.config.items() if key not in unread})

    workers = tuple(of_workers(workers) for workers in state.workers)
    return replace(state, workers=workers, connectors=tuple(read(connector) for connector in state.connectors))


def _topology_path(deployments: Sequence[Deployment]) -> Callable[[str, str], str]:
    expanded = {flow.name: flow.expanded for deployment in deployments for flow in deployment.flows}
    return lambda flow, key: expanded[flow].where(key) if flow in expanded else key


def _changed_settings(before: DeploymentState, after: DeploymentState) -> Iterator[ChangedSetting]:
    # A connector whose name no object can have is compared with the one that replaces it.
    successors = {(connector.role, connector.part): connector.name for connector in after.connectors}

    def successor(former: DeployedConnector) -> str:
        is_possible = is_subdomain(former.name) or MIRRORED.fullmatch(former.name)
        return former.name if is_possible else successors.get((former.role, former.part), former.name)

    old = {successor(connector): connector for connector in before.connectors}
    new = {connector.name: connector for connector in after.connectors}
    for name in sorted({*old, *new}):
        facts = [
            None if connector is None else {**connector.submitted, "state": connector.state, "name": connector.name}
            for connector in (old.get(name), new.get(name))
        ]
        yield from _changed(f"{_CONNECTOR}{name}", name, *facts)
    known = {(workers.kind, workers.name): workers for workers in before.workers}
    for workers in after.workers:
        same = known.get((workers.kind, workers.name))
        yield from _changed(f"{workers.kind} {workers.name}", workers.name, _worker_facts(same), _worker_facts(workers))


def _worker_facts(workers: DeployedWorkers | None) -> dict[str, Any] | None:
    if workers is None:
        return None
    return {
        **{f"config.{key}": value for key, value in workers.config.items()},
        **workers.pods,
        "groupId": workers.group,
        "offsetStorageTopic": workers.offsets_topic,
        "replicas": workers.replicas,
        "logging": workers.logging,
        "bootstrapServers": workers.target_address,
    }


def _changed(
    obj: str, name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[ChangedSetting]:
    if before is None or after is None:
        yield ChangedSetting(obj, "", None if before is None else name, None if after is None else name)
        return
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old != new and str(old) != str(new):
            yield ChangedSetting(obj, key, None if old is None else str(old), None if new is None else str(new))


def _shown(key: str, text: str | None) -> str | None:
    # A structure may hold a credential in any of its fields.
    if text and text.startswith(("{", "[")):
        return _HIDDEN[0]
    return _HIDDEN[1] if text and may_be_secret(key, text) else text


def _quoted(text: str | None) -> str:
    if not text:
        return "not set" if text is None else "empty"
    return text if text in _HIDDEN else f"`{text}`"


#: Effects of offsets stored by connector name, which a move copies, and one that only a deployment has.
_CARRIED = frozenset({"topics-move", "connector-renamed", "namespace-created"})

_EXCLUDED = "topics.exclude"


def effects_of_move(
    body: Manifest, index: int, deployments: Sequence[Deployment], config_maps: ConfigMaps
) -> tuple[Effect, ...]:
    """Return the effects, restarts aside, if these deployments replace a mirror, most severe first."""
    before = _before(body, index, deployments[0], config_maps)
    after = [
        _after(deployment.name, deployment, Placeholders(deployment.flows[0].namespace, OURS, config_maps))
        for deployment in deployments
    ]
    same = _on_the_same_workers(before, after)
    effects = all_effects([same], after, _topology_path(deployments))
    return tuple(effect for effect in effects if effect.code not in _CARRIED and effect.severity is not Impact.RESTART)


def _before(body: Manifest, index: int, deployment: Deployment, config_maps: ConfigMaps) -> DeploymentState:
    alone = {**body, "spec": {**body["spec"], "mirrors": [body["spec"]["mirrors"][index]]}}
    read = read_documents("the cluster", [alone]).objects
    flow = deployment.flows[0]
    workers = worker_cluster(body["spec"]).get("config") or {}
    placeholders = Placeholders.of(body["metadata"]["namespace"], workers, config_maps)
    objects = objects_of(Imported(flow.name, "", {}, {}, read), placeholders)
    return effective_state(flow.name, objects, placeholders, flow.expanded.kafka, {flow.alias("source"): flow.name})


def _after(name: str, deployment: Deployment, placeholders: Placeholders) -> DeploymentState:
    objects = {planned.key: planned.manifest for planned in deployment.objects}
    kafka = deployment.flows[0].expanded.kafka
    return effective_state(name, objects, placeholders, kafka, _by_source(deployment))


def _by_source(deployment: Deployment) -> dict[str, str]:
    return {flow.settings.source: flow.name for flow in deployment.flows}


def _excluding_new_topics(before: DeploymentState, after: DeploymentState) -> DeploymentState:
    """Return what was read as if it excluded the storage topics of the new workers, which do not exist yet."""
    new = {connector.role: connector for connector in after.connectors}
    connectors = tuple(
        replace(former, config=_as_flows_exclude(former, new[former.role])) if former.role in new else former
        for former in before.connectors
    )
    return replace(before, connectors=connectors)


def _on_the_same_workers(before: DeploymentState, after: Sequence[DeploymentState]) -> DeploymentState:
    """Return the mirror as if it ran on the workers of the flow, under the names of its connectors."""
    new: dict[str, DeployedConnector] = {}
    for connector in (connector for state in after for connector in state.connectors):
        new.setdefault(connector.role, connector)

    def on_those_workers(connector: DeployedConnector) -> DeployedConnector:
        successor = new.get(connector.role)
        if successor is None:
            return connector
        # The address shows whether the target is the same cluster.
        workers = replace(successor.workers, target_address=connector.workers.target_address)
        return replace(connector, name=successor.name, workers=workers, config=_as_flows_exclude(connector, successor))

    connectors = tuple(on_those_workers(former) for former in before.connectors)
    workers = tuple({id(former.workers): former.workers for former in connectors}.values())
    return replace(before, name=after[0].name, connectors=connectors, workers=workers)


def _as_flows_exclude(connector: DeployedConnector, successor: DeployedConnector) -> Mapping[str, str]:
    """Return a connector's configuration with the exclusion that a flow adds by itself: the workers' storage topics."""
    excluded = {*connector.names(_EXCLUDED)}
    if not excluded or STORAGE_TOPICS not in successor.names(_EXCLUDED):
        return connector.config
    return {**connector.config, _EXCLUDED: ",".join(sorted({*excluded, STORAGE_TOPICS}))}


def without_heartbeats(flows: Iterable[ResolvedFlow]) -> tuple[str, ...]:
    """Return the names of the flows that replicate no heartbeats of their source."""
    return tuple(
        flow.name
        for flow in flows
        if HEARTBEATS_TOPIC not in flow.heartbeat_topics or not flow.settings.replicate_heartbeats
    )


def heartbeat_warning(flows: Iterable[str]) -> str:
    """Return a message: what goes unnoticed in these flows, and how to change that; "" if there are none."""
    names = ", ".join(flows)
    return names and (
        f"No heartbeats: {names}. Nothing here writes heartbeats to the source and replicates them. So the alert "
        "MirrorHeartbeatSilent does not exist, and a validation has no heartbeats to check. While no records are "
        "produced, nothing shows that replication works. Remedy: once this project runs it, set "
        "`connectors.heartbeat.enabled: true` (and for a `flow` `replicateHeartbeats: true`, if it is false), and add "
        "the ACLs that `replicate acls` then lists. For a `mirrorMaker2` of `v1beta2` there is no remedy: it writes "
        "heartbeats only to the target; a `flow` replicates those of the source."
    )


def changes_of_imports(imported: ImportedTopology, config_maps: Sequence[ReadObject]) -> list[ImportChanges]:
    """Return the proof of each replication. Raises ReplicationError if the topology cannot be rendered."""
    topology = parse_topology(imported.document)
    unknown = {key: f"(configuration key {key})" for key in config_keys(topology)}
    rendered = {deployment.name: deployment for deployment in deployments(resolve_flows(topology, None, unknown))}
    return changes_of_deployments(imported.imported, rendered, config_maps)


def changes_of_deployments(
    running: Iterable[Imported], rendered: Mapping[str, Deployment], config_maps: Sequence[ReadObject]
) -> list[ImportChanges]:
    """Return what changes if, of what was read, each replication's deployment in `rendered` replaces it."""
    data = config_map_data(read.body for read in config_maps)
    proofs = []
    for replication in running:
        workers, deployment = replication.read[0], rendered[replication.name]
        if replication.mirror_index is None:
            placeholders = Placeholders.of(workers.namespace, workers.config, data)
            proof = changes_of_import(replication, deployment, placeholders)
        else:
            effects = effects_of_move(workers.body, replication.mirror_index, [deployment], data)
            proof = ImportChanges(replication.name, effects, ())
        proofs.append(replace(proof, without_heartbeats=without_heartbeats(deployment.flows)))
    return proofs
