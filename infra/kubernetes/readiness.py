"""Waits until everything that was deployed works: KafkaUsers, workers, and connectors with their tasks.

The operator writes what Connect answers right after a change, often still the old state or no task, with the condition
Ready, and looks again at its next reconciliation. Source: Strimzi AbstractConnectOperator.maybeCreateOrUpdateConnector.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kafka_replication.components.changes.deployment_state import deployment_state
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.connectors import (
    EMIT_CHECKPOINTS,
    EMIT_HEARTBEATS,
    failures,
    is_observed,
    reported_connectors,
)
from kafka_replication.components.render.deployments import declared_connectors, deployments
from kafka_replication.components.render.planned_objects import Manifest, ObjectRole, PlannedObject
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, annotations_of, reference
from kafka_replication.infra.kubernetes.managed_fields import status_time
from kafka_replication.infra.kubernetes.preconditions import condition
from kafka_replication.infra.kubernetes.secret_readers import RESTART
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for

_RUNNERS = frozenset(
    {
        ObjectRole.CONNECT,
        ObjectRole.MIRROR_MAKER2,
        ObjectRole.SOURCE_CONNECTOR,
        ObjectRole.CHECKPOINT_CONNECTOR,
        ObjectRole.HEARTBEAT_CONNECTOR,
        ObjectRole.KAFKA_USER,
    }
)


def wait_until_ready(
    api: KubernetesApi,
    stack: str,
    flows: Sequence[ResolvedFlow],
    deadline_seconds: float,
    reconciliation_seconds: float,
    users: Sequence[PlannedObject] = (),
    say: Callable[[str], object] = lambda _: None,
) -> tuple[str, ...]:
    """Return when the newest generation of every user, Connect cluster and connector is Ready, and every connector is
    in its wanted state, with tasks if it runs; return the connectors that run without any. `say` gets the progress.

    The operator looks at each resource every `reconciliation_seconds`. Raises CannotRunError at the deadline; it names
    what is not ready and why.
    """
    every = (*users, *(item for deployment in deployments(flows) for item in deployment.objects))
    planned = [item for item in every if item.role in _RUNNERS]
    taskless = _taskless(flows)
    ends = time.monotonic() + deadline_seconds

    def probe() -> tuple[str, ...]:
        waiting: list[str] = []
        idle: list[str] = []
        for item in planned:
            missing, without_task = _progress(api, item, taskless, reconciliation_seconds)
            idle += without_task
            if missing:
                waiting.append(f"{reference(item.manifest)}: {'; '.join(missing)}")
        if waiting:
            ready = len(planned) - len(waiting)
            share, left = ready / len(planned), max(0.0, ends - time.monotonic())
            say(f"waiting for connectors to be ready: {ready} of {len(planned)} ({share:.0%}), at most {left:.0f} s")
            raise NotYetError("; ".join(waiting))
        return tuple(idle)

    try:
        return wait_for("connectors to be ready", probe, deadline_seconds)
    except DeadlineError as error:
        raise CannotRunError(
            "not-ready",
            error.what,
            "the Kubernetes cluster of the stack",
            "The operator has not reported it as Ready and in its wanted state.",
            f"`replicate diff {stack} --against cluster` shows what somebody changed, and which command restarts "
            "failed connectors. If it shows neither, read the Connect workers' log, correct the topology, and run the "
            "command again.",
        ) from error


def _taskless(flows: Sequence[ResolvedFlow]) -> frozenset[str]:
    """Return the names of connectors that are declared to have no task."""
    names = set()
    for flow in flows:
        connectors = flow.settings.connectors
        silent = {
            "checkpoint": not connectors.checkpoint.emits(EMIT_CHECKPOINTS),
            "heartbeat": not connectors.heartbeat.emits(EMIT_HEARTBEATS),
        }
        names |= {spec.connector for spec in declared_connectors(flow) if silent.get(spec.role)}
    return frozenset(names)


def _progress(
    api: KubernetesApi, planned: PlannedObject, taskless: Collection[str], reconciliation_seconds: float
) -> tuple[list[str], list[str]]:
    """Return what an object does not do yet, and which of its connectors run without a task."""
    target = reference(planned.manifest)
    try:
        live = api.get(target)
    except ApiError as error:
        return [error.message], []
    if live is None:
        return ["it does not exist"], []
    if why := why_not_ready(str(target), live):
        return [why], []
    return connector_progress(live, taskless, datetime.now(UTC), reconciliation_seconds)


def why_not_ready(title: str, live: Mapping[str, Any]) -> str:
    """Return why the status of an object does not say that it is ready; empty if it does. Source: Strimzi's conditions
    Ready and NotReady, observedGeneration.

    A KafkaMirrorMaker2 stays Ready when one of its tasks fails, but does not count as ready here; nor does a
    KafkaConnector with a failed task, whatever its conditions say.
    """
    if not is_observed(live):
        return "the operator has not processed the newest change yet"
    if annotations_of(live).keys() & RESTART.keys():
        return "the operator has not restarted it yet"
    if condition(live, "Ready").get("status") == "True":
        return "; ".join(
            failure.of(connector.get("name", title))
            for connector in reported_connectors(live)
            for failure in failures(connector)
        )
    said = condition(live, "NotReady")
    return str(said.get("message") or said.get("reason") or "the operator has not reported anything yet")


#: The states of a resource's spec, as Connect names them.
REPORTED = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}


def wanted_connectors(live: Manifest) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield name, wanted state and status of the connectors that a resource runs; the status is empty without one."""
    status = live.get("status") or {}
    if live["kind"] == "KafkaConnector":
        yield live["metadata"]["name"], live["spec"].get("state", "running"), status.get("connectorStatus") or {}
    elif live["kind"] == "KafkaMirrorMaker2":
        wanted = {connector.name: connector.state for connector in deployment_state("", {"": live}).connectors}
        reported = {connector["name"]: connector for connector in status.get("connectors") or []}
        for name in {**reported, **wanted}:
            yield name, wanted.get(name, "running"), reported.get(name, {})


def connector_progress(
    live: Manifest, taskless: Collection[str], now: datetime, reconciliation_seconds: float
) -> tuple[list[str], list[str]]:
    """Return what the connectors of a resource do not do yet, and which of them run without a task, as reported for
    longer than the operator takes to look again. Those that are `taskless` never have one.
    """
    waiting: list[str] = []
    idle: list[str] = []
    for name, wanted, status in wanted_connectors(live):
        state = (status.get("connector") or {}).get("state", "")
        tasks = status.get("tasks") or []
        if state != REPORTED[wanted]:
            waiting.append(f"{name} is {state or 'not reported yet'}, and should be {REPORTED[wanted]}")
        elif wanted == "running" and tasks:
            others = (task for task in tasks if task.get("state") != "RUNNING")
            waiting += [f"{name} task {task['id']} is {task.get('state')}" for task in others]
        elif wanted == "running" and name not in taskless:
            if _age_seconds(live, now) < reconciliation_seconds:
                waiting.append(f"{name} has no task yet")
            else:
                idle.append(name)
    return waiting, idle


def _age_seconds(live: Manifest, now: datetime) -> float:
    """Return how long the operator has reported the same."""
    written = status_time(live)
    return (now - datetime.fromisoformat(written)).total_seconds() if written else 0.0
