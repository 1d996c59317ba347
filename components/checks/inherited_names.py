"""Names that a topology sets instead of deriving them: each belongs to one Connect cluster or connector."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow, Shape
from components.flows.naming import (
    STORAGE_ROLES,
    connect_name,
    connector_name,
    group_id,
    namespace_name,
    storage_topic_name,
)
from components.flows.operators import CLUSTER_LABEL, USES_CONNECTOR_RESOURCES, strimzi
from components.flows.sources import source_parts
from components.kafka.mirror_connectors import ConnectorRole
from components.render.planned_objects import MANAGED_BY, PART_OF
from components.topology.connectors import Connector
from components.topology.model import Topology

_OWNED = frozenset({MANAGED_BY, PART_OF, CLUSTER_LABEL, USES_CONNECTOR_RESOURCES})


@dataclass(frozen=True)
class _Given:
    """A name, where the topology sets it or would set it, and what it belongs to."""

    name: str
    flow: ExpandedFlow
    key: str
    owner: str

    @property
    def where(self) -> str:
        return self.flow.where(self.key)


def check_inherited_names(topology: Topology, flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No two worker groups, storage topics, resources or connectors in the same place share a name."""
    deployed = {flow.workers: flow for flow in flows}
    yield from _check_groups(deployed.values())
    yield from _check_storage_topics(deployed.values())
    yield from _check_resources(topology, deployed.values())
    yield from _check_connectors(topology, flows)
    for flow in flows:
        yield from _check_unused(topology, flow)
        yield from _check_labels(flow)


def _check_groups(deployed: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], ExpandedFlow] = {}
    for flow in deployed:
        group = group_id(flow.workers, flow.settings)
        other = seen.setdefault((flow.settings.target, group), flow)
        if other is not flow:
            yield Problem(
                flow.where("connect.groupId"),
                "worker-group-shared",
                f"its worker group `{group}` on `{flow.settings.target}` is also that of {other.where()}",
                "The workers of both would form one group and share the connectors of both, with storage topics and "
                "logins that belong to only one of them.",
                "give one of them another `connect.groupId`. If it already runs, copy its offsets first, or it "
                "replicates everything again.",
            )


def _check_storage_topics(deployed: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], _Given] = {}
    for flow in deployed:
        for role in STORAGE_ROLES:
            topic = storage_topic_name(flow.workers, flow.settings, role)
            given = _Given(topic, flow, f"connect.storageTopics.{role}", flow.workers)
            other = seen.setdefault((flow.settings.target, topic), given)
            if other is given:
                continue
            yield Problem(
                given.where,
                "storage-topic-shared",
                f"the storage topic `{topic}` on `{flow.settings.target}` is also {other.where}",
                "Workers treat every record in a storage topic as their own, even one of another group or in another "
                "format.",
                "give each its own topic. If the workers already run, copy the records of the topic first, or they "
                "replicate everything again.",
            )


def _check_resources(topology: Topology, deployed: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, ...], ExpandedFlow] = {}
    for flow in deployed:
        kind = "KafkaMirrorMaker2" if flow.shape is Shape.MIRROR_MAKER2 else "KafkaConnect"
        name = connect_name(flow.workers, flow.settings)
        namespace = namespace_name(flow.workers, flow.settings)
        other = seen.setdefault((_region(topology, flow), namespace, kind, name), flow)
        if other is not flow:
            yield Problem(
                flow.where("connect.name"),
                "resource-name-shared",
                f"its {kind} is `{name}` in namespace `{namespace}`, as is that of {other.where()}",
                "Both would be the same object, so Kubernetes would keep only the one that is written last.",
                "give one of them another `connect.name`, or another namespace.",
            )


