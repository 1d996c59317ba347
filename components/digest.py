"""Digests of what is replicated and how: equal in every environment that should behave alike.

Addresses, credentials and sizes differ between environments by nature and are left out, as is where workers run and
how they are watched. Aliases, names, topics, groups, policies, transforms, states and every property are in.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from components.expansion import NamedFlow, expand
from components.model import Flow, Topology
from components.resolved import ResolvedFlow, StrimziApi, strimzi

#: Parts of the workers that say how large they are, where they run and what is seen of them.
_WORKERS = {
    *("replicas", "resources", "jvm_options", "image", "image_pull_secret"),
    *("template", "rack", "readiness_probe", "liveness_probe", "logging", "metrics", "tracing"),
}
_TASKS = {"tasks_max"}
#: Parts of a flow that say how large it is or where it runs, not what it does.
_ENVIRONMENT: Mapping[str, Any] = {
    "namespace": True,
    "quota": True,
    "connect": _WORKERS,
    "connectors": {"source": _TASKS, "sources": {"__all__": _TASKS}, "checkpoint": _TASKS, "heartbeat": _TASKS},
    "tuning": {"round_trip_milliseconds", "acknowledge_milliseconds", "bytes_per_second_per_partition"},
}


def flow_digest(resolved: ResolvedFlow) -> str:
    """`sha256:` and the hex digest of the flow's canonical JSON."""
    return _digest(_content(resolved.named, resolved.api))


def flow_digests(topology: Topology) -> dict[str, str]:
    """The digest of every flow of a topology, by its name; no address and no configuration is needed for it."""
    api = strimzi(topology.strimzi).api
    return {named.name: _digest(_content(named, api)) for named in expand(topology)}


def model_digest(topology: Topology) -> str:
    """Digest over all flows of a topology: the same in every region that deploys a part of it."""
    return _digest(flow_digests(topology))


def _content(named: NamedFlow, api: StrimziApi) -> dict[str, Any]:
    return {
        "name": named.name,
        # By what the flow is run decides what Connect keeps its offsets under.
        "replication": named.replication,
        "shape": named.shape.value,
        "api": api.value,
        "flow": named.flow.model_dump(mode="json", exclude=_ENVIRONMENT),
        "order": _order(named.flow),
    }


def _order(flow: Flow) -> dict[str, list[str]]:
    """Order of what is given by name but is not alike in another: canonical JSON sorts the names."""
    return {
        "before": list(flow.transforms.before),
        "after": list(flow.transforms.after),
        "sources": list(flow.connectors.sources),
    }


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"
