"""Connect clusters: no two of one name, quotas that their workers fit in, tasks that have something to do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from components.checks.quantities import quantity, shown
from components.expansion import NamedFlow, Shape
from components.model import Flow, Topology
from components.naming import group_id, heartbeat_workers_name
from components.problems import Problem, Severity
from components.resolved import strimzi
from components.workers import Quota

#: Compute resources that a ResourceQuota counts, by where a container says them.
_COUNTED = {
    "requests.cpu": ("requests", "cpu"),
    "requests.memory": ("requests", "memory"),
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    "limits.cpu": ("limits", "cpu"),
    "limits.memory": ("limits", "memory"),
}
_LITERAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_connect_clusters(topology: Topology, flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    """Problems of the Connect clusters of all flows."""
    yield from _check_names(flows)
    for named in flows:
        yield from _check_quota(named, _pods(topology, named))
        yield from _check_tasks(named)
        yield from _check_offset_syncs(named)


def _check_names(flows: Sequence[NamedFlow]) -> Iterator[Problem]:
    seen: dict[str, NamedFlow] = {}
    for name, named in ((name, each) for each in flows for name in _worker_names(each)):
        other = seen.setdefault(name, named)
        if other.replication != named.replication:
            yield Problem(
                named.where(),
                "worker-group-shared",
                f"its Connect cluster is named `{name}`, as is that of {other.where()}",
                f"Both would join the worker group `{group_id(name)}` and write to the same storage topics; "
                "each would stop the other's connectors.",
                "rename the replication or the part.",
            )


def _worker_names(named: NamedFlow) -> tuple[str, ...]:
    """Workers of a flow; the heartbeats of a KafkaMirrorMaker2 may have workers of their own."""
    if named.shape is Shape.MIRROR_MAKER2 and named.flow.connectors.heartbeat.enabled:
        return named.workers, heartbeat_workers_name(named.workers)
    return (named.workers,)


def _pods(topology: Topology, named: NamedFlow) -> int:
    """Workers of a flow; under `v1` the heartbeats of a KafkaMirrorMaker2 have one beside them."""
    beside = len(_worker_names(named)) > 1 and not strimzi(topology.strimzi).api.has_heartbeat_mirrors
    return named.flow.connect.replicas + int(beside)


def _check_quota(named: NamedFlow, pods: int) -> Iterator[Problem]:
    quota = named.flow.quota
    if quota is None:
        return
    for key, allowed in quota.hard.items():
        needed = Decimal(pods) if key in {"pods", "count/pods"} else _needed(named.flow, pods, quota, key)
        if key in _COUNTED and needed is None:
            yield Problem(
                named.where("connect.resources"),
                "quota-needs-resources",
                f"the quota limits `{key}`, and no worker says how much it takes",
                "Kubernetes refuses a pod without it in a namespace with such a quota; no worker would start.",
                "set `connect.resources`, or a default in `quota.defaultLimits` and `quota.defaultRequests`.",
            )
        elif needed is not None and needed > quantity(allowed):
            yield Problem(
                named.where("quota.hard"),
                "quota-exceeded",
                f"{pods} workers need {key} of {shown(needed)}, the quota is {allowed}",
                "Kubernetes would refuse the workers that do not fit.",
                f"raise `quota.hard.{key}` to {shown(needed)}, or lower `connect.replicas` or `connect.resources`.",
            )


def _needed(flow: Flow, pods: int, quota: Quota, key: str) -> Decimal | None:
    """Sum over the workers of a counted resource; None if they do not say it, or if it is none that pods take."""
    if key not in _COUNTED:
        return None
    kind, resource = _COUNTED[key]
    said: Mapping[str, Any] = flow.connect.resources or {}
    limits = (said.get("limits", {}), quota.default_limits)
    # A request that is not said is as high as the limit of the same place. Source: Kubernetes SetDefaults_Pod,
    # SetDefaults_LimitRangeItem.
    requests = (said.get("requests", {}), limits[0], quota.default_requests, limits[1])
    found = [place[resource] for place in (requests if kind == "requests" else limits) if resource in place]
    return pods * quantity(found[0]) if found else None


def _check_tasks(named: NamedFlow) -> Iterator[Problem]:
    connectors = named.flow.connectors
    if connectors.heartbeat.enabled and connectors.heartbeat.tasks_max > 1:
        yield _idle_tasks(named, "heartbeat", connectors.heartbeat.tasks_max, 1, "It has one task, always.")
    groups = named.flow.groups
    literal = len(groups) if all(_LITERAL.fullmatch(group) for group in groups) else None
    if connectors.checkpoint.enabled and literal and connectors.checkpoint.tasks_max > literal:
        reason = "Its tasks share the consumer groups, whole groups each."
        yield _idle_tasks(named, "checkpoint", connectors.checkpoint.tasks_max, literal, reason)


def _idle_tasks(named: NamedFlow, role: str, tasks: int, useful: int, reason: str) -> Problem:
    return Problem(
        named.where(f"connectors.{role}.tasksMax"),
        "idle-tasks",
        f"`tasksMax` is {tasks}, of which {useful} can have something to do",
        f"{reason} More are never started.",
        f"set `tasksMax: {useful}`.",
        Severity.WARNING,
    )


def _check_offset_syncs(named: NamedFlow) -> Iterator[Problem]:
    if named.flow.connectors.checkpoint.enabled and not named.flow.offset_syncs.enabled:
        yield Problem(
            named.where("connectors.checkpoint"),
            "checkpoint-without-offset-syncs",
            "a checkpoint connector is beside disabled offset syncs",
            "It translates offsets by them, and refuses to start without.",
            "set `connectors.checkpoint.enabled: false`, or `offsetSyncs.enabled: true`.",
        )