def _check_connectors(topology: Topology, flows: Iterable[ExpandedFlow]) -> Iterator[Problem]:
    seen: dict[tuple[str, str, str], _Given] = {}
    for flow in flows:
        namespace = namespace_name(flow.workers, flow.settings)
        for given in _connectors(topology, flow):
            other = seen.setdefault((_region(topology, flow), namespace, given.name), given)
            # Replications whose workers share a name are reported separately.
            alike = flow.name == other.flow.name and flow is not other.flow
            if other is not given and not alike:
                yield Problem(
                    given.where,
                    "connector-name-shared",
                    f"the connector's name is `{given.name}`, as is that of {other.where} in namespace `{namespace}`",
                    "Both would be the same KafkaConnector, so Kubernetes would keep only the one that is written "
                    "last.",
                    "give one of them another `name`. A connector that already runs keeps its offsets only under "
                    "its current name.",
                )


def _connectors(topology: Topology, flow: ExpandedFlow) -> Iterator[_Given]:
    """The KafkaConnectors of a flow; the operator creates and names the connectors of a KafkaMirrorMaker2."""
    connectors = flow.settings.connectors
    mirror = flow.shape is Shape.MIRROR_MAKER2
    for part in () if mirror else source_parts(flow.settings):
        key = f"connectors.sources.{part}" if part else "connectors.source"
        yield _Given(connector_name(flow.name, flow.settings, "source", part), flow, key, flow.name)
    roles: list[ConnectorRole] = []
    if connectors.checkpoint.enabled and not mirror:
        roles.append("checkpoint")
    if connectors.heartbeat.enabled and not (mirror and strimzi(topology.strimzi).api.has_heartbeat_mirrors):
        roles.append("heartbeat")
    for role in roles:
        yield _Given(connector_name(flow.name, flow.settings, role), flow, f"connectors.{role}", flow.name)


def _region(topology: Topology, flow: ExpandedFlow) -> str:
    cluster = topology.clusters.get(flow.settings.target)
    return cluster.region if cluster else ""


def _check_unused(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """A name, a label or an annotation of a connector that has no KafkaConnector of its own."""
    of_operator = flow.shape is Shape.MIRROR_MAKER2
    divided = bool(flow.settings.connectors.sources)
    unused = {
        "source": of_operator or divided,
        "checkpoint": of_operator,
        "heartbeat": of_operator and strimzi(topology.strimzi).api.has_heartbeat_mirrors,
    }
    why = (
        "The operator creates the connectors of a KafkaMirrorMaker2 and names them after their clusters."
        if of_operator
        else "Each of `connectors.sources` is a KafkaConnector of its own."
    )
    for role, is_unused in unused.items():
        connector: Connector = getattr(flow.settings.connectors, role)
        for key in ("name", "labels", "annotations") if is_unused else ():
            if getattr(connector, key):
                yield Problem(
                    flow.where(f"connectors.{role}.{key}"),
                    "name-without-effect",
                    f"`{key}` is set for a connector that has no KafkaConnector of its own",
                    why,
                    "remove it." if of_operator else "set it for each of `connectors.sources`.",
                )


def _check_labels(flow: ExpandedFlow) -> Iterator[Problem]:
    """The project sets its own labels and those that Strimzi reads."""
    for path, given in _label_maps(flow):
        for key in sorted(_OWNED & given.keys()):
            yield Problem(
                flow.where(f"{path}.{key}"),
                "owned-label",
                f"`{key}` is set",
                "The project sets it itself, so this value would have no effect.",
                "remove it.",
            )


def _label_maps(flow: ExpandedFlow) -> Iterator[tuple[str, Mapping[str, str]]]:
    connectors = flow.settings.connectors
    owners: dict[str, object] = {"connect": flow.settings.connect}
    owners |= {f"connectors.{role}": getattr(connectors, role) for role in ("source", "checkpoint", "heartbeat")}
    owners |= {f"connectors.sources.{part}": source for part, source in connectors.sources.items()}
    for path, owner in owners.items():
        for key in ("labels", "annotations"):
            yield f"{path}.{key}", getattr(owner, key)
