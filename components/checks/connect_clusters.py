"""Connect clusters: unique names, consistent resources that fit into the quota, and no idle tasks."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from kafka_replication.components.checks.heartbeats import sending_workers
from kafka_replication.components.checks.property_values import is_open_credential, open_credential
from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.flows.naming import group_id, heartbeat_workers_name
from kafka_replication.components.kafka.connectors import EMIT_CHECKPOINTS
from kafka_replication.components.kafka.topic_names import is_name
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.topology.model import Flow, Topology
from kafka_replication.components.topology.workers import Quota, quantity_value

#: Compute resources that a ResourceQuota counts -> where a container declares them.
_COUNTED = {
    f"{prefix}{resource}": (kind, resource)
    for prefix, kind in (("requests.", "requests"), ("", "requests"), ("limits.", "limits"))
    for resource in ("cpu", "memory")
}
#: Without a letter the unit is bytes. Source: Strimzi JvmOptions.
_JVM_SIZE = re.compile(r"([0-9]+)([mMgG]?)")
#: The least and the most that one worker can use, in bytes and in processors.
_PLAUSIBLE = {
    "memory": (
        Decimal(64 * 1024**2),
        Decimal(1024**4),
        "Without a unit it is in bytes, and a worker needs hundreds of MiB.",
    ),
    "cpu": (
        Decimal("0.001"),
        Decimal(255),
        "Without a unit it is in processors, and no node has that many for one worker.",
    ),
}
_RESOURCES = ("cpu", "memory", "ephemeral-storage")
#: Strimzi gives the heap three quarters of the limit. Below this, a JVM with Connect's classes has no room for records.
#: Source: Strimzi dynamic_resources.sh, ModelUtils.heapOptions.
_LEAST_MEMORY = Decimal(512 * 1024**2)
_JVM_UNITS = {"": 1, "m": 1024**2, "g": 1024**3}


def check_connect_clusters(topology: Topology, flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """Connect clusters have different names, fit into their quotas, and run no idle task."""
    senders = [sending_workers(topology, flow) for flow in flows]
    yield from _check_names(flows, senders)
    workers: dict[str, set[str]] = {}
    for flow, sender in zip(flows, senders, strict=True):
        workers.setdefault(flow.workers, {flow.workers}).add(sender)
    for flow in flows:
        # Heartbeats that a flow's own workers do not send come from a single worker.
        yield from _check_quota(flow, flow.settings.connect.replicas + len(workers[flow.workers]) - 1)
        yield from _check_tasks(flow)
        yield from _check_checkpoints(flow)


def _check_names(flows: Sequence[ExpandedFlow], senders: Sequence[str]) -> Iterator[Problem]:
    seen: dict[str, ExpandedFlow] = {}
    named = [(name, flow) for flow, sender in zip(flows, senders, strict=True) for name in _worker_names(flow, sender)]
    for name, flow in named:
        other = seen.setdefault(name, flow)
        if other.replication != flow.replication:
            yield Problem(
                flow.where(),
                "worker-group-shared",
                f"its Connect cluster has the same name as that of {other.where()}: `{name}`",
                f"Both would join the worker group `{group_id(name, flow.settings)}` and write to the same storage "
                "topics, so each would stop the other's connectors.",
                "rename the replication or the part.",
            )


def _worker_names(flow: ExpandedFlow, sender: str) -> Iterable[str]:
    """Return the names of a flow's workers, including separate ones that some versions need for heartbeats."""
    if flow.shape is FlowShape.MIRROR_MAKER2 and flow.settings.connectors.heartbeat.enabled:
        return dict.fromkeys((flow.workers, sender, heartbeat_workers_name(flow.workers)))
    return dict.fromkeys((flow.workers, sender))


def _check_quota(flow: ExpandedFlow, pods: int) -> Iterator[Problem]:
    quota = flow.settings.quota
    if quota is None:
        return
    for key, allowed in quota.hard.items():
        needed = Decimal(pods) if key in {"pods", "count/pods"} else _needed(flow.settings, pods, quota, key)
        if key in _COUNTED and needed is None:
            yield Problem(
                flow.where("connect.resources"),
                "quota-needs-resources",
                f"the quota limits `{key}`, but the workers do not declare how much they use",
                "With such a quota Kubernetes refuses pods that do not declare it, so no worker would start.",
                "set `connect.resources`, or a default in `quota.defaultLimits` and `quota.defaultRequests`.",
            )
        elif needed is not None and needed > quantity_value(allowed):
            yield Problem(
                flow.where("quota.hard"),
                "quota-exceeded",
                f"{pods} workers need {_shown(needed)} of `{key}`, but the quota is {allowed}",
                "Kubernetes would refuse the workers that exceed the quota.",
                f"raise `quota.hard.{key}` to {_shown(needed)}, or lower `connect.replicas` or `connect.resources`.",
            )


