"""Waits until what was deployed runs: KafkaUsers, workers and every connector Ready; says what it saw last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes import client
from urllib3.exceptions import HTTPError

from components.resolved import ResolvedFlow
from components.specs.deployments import deployment_objects, deployments
from components.specs.planned import PlannedObject, Role
from infra.errors import CannotRunError
from infra.kubernetes_access import no_answer
from infra.local.waiting import DeadlineError, NotYetError, wait_for

_CALL_SECONDS = 10
_PLURALS = {
    "KafkaConnect": "kafkaconnects",
    "KafkaConnector": "kafkaconnectors",
    "KafkaMirrorMaker2": "kafkamirrormaker2s",
    "KafkaUser": "kafkausers",
}
_RUNNERS = frozenset(
    {
        Role.CONNECT,
        Role.MIRROR_MAKER2,
        Role.SOURCE_CONNECTOR,
        Role.CHECKPOINT_CONNECTOR,
        Role.HEARTBEAT_CONNECTOR,
        Role.KAFKA_USER,
    }
)


@dataclass(frozen=True)
class Readiness:
    """What the operator says of one object; `message` is empty when it is ready."""

    name: str
    ready: bool
    message: str


def wait_until_ready(
    api: client.ApiClient,
    flows: Sequence[ResolvedFlow],
    deadline_seconds: float,
    users: Sequence[PlannedObject] = (),
) -> None:
    """Return when the operator calls every user, Connect cluster and connector Ready in its newest generation.

    Raises CannotRunError naming what is not ready, and why, at the deadline.
    """
    custom = client.CustomObjectsApi(api)
    every = (*users, *(item for each in deployments(flows) for item in deployment_objects(each)))
    planned = [item for item in every if item.role in _RUNNERS]

    def probe() -> None:
        states = [read_readiness(custom, item) for item in planned]
        waiting = [f"{state.name}: {state.message}" for state in states if not state.ready]
        if waiting:
            raise NotYetError("; ".join(waiting))

    try:
        wait_for("connectors to be ready", probe, deadline_seconds, interval_seconds=0.5)
    except DeadlineError as error:
        raise CannotRunError(
            str(error),
            "the Kubernetes cluster of the stack",
            "The operator does not call it Ready.",
            "read the object's status and the Connect workers' log, correct the topology and run `replicate up` again.",
        ) from error


def read_readiness(custom: client.CustomObjectsApi, planned: PlannedObject) -> Readiness:
    """What the operator says of one KafkaConnect or KafkaConnector now."""
    group, version = planned.manifest["apiVersion"].split("/")
    namespace = planned.manifest["metadata"]["namespace"]
    title = f"{planned.kind} {namespace}/{planned.name}"
    try:
        item = custom.get_namespaced_custom_object(
            group, version, namespace, _PLURALS[planned.kind], planned.name, _request_timeout=_CALL_SECONDS
        )
    except client.ApiException as error:
        return Readiness(title, False, f"{error.status} {error.reason}")
    except HTTPError as error:
        return Readiness(title, False, f"the API server does not answer: {no_answer(error)}")
    return readiness_of(title, item)


def readiness_of(title: str, item: Any) -> Readiness:
    """Judge an object by its status. Source: Strimzi's conditions Ready and NotReady, observedGeneration."""
    status = item.get("status") or {}
    if status.get("observedGeneration") != item["metadata"].get("generation"):
        return Readiness(title, False, "the operator has not taken up the newest change yet")
    conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
    if conditions.get("Ready", {}).get("status") == "True":
        failed = _failed(status.get("connectors") or [])
        return Readiness(title, not failed, "; ".join(failed))
    said = conditions.get("NotReady", {})
    message = said.get("message") or said.get("reason") or "the operator has said nothing yet"
    return Readiness(title, False, str(message))


def _failed(connectors: Sequence[Any]) -> list[str]:
    """Connectors and tasks of a KafkaMirrorMaker2 that failed: it stays Ready while a task does.

    Source: Strimzi KafkaMirrorMaker2Status.connectors, whose entries are what Connect's REST interface says.
    """
    found = []
    for connector in connectors:
        parts = {"": connector.get("connector") or {}}
        parts |= {f" task {task['id']}": task for task in connector.get("tasks") or []}
        for part, state in parts.items():
            if state.get("state") == "FAILED":
                reason = str(state.get("trace") or "no trace").strip().splitlines()[0]
                found.append(f"{connector['name']}{part} failed: {reason}")
    return found
