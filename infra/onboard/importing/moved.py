"""What differs between a mirror of a KafkaMirrorMaker2 and the flows that it becomes, once its offsets are copied."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from components.changes.all_effects import all_effects
from components.changes.deployment_state import DeployedConnector, DeploymentState, deployment_state
from components.changes.effect import Effect, Severity
from components.flows.naming import STORAGE_TOPICS
from components.render.deployments import Deployment
from components.render.planned_objects import Manifest
from infra.onboard.importing.effective import effective, objects_of
from infra.onboard.importing.flows import Imported
from infra.onboard.importing.mirrors import ends_of_mirrors
from infra.onboard.importing.placeholders import OURS, Placeholders, providers_of
from infra.onboard.importing.reading import ReadObject, read_documents

#: Effects of offsets stored by connector name, which a move copies, and one that only a deployment has.
_CARRIED = frozenset({"topics-move", "connector-renamed", "namespace-created"})

_EXCLUDED = "topics.exclude"

#: The data of ConfigMaps by namespace and name.
ConfigMaps = Mapping[tuple[str, str], Mapping[str, str]]


def effects_of_move(
    body: Manifest, index: int, deployments: Sequence[Deployment], config_maps: ConfigMaps
) -> tuple[Effect, ...]:
    """The effects on records and offsets if these deployments replace a mirror, most severe first. Restarts are not
    mentioned, because a move always stops replication.
    """
    before = _before(body, index, deployments[0], config_maps)
    after = [_after(each, config_maps) for each in deployments]
    of = {flow.name: flow.expanded for each in deployments for flow in each.flows}
    same = _on_the_same_workers(before, after)
    found = all_effects([same], after, lambda flow, key: of[flow].where(key) if flow in of else key)
    return tuple(each for each in found if each.code not in _CARRIED and each.severity is not Severity.RESTART)


def worker_config(body: Manifest) -> Mapping[str, str]:
    """The worker configuration of a KafkaMirrorMaker2, in either API version; empty if the operator refuses it."""
    normal = ends_of_mirrors(ReadObject("", body))
    return dict(normal[0].get("config") or {}) if isinstance(normal, tuple) else {}


def _before(body: Manifest, index: int, deployment: Deployment, config_maps: ConfigMaps) -> DeploymentState:
    alone = {**body, "spec": {**body["spec"], "mirrors": [body["spec"]["mirrors"][index]]}}
    read = read_documents("the cluster", [alone]).objects
    flow = deployment.flows[0]
    placeholders = Placeholders(body["metadata"]["namespace"], providers_of(worker_config(body)), config_maps)
    objects = objects_of(Imported(flow.name, "", {}, {}, read), placeholders)
    specs = {each["metadata"]["name"]: each["spec"] for each in objects.values()}
    state = deployment_state(flow.name, objects, {flow.alias("source"): flow.name})
    return effective(state, specs, placeholders, flow.expanded.kafka)


def _after(deployment: Deployment, config_maps: ConfigMaps) -> DeploymentState:
    objects = {each.key: each.manifest for each in deployment.objects}
    specs = {each["metadata"]["name"]: each["spec"] for each in objects.values() if each["kind"] == "KafkaConnect"}
    flow = deployment.flows[0]
    state = deployment_state(deployment.name, objects, {each.settings.source: each.name for each in deployment.flows})
    return effective(state, specs, Placeholders(flow.namespace, OURS, config_maps), flow.expanded.kafka)


def _on_the_same_workers(before: DeploymentState, after: Sequence[DeploymentState]) -> DeploymentState:
    """The mirror as if it ran on the workers of the flow, under the names of its connectors."""
    new: dict[str, DeployedConnector] = {}
    for each in (connector for state in after for connector in state.connectors):
        new.setdefault(each.role, each)

    def moved(connector: DeployedConnector) -> DeployedConnector:
        successor = new.get(connector.role)
        if successor is None:
            return connector
        # The address shows whether the target is the same cluster.
        workers = replace(successor.workers, target_address=connector.workers.target_address)
        return replace(connector, name=successor.name, workers=workers, config=_as_flows_exclude(connector, successor))

    connectors = tuple(moved(each) for each in before.connectors)
    workers = tuple({id(each.workers): each.workers for each in connectors}.values())
    return replace(before, name=after[0].name, connectors=connectors, workers=workers)


def _as_flows_exclude(connector: DeployedConnector, successor: DeployedConnector) -> Mapping[str, str]:
    """A connector's configuration with the exclusion that a flow adds by itself: the workers' storage topics."""
    excluded = {*connector.names(_EXCLUDED)}
    if not excluded or STORAGE_TOPICS not in successor.names(_EXCLUDED):
        return connector.config
    return {**connector.config, _EXCLUDED: ",".join(sorted({*excluded, STORAGE_TOPICS}))}
