"""What a stack tells of a flow: plain values, nothing secret."""

from typing import Any

from components.digest import flow_digest
from components.expansion import Shape
from components.naming import mirror_connector_name, namespace_name, remote_topic_name
from components.resolved import ResolvedFlow
from components.specs.connectors import CONNECTOR_CLASSES, connector_objects
from components.specs.mirror_maker2 import heartbeat_connectors, mirror_roles

FlowOutputs = dict[str, Any]


def flow_outputs(resolved: ResolvedFlow) -> FlowOutputs:
    """Namespace, connector names, remote topics (a pattern stays a pattern) and digest."""
    return {
        "namespace": namespace_name(resolved.workers, resolved.flow),
        "connectors": _connectors(resolved),
        "remoteTopics": [remote_topic_name(resolved.flow, topic) for topic in resolved.flow.topics],
        "digest": flow_digest(resolved),
    }


def _connectors(resolved: ResolvedFlow) -> list[str]:
    """Names of a flow's connectors in Connect; those of a KafkaMirrorMaker2 are the operator's."""
    if resolved.named.shape is not Shape.MIRROR_MAKER2:
        return [planned.name for planned in connector_objects(resolved)]
    within = [mirror_connector_name(resolved.flow, CONNECTOR_CLASSES[role]) for role in mirror_roles(resolved)]
    beside = [planned.name for planned in heartbeat_connectors(resolved)]
    return [*within, *beside]