def _needed(flow: Flow, pods: int, quota: Quota, key: str) -> Decimal | None:
    """Return how much of a counted resource all workers need; None if they declare none or pods do not use it."""
    if key not in _COUNTED:
        return None
    kind, resource = _COUNTED[key]
    declared: Mapping[str, Any] = flow.connect.resources or {}
    limits = (declared.get("limits", {}), quota.default_limits)
    # A request that is not declared equals the limit declared in the same place. Source: Kubernetes SetDefaults_Pod,
    # SetDefaults_LimitRangeItem.
    requests = (declared.get("requests", {}), limits[0], quota.default_requests, limits[1])
    amounts = [place[resource] for place in (requests if kind == "requests" else limits) if resource in place]
    return pods * quantity_value(amounts[0]) if amounts else None


def _check_tasks(flow: ExpandedFlow) -> Iterator[Problem]:
    connectors = flow.settings.connectors
    if connectors.heartbeat.enabled and connectors.heartbeat.tasks_max > 1:
        yield _idle_tasks(flow, "heartbeat", connectors.heartbeat.tasks_max, 1, "It always has one task.")
    groups = flow.settings.groups
    literal = len(groups) if all(map(is_name, groups)) else None
    if connectors.checkpoint.enabled and literal and connectors.checkpoint.tasks_max > literal:
        reason = "Its tasks divide the consumer groups, and a group is never split between two tasks."
        yield _idle_tasks(flow, "checkpoint", connectors.checkpoint.tasks_max, literal, reason)


def _idle_tasks(flow: ExpandedFlow, role: str, tasks: int, useful: int, reason: str) -> Problem:
    return warning(
        flow.where(f"connectors.{role}.tasksMax"),
        "idle-tasks",
        f"`tasksMax` is {tasks}, but only {useful} {'task' if useful == 1 else 'tasks'} can have work",
        f"{reason} Connect never starts more.",
        f"set `tasksMax: {useful}`.",
    )


def _check_checkpoints(flow: ExpandedFlow) -> Iterator[Problem]:
    checkpoint = flow.settings.connectors.checkpoint
    if checkpoint.enabled and not flow.settings.offset_syncs.enabled:
        yield Problem(
            flow.where("connectors.checkpoint"),
            "checkpoint-without-offset-syncs",
            "the checkpoint connector is enabled, but offset syncs are not",
            "The connector translates offsets with offset syncs and refuses to start without them.",
            "set `connectors.checkpoint.enabled: false`, or `offsetSyncs.enabled: true`.",
        )
    if checkpoint.enabled and not checkpoint.emits(EMIT_CHECKPOINTS) and flow.settings.groups:
        yield warning(
            flow.where(f"connectors.checkpoint.config.{EMIT_CHECKPOINTS}"),
            "checkpoints-off",
            f"`{EMIT_CHECKPOINTS}` is false, but groups are selected",
            "The checkpoint connector runs without a task, so no offset of these groups is translated.",
            "remove it, or set `connectors.checkpoint.enabled: false` and remove `groups`.",
        )


def check_resources(flow: ExpandedFlow) -> Iterator[Problem]:
    """The container of a flow's workers has sizes that Kubernetes accepts, and no plain-text credential."""
    yield from _check_requests(flow)
    yield from _check_sizes(flow)
    yield from _check_memory(flow)
    yield from _check_heap(flow)
    remedy = "set the environment variable with `valueFrom: {secretKeyRef: {name: NAME, key: KEY}}` instead of `value`."
    for where, entry in _variables(flow):
        name, value = str(entry.get("name", "")), str(entry.get("value") or "")
        if is_open_credential(name, value):
            yield open_credential(flow.where(where), name, remedy, shown_by="the pods")


