"""Digests of what is replicated and how: equal in all environments that should behave alike.

They include aliases, derived names, topics, groups, policies, transforms, states and all properties. They leave out
what naturally differs between environments: addresses, credentials, sizes, inherited names, where workers run and how
they are monitored.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from components.flows.expansion import ExpandedFlow, expand
from components.flows.operators import StrimziApi, strimzi
from components.flows.resolved import ResolvedFlow
from components.topology.model import Flow, Topology

#: Settings of the workers for their size, placement and monitoring.
_WORKERS = {
    *("replicas", "resources", "jvm_options", "image", "image_pull_secret"),
    *("template", "rack", "readiness_probe", "liveness_probe", "logging", "metrics", "tracing"),
    *("name", "group_id", "storage_topics", "labels", "annotations"),
}
#: Settings of a connector for its size, and inherited names.
_CONNECTOR = {"tasks_max", "name", "labels", "annotations"}
#: Settings of a flow for its size and placement, not for what it does.
_ENVIRONMENT: Mapping[str, Any] = {
    "namespace": True,
    "quota": True,
    # What the validation job accepts does not change what is replicated.
    "validation": True,
    # Nor do the objectives that alerts check.
    "objectives": True,
    "connect": _WORKERS,
    "connectors": {
        "source": _CONNECTOR,
        "sources": {"__all__": _CONNECTOR},
        "checkpoint": _CONNECTOR,
        "heartbeat": _CONNECTOR,
    },
    "tuning": {"round_trip_milliseconds", "acknowledge_milliseconds", "bytes_per_second_per_partition"},
}

#: Keys that later releases added. While they are not set, they do not count, so published verdicts stay valid.
_ADDED = {
    *("converters", "transforms", "topics_exclude", "start_from", "offset_syncs"),
    *("plugin_version", "policy_class", "topic_filter_class", "group_filter_class"),
}


def flow_digest(flow: ResolvedFlow) -> str:
    """`sha256:` and the hex digest of the flow's canonical JSON."""
    return _digest(_content(flow.expanded, flow.api))


def flow_digests(topology: Topology) -> dict[str, str]:
    """The digest of every flow of a topology by name; it needs neither addresses nor configuration."""
    api = strimzi(topology.strimzi).api
    return {flow.name: _digest(_content(flow, api)) for flow in expand(topology)}


def model_digest(topology: Topology) -> str:
    """The digest of all flows of a topology, the same in every region that deploys part of it."""
    return _digest(flow_digests(topology))


def _content(flow: ExpandedFlow, api: StrimziApi) -> dict[str, Any]:
    return {
        "name": flow.name,
        # The kind of workload that runs the flow decides under which names Connect stores its offsets.
        "replication": flow.replication,
        "shape": flow.shape.value,
        "api": api.value,
        "flow": _without_added(flow.settings.model_dump(mode="json", exclude=_ENVIRONMENT)),
        "order": _order(flow.settings),
    }


def _without_added(dumped: Any) -> Any:
    if not isinstance(dumped, dict):
        return dumped
    return {key: _without_added(value) for key, value in dumped.items() if value is not None or key not in _ADDED}


def _order(flow: Flow) -> dict[str, list[str]]:
    """The order of named settings whose order matters, because canonical JSON sorts the names."""
    own = {name: part.transforms for name, part in flow.connectors.sources.items() if part.transforms is not None}
    return {
        "before": list(flow.transforms.before),
        "after": list(flow.transforms.after),
        "sources": list(flow.connectors.sources),
        **{f"before of {name}": list(transforms.before) for name, transforms in own.items()},
        **{f"after of {name}": list(transforms.after) for name, transforms in own.items()},
    }


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
