"""What a stack tells of a flow: plain values, nothing secret."""

from typing import Any

from components.digest import flow_digest
from components.naming import namespace_name, remote_topic_name
from components.resolved import ResolvedFlow
from components.specs.connectors import connector_objects

FlowOutputs = dict[str, Any]


def flow_outputs(resolved: ResolvedFlow) -> FlowOutputs:
    """Namespace, connector names, remote topics (a pattern stays a pattern) and digest."""
    return {
        "namespace": namespace_name(resolved.workers, resolved.flow),
        "connectors": [planned.name for planned in connector_objects(resolved)],
        "remoteTopics": [remote_topic_name(resolved.flow, topic) for topic in resolved.flow.topics],
        "digest": flow_digest(resolved),
    }
