"""Writes the status of a KafkaConnect from the state of its workers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from infra.kubernetes.api import Object
from infra.local.operator import conditions
from infra.local.operator.cluster_access import CustomAuthentication, UnsupportedAuthentication
from infra.local.operator.conditions import Condition, not_ready, warning
from infra.local.operator.resources import ConnectResource
from infra.local.operator.worker_plan import WorkerState
from infra.local.operator.worker_properties import dropped_keys

OAUTH_PACKAGE = "io.strimzi.kafka.oauth"


@dataclass(frozen=True)
class WorkerReport:
    """One worker: its state, its REST port, and if it does not serve, the first problem in its log.

    It is `outdated` if it runs, or ran, with another configuration than the resource has now.
    """

    index: int
    state: WorkerState
    port: int
    problem: str | None = None
    outdated: bool = False


def unsupported(connect: ConnectResource) -> Condition | None:
    """Why these workers cannot run on one machine; None if they can."""
    if connect.mounts_volumes:
        return not_ready(
            "UnsupportedLocally",
            "spec.template mounts volumes, but the local stack has no containers: store trusted certificates as PEM in "
            "a Secret, and read them through a configuration provider",
        )
    for access in connect.access:
        match access.authentication:
            case UnsupportedAuthentication(type=kind):
                told = f"authentication type {kind} is not supported on the local stack"
                return not_ready("UnsupportedLocally", told)
            case CustomAuthentication(config=config) if OAUTH_PACKAGE in str(config.values()):
                library = f"Strimzi's OAuth library ({OAUTH_PACKAGE})"
                told = f"authentication uses {library}, which only Strimzi's images contain"
                return not_ready("UnsupportedLocally", told)
    return None


def readiness(connect: ConnectResource, workers: Sequence[WorkerReport], refused: Mapping[int, str]) -> Condition:
    """Ready if every worker serves with the newest configuration; otherwise the first that does not, and why.

    `refused` holds the API server's answer for each worker whose Pod it refused, by index.
    """
    current = [each for each in workers if each.index < connect.replicas and not each.outdated]
    serving = [each for each in current if each.state is WorkerState.READY]
    if len(serving) >= connect.replicas:
        return conditions.READY
    if refused:
        index = min(refused)
        return not_ready("PodNotCreated", f"worker {index} of {connect.replicas} is not started: {refused[index]}")
    outdated = sum(each.outdated for each in workers)
    if outdated:
        return not_ready("Rolling", f"{outdated} of {connect.replicas} workers still have the previous configuration")
    waiting = [each for each in current if each.state is not WorkerState.READY]
    if not waiting:
        return not_ready("Creating", f"{len(serving)} of {connect.replicas} workers started")
    worker = next((each for each in waiting if each.problem), waiting[0])
    said = f"worker {worker.index} {_WORDS[worker.state]}"
    if worker.problem:
        said += f": {worker.problem} (bootstrapServers {connect.bootstrap_servers})"
    return not_ready("WorkerNotReady" if worker.problem else "Creating", said)


_WORDS = {
    WorkerState.STARTING: "does not serve yet",
    WorkerState.STOPPING: "is being stopped",
    WorkerState.ENDED: "ended and is being restarted",
}


def warnings(connect: ConnectResource, jvm_notes: Sequence[str]) -> list[Condition]:
    dropped = [
        warning("ForbiddenConfiguration", f"config {key} is dropped: the operator sets it")
        for key in dropped_keys(connect)
    ]
    ignored = [
        warning("IgnoredLocally", f"spec.{field} is ignored on the local stack") for field in connect.ignored_fields
    ]
    return dropped + ignored + [warning("JvmOptions", note) for note in jvm_notes]


def status_body(
    connect: ConnectResource,
    condition: Condition,
    others: Sequence[Condition],
    workers: Sequence[WorkerReport],
    now: datetime,
) -> Object:
    """The whole status; `url` is the REST interface of the first worker that serves (the real operator: a Service)."""
    serving = [each for each in workers if each.state is WorkerState.READY]
    body: Object = {
        "observedGeneration": connect.generation,
        "conditions": conditions.written([condition, *others], connect.status.get("conditions") or [], now),
        "replicas": len(serving),
        "labelSelector": f"strimzi.io/cluster={connect.name},strimzi.io/name={connect.component_name}",
    }
    if serving:
        body["url"] = f"http://127.0.0.1:{serving[0].port}"
    return body
