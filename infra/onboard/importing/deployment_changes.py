"""Finds what deploying an imported topology, or moving a mirror to it, would change."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from components.changes.all_effects import all_effects
from components.changes.deployment_state import DeployedConnector, DeployedWorkers, DeploymentState, deployment_state
from components.changes.effect import Effect, Impact
from components.flows.naming import MIRRORED, STORAGE_TOPICS
from components.flows.resolved import ResolvedFlow, resolve_flows
from components.kafka.replication_policy import HEARTBEATS_TOPIC
from components.render.deployments import Deployment, deployments
from components.render.planned_objects import Manifest
from components.topology.clusters import ConfigValue, is_subdomain
from components.topology.parsing import parse_topology
from infra.onboard.importing.effective import effective, group_names, objects_of
from infra.onboard.importing.flows import Imported
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.reading import ReadObject, read_documents
from infra.onboard.importing.topologies import ImportedTopology
from infra.onboard.importing.values import OURS, Placeholders, may_be_secret, providers_of
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
    """Says what deploying an imported replication would change, and which of its flows replicate no heartbeats."""

    name: str
    effects: tuple[Effect, ...]
    differences: tuple[Difference, ...]
    without_heartbeats: tuple[str, ...] = ()

    @property
    def changes_records(self) -> bool:
        """Return whether records or offsets would be copied twice, skipped or left behind."""
        return any(effect.severity in {Impact.DATA, Impact.RE_READ} for effect in self.effects)

    @property
    def properties(self) -> int:
        """Return the number of differing values that connectors depend on.

        Records certainly continue unchanged only if it is 0.
        """
        return sum(
            difference.obj.startswith(_CONNECTOR)
            or (_DECISIVE.fullmatch(difference.key) is not None and _ADDED.fullmatch(difference.key) is None)
            for difference in self.differences
        )


def prove(imported: Imported, deployment: Deployment, placeholders: Placeholders) -> Proof:
    """Compare what was read with what the topology renders for it."""
    kafka = deployment.flows[0].expanded.kafka
    ours = {planned.key: planned.manifest for planned in deployment.objects}
    theirs = objects_of(imported, placeholders)
    flows = {flow.settings.source: flow.name for flow in deployment.flows}
    sides, specs = [], []
    for objects, resolving in ((theirs, placeholders), (ours, replace(placeholders, providers=OURS))):
        own = {body["metadata"]["name"]: body["spec"] for body in objects.values() if body["kind"] in CONVERTERS}
        specs.append(own)
        sides.append(effective(deployment_state(imported.name, objects, flows), own, resolving, kafka))
    of = {flow.name: flow.expanded for flow in deployment.flows}
    effects = all_effects(sides[:1], sides[1:], lambda flow, key: of[flow].where(key) if flow in of else key)
    return Proof(imported.name, effects, tuple(sorted(_differences(sides, specs), key=str)))


def _differences(sides: Sequence[DeploymentState], specs: Sequence[Mapping[str, Manifest]]) -> Iterator[Difference]:
    before, after = sides
    # A connector whose name no object can have is compared with the one that replaces it.
    made_of = {(connector.role, connector.part): connector.name for connector in after.connectors}
    old = {
        connector.name
        if is_connector(connector.name)
        else made_of.get((connector.role, connector.part), connector.name): connector
        for connector in before.connectors
    }
    new = {connector.name: connector for connector in after.connectors}
    for name in sorted({*old, *new}):
        read, made = old.get(name), new.get(name)
        if read is None or made is None:
            yield Difference(f"{_CONNECTOR}{name}", "", None if read is None else name, None if made is None else name)
            continue
        sides_of = (
            {**connector.submitted, "state": connector.state, "name": connector.name} for connector in (read, made)
        )
        yield from _changed(f"{_CONNECTOR}{name}", *sides_of)
    for workers in after.workers:
        same = next(
            (worker for worker in before.workers if (worker.kind, worker.name) == (workers.kind, workers.name)), None
        )
        if same is None:
            yield Difference(f"{workers.kind} {workers.name}", "", None, workers.name)
            continue
        yield from _changed(
            f"{workers.kind} {workers.name}", _facts(same, specs[0][same.name]), _facts(workers, specs[1][workers.name])
        )


def is_connector(name: str) -> bool:
    """Return whether the operator can create a connector with this name."""
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


#: Effects of offsets stored by connector name, which a move copies, and one that only a deployment has.
_CARRIED = frozenset({"topics-move", "connector-renamed", "namespace-created"})

_EXCLUDED = "topics.exclude"

#: The data of ConfigMaps by namespace and name.
ConfigMaps = Mapping[tuple[str, str], Mapping[str, str]]


def effects_of_move(
    body: Manifest, index: int, deployments: Sequence[Deployment], config_maps: ConfigMaps
) -> tuple[Effect, ...]:
    """Return the effects on records and offsets if these deployments replace a mirror, most severe first.

    Restarts are not mentioned, because a move always stops replication.
    """
    before = _before(body, index, deployments[0], config_maps)
    after = [_after(deployment, config_maps) for deployment in deployments]
    of = {flow.name: flow.expanded for deployment in deployments for flow in deployment.flows}
    same = _on_the_same_workers(before, after)
    effects = all_effects([same], after, lambda flow, key: of[flow].where(key) if flow in of else key)
    return tuple(effect for effect in effects if effect.code not in _CARRIED and effect.severity is not Impact.RESTART)


def worker_config(body: Manifest) -> Mapping[str, str]:
    """Return the worker configuration of a KafkaMirrorMaker2, in either API version.

    Empty if the operator refuses it.
    """
    normal = ends_of_mirrors(ReadObject("", body))
    return dict(normal[0].get("config") or {}) if isinstance(normal, tuple) else {}


def _before(body: Manifest, index: int, deployment: Deployment, config_maps: ConfigMaps) -> DeploymentState:
    alone = {**body, "spec": {**body["spec"], "mirrors": [body["spec"]["mirrors"][index]]}}
    read = read_documents("the cluster", [alone]).objects
    flow = deployment.flows[0]
    placeholders = Placeholders(body["metadata"]["namespace"], providers_of(worker_config(body)), config_maps)
    objects = objects_of(Imported(flow.name, "", {}, {}, read), placeholders)
    specs = {body["metadata"]["name"]: body["spec"] for body in objects.values()}
    state = deployment_state(flow.name, objects, {flow.alias("source"): flow.name})
    return effective(state, specs, placeholders, flow.expanded.kafka)


def _after(deployment: Deployment, config_maps: ConfigMaps) -> DeploymentState:
    objects = {planned.key: planned.manifest for planned in deployment.objects}
    specs = {body["metadata"]["name"]: body["spec"] for body in objects.values() if body["kind"] == "KafkaConnect"}
    flow = deployment.flows[0]
    state = deployment_state(
        deployment.name, objects, {member.settings.source: member.name for member in deployment.flows}
    )
    return effective(state, specs, Placeholders(flow.namespace, OURS, config_maps), flow.expanded.kafka)


def _on_the_same_workers(before: DeploymentState, after: Sequence[DeploymentState]) -> DeploymentState:
    """Return the mirror as if it ran on the workers of the flow, under the names of its connectors."""
    new: dict[str, DeployedConnector] = {}
    for connector in (connector for state in after for connector in state.connectors):
        new.setdefault(connector.role, connector)

    def moved(connector: DeployedConnector) -> DeployedConnector:
        successor = new.get(connector.role)
        if successor is None:
            return connector
        # The address shows whether the target is the same cluster.
        workers = replace(successor.workers, target_address=connector.workers.target_address)
        return replace(connector, name=successor.name, workers=workers, config=_as_flows_exclude(connector, successor))

    connectors = tuple(moved(former) for former in before.connectors)
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


def said_of(flows: Iterable[str]) -> str:
    """Return a message: what goes unnoticed in these flows, and how to change that; "" if there are none."""
    names = ", ".join(flows)
    return names and (
        f"No heartbeats: {names}. Nothing here writes heartbeats to the source and replicates them. So the alert "
        "MirrorHeartbeatSilent does not exist, and a validation has no heartbeats to check. While no records are "
        "produced, nothing shows that replication works. Remedy: once this project runs the flow, set "
        "`connectors.heartbeat.enabled: true` (and `replicateHeartbeats: true`, if it is false), and add the ACLs that "
        "`replicate acls` then lists. A KafkaMirrorMaker2 of `v1beta2` writes heartbeats only to the target; a `flow` "
        "replicates those of the source."
    )


def proofs_of(imported: ImportedTopology, config_maps: Sequence[ReadObject]) -> list[Proof]:
    """Return the proof of each replication. Raises ReplicationError if the topology cannot be rendered."""
    topology = parse_topology(imported.document)
    unknown = {
        cluster.bootstrap_servers.config: f"(configuration key {cluster.bootstrap_servers.config})"
        for cluster in topology.clusters.values()
        if isinstance(cluster.bootstrap_servers, ConfigValue)
    }
    rendered = {deployment.name: deployment for deployment in deployments(resolve_flows(topology, None, unknown))}
    data = {
        (config_map.namespace, config_map.name): dict(config_map.body.get("data") or {}) for config_map in config_maps
    }
    proofs = []
    for replication in imported.imported:
        workers, silent = replication.read[0], without_heartbeats(rendered[replication.name].flows)
        if replication.moves_from is not None:
            effects = effects_of_move(workers.body, replication.moves_from, [rendered[replication.name]], data)
            proofs.append(Proof(replication.name, effects, (), silent))
            continue
        config = workers.spec.get("config") or {}
        proof = prove(
            replication, rendered[replication.name], Placeholders(workers.namespace, providers_of(config), data)
        )
        proofs.append(replace(proof, without_heartbeats=silent))
    return proofs
