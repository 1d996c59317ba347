"""Waits until everything that was deployed is Ready: KafkaUsers, workers and connectors."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.contract.problems import CannotRunError
from components.flows.resolved import ResolvedFlow
from components.kafka.connectors import failures, is_observed, reported_connectors
from components.render.deployments import deployments
from components.render.planned_objects import ObjectRole, PlannedObject
from infra.kubernetes.api import ApiError, KubernetesApi, reference
from infra.kubernetes.preconditions import condition
from infra.kubernetes.secret_readers import RESTART
from infra.machine.waiting import DeadlineError, NotYetError, wait_for

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


@dataclass(frozen=True)
class Readiness:
    """What the operator reports of one object; `message` is empty when it is ready."""

    name: str
    ready: bool
    message: str


def wait_until_ready(
    api: KubernetesApi,
    flows: Sequence[ResolvedFlow],
    deadline_seconds: float,
    users: Sequence[PlannedObject] = (),
    say: Callable[[str], object] = lambda _: None,
) -> None:
    """Return when the newest generation of every user, Connect cluster and connector is Ready. `say` gets the
    progress. Raises CannotRunError at the deadline; it names what is not ready and why.
    """
    every = (*users, *(item for deployment in deployments(flows) for item in deployment.objects))
    planned = [item for item in every if item.role in _RUNNERS]

    ends = time.monotonic() + deadline_seconds

    def probe() -> None:
        states = [read_readiness(api, item) for item in planned]
        waiting = [f"{state.name}: {state.message}" for state in states if not state.ready]
        if waiting:
            ready = len(planned) - len(waiting)
            share, left = ready / len(planned), max(0.0, ends - time.monotonic())
            say(f"waiting for connectors to be ready: {ready} of {len(planned)} ({share:.0%}), at most {left:.0f} s")
            raise NotYetError("; ".join(waiting))

    try:
        wait_for("connectors to be ready", probe, deadline_seconds)
    except DeadlineError as error:
        raise CannotRunError(
            "not-ready",
            error.what,
            "the Kubernetes cluster of the stack",
            "The operator has not reported it as Ready.",
            "`replicate diff STACK --against cluster` shows what somebody changed, and which command restarts failed "
            "connectors. If it shows neither, read the Connect workers' log, correct the topology, and run `replicate "
            "up` again.",
        ) from error


def read_readiness(api: KubernetesApi, planned: PlannedObject) -> Readiness:
    """What the operator reports of one object now."""
    target = reference(planned.manifest)
    try:
        item = api.get(target)
    except ApiError as error:
        return Readiness(str(target), False, error.message)
    return readiness_of(str(target), item) if item else Readiness(str(target), False, "it does not exist")


def readiness_of(title: str, live: Mapping[str, Any]) -> Readiness:
    """Judge an object by its status. Source: Strimzi's conditions Ready and NotReady, observedGeneration.

    A KafkaMirrorMaker2 stays Ready when one of its tasks fails, but does not count as ready here; nor does a
    KafkaConnector with a failed task, whatever its conditions say.
    """
    if not is_observed(live):
        return Readiness(title, False, "the operator has not processed the newest change yet")
    if (live["metadata"].get("annotations") or {}).keys() & RESTART.keys():
        return Readiness(title, False, "the operator has not restarted it yet")
    if condition(live, "Ready").get("status") == "True":
        failed = [
            failure.of(connector.get("name", title))
            for connector in reported_connectors(live)
            for failure in failures(connector)
        ]
        return Readiness(title, not failed, "; ".join(failed))
    said = condition(live, "NotReady")
    message = said.get("message") or said.get("reason") or "the operator has not reported anything yet"
    return Readiness(title, False, str(message))