def _variables(flow: ExpandedFlow) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Environment variables and system properties that have a name and a value, each with its path."""
    connect = flow.settings.connect
    for container, fields in (connect.template or {}).items():
        entries = fields.get("env", ()) if isinstance(fields, Mapping) else ()
        for index, entry in enumerate(entries):
            yield f"connect.template.{container}.env.{index}", entry
    properties = (connect.jvm_options or {}).get("javaSystemProperties") or ()
    for index, entry in enumerate(item for item in properties if isinstance(item, Mapping)):
        yield f"connect.jvmOptions.javaSystemProperties.{index}", entry


def _check_requests(flow: ExpandedFlow) -> Iterator[Problem]:
    resources = flow.settings.connect.resources or {}
    limits = resources.get("limits", {})
    for resource, requested in resources.get("requests", {}).items():
        limit = limits.get(resource)
        if limit is not None and quantity_value(requested) > quantity_value(limit):
            yield Problem(
                flow.where(f"connect.resources.requests.{resource}"),
                "request-above-limit",
                f"the request is {requested} of {resource}, but the limit is {limit}",
                "Kubernetes refuses such a pod, so no worker would start.",
                f"lower the request to {limit} or less, or raise the limit to {requested} or more.",
            )


def _check_sizes(flow: ExpandedFlow) -> Iterator[Problem]:
    """A quantity without a unit means bytes or whole processors, which is rarely what its author wants."""
    declared: Mapping[str, Any] = flow.settings.connect.resources or {}
    for kind, quantities in declared.items():
        if kind == "claims":
            continue
        for resource in quantities:
            # A resource of a vendor has a domain. Source: Kubernetes ValidateContainerResourceName.
            if resource not in _RESOURCES and "/" not in resource and not resource.startswith("hugepages-"):
                near = nearest(resource, _RESOURCES)
                yield Problem(
                    flow.where(f"connect.resources.{kind}.{resource}"),
                    "unknown-key",
                    f"`{resource}` is not a resource of a container",
                    "Kubernetes refuses such a pod, so no worker would start.",
                    f"did you mean `{near}`?" if near else f"use one of: {', '.join(_RESOURCES)}.",
                )
        for resource, (least, most, told) in _PLAUSIBLE.items():
            if resource not in quantities or least <= quantity_value(quantities[resource]) <= most:
                continue
            given = quantities[resource]
            yield Problem(
                flow.where(f"connect.resources.{kind}.{resource}"),
                "out-of-range",
                f"`{resource}` is {given}",
                told,
                f"write `{resource}` with its unit, as in `{'2Gi' if resource == 'memory' else '500m'}`.",
            )


def _check_memory(flow: ExpandedFlow) -> Iterator[Problem]:
    limit = (flow.settings.connect.resources or {}).get("limits", {}).get("memory")
    # Less than what is plausible is an error.
    if limit is not None and _PLAUSIBLE["memory"][0] <= quantity_value(limit) < _LEAST_MEMORY:
        yield warning(
            flow.where("connect.resources.limits.memory"),
            "too-little-memory",
            f"the memory limit is {limit}",
            "A JVM with Connect needs more than that before it copies a record: Kubernetes kills the worker while it "
            "starts, again and again.",
            "set `connect.resources.limits.memory` to 1Gi or more, or at least to 512Mi.",
        )


def _check_heap(flow: ExpandedFlow) -> Iterator[Problem]:
    connect = flow.settings.connect
    limit = (connect.resources or {}).get("limits", {}).get("memory")
    options = {str(option): value for option, value in (connect.jvm_options or {}).items()}
    sizes = {option: _JVM_SIZE.fullmatch(str(options.get(option))) for option in ("-Xmx", "-Xms")}
    for option, size in sizes.items():
        given = options.get(option)
        where = flow.where(f"connect.jvmOptions.{option}")
        if given is not None and size is None:
            yield Problem(
                where,
                "not-accepted",
                f"`{option}` is {given!r}",
                "Strimzi accepts a whole number of bytes, or one followed by `m` or `g`.",
                f"set `{option}` to a size such as `2g`.",
            )
        elif size is not None and _bytes(size) < _PLAUSIBLE["memory"][0]:
            yield Problem(
                where,
                "out-of-range",
                f"`{option}` is {given}",
                "Without a unit it is in bytes. A worker does not start with such a heap.",
                f"write `{option}` with its unit, as in `1g`.",
            )
        elif size is not None and limit is not None and _bytes(size) >= quantity_value(limit):
            yield Problem(
                where,
                "heap-above-memory",
                f"`{option}` is {given}, but the container's memory limit is {limit}",
                "The JVM needs more memory than its heap. Kubernetes kills the worker when it exceeds the limit.",
                f"lower `{option}`, or raise `connect.resources.limits.memory` well above {_shown(_bytes(size))}.",
            )
    initial, most = sizes["-Xms"], sizes["-Xmx"]
    if initial is not None and most is not None and _bytes(initial) > _bytes(most):
        yield Problem(
            flow.where("connect.jvmOptions.-Xms"),
            "initial-heap-above-maximum",
            f"`-Xms` is {options['-Xms']}, but `-Xmx` is {options['-Xmx']}",
            "The JVM does not start with an initial heap above the maximum, so no worker would start.",
            f"set `-Xms` to {options['-Xmx']} or less, or raise `-Xmx`.",
        )


def _bytes(size: re.Match[str]) -> Decimal:
    return Decimal(int(size[1]) * _JVM_UNITS[size[2].lower()])


def _shown(value: Decimal) -> str:
    for suffix, factor in (("Gi", 1024**3), ("Mi", 1024**2)):
        if value >= factor and value % factor == 0:
            return f"{value // factor}{suffix}"
    return f"{value.normalize():f}"
