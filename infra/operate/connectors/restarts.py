"""Which restarts of connectors and tasks to request from the operator, and what is refused. Pure.

An annotation asks for one restart of a connector (without its tasks) or of one task. The operator then removes it.
Source: Strimzi ResourceAnnotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.contract.problems import RefusedError
from components.kafka.connectors import failures
from infra.kubernetes.api import Object, Reference
from infra.operate.connectors.places import ConnectorPlace
from infra.review.running_drift import wanted_connectors

_CONNECTOR = {"KafkaConnector": "strimzi.io/restart", "KafkaMirrorMaker2": "strimzi.io/restart-connector"}
_TASK = {"KafkaConnector": "strimzi.io/restart-task", "KafkaMirrorMaker2": "strimzi.io/restart-connector-task"}


@dataclass(frozen=True)
class Restart:
    """One restart: of a connector, or with `task` of one of its tasks."""

    place: ConnectorPlace
    task: int | None = None

    @property
    def title(self) -> str:
        return self.place.name if self.task is None else f"{self.place.name} task {self.task}"

    @property
    def annotation(self) -> tuple[str, str]:
        """Key and value. Those of a KafkaMirrorMaker2 name the connector."""
        kind, name = self.place.resource.kind, self.place.name
        if kind == "KafkaConnector":
            return (_CONNECTOR[kind], "true") if self.task is None else (_TASK[kind], str(self.task))
        return (_CONNECTOR[kind], name) if self.task is None else (_TASK[kind], f"{name}:{self.task}")

    def patch(self, live: Object) -> list[Object]:
        key, value = self.annotation
        annotations = {**(live["metadata"].get("annotations") or {}), key: value}
        version = live["metadata"]["resourceVersion"]
        return [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/metadata/annotations", "value": annotations},
        ]

    def pending(self, live: Mapping[str, Any]) -> bool:
        return self.annotation[0] in (live["metadata"].get("annotations") or {})


def planned_restarts(
    places: Sequence[ConnectorPlace], live: Mapping[Reference, Object], *, named: bool, task: int | None = None
) -> list[Restart]:
    """The restarts to request, in order. Raises RefusedError before yielding any. Connectors that were `named` restart
    with all their tasks, or with only one task if that is given. Without a name, only what failed restarts.
    """
    found = [restart for place in places for restart in _of(place, live[place.resource], named=named, task=task)]
    if not found:
        why = "Without a connector's name, only what failed is restarted."
        remedy = f"add `--connector NAME`; the connectors are {', '.join(place.name for place in places)}."
        where = ", ".join(dict.fromkeys(str(place.resource) for place in places))
        raise RefusedError("nothing-failed", "no connector or task of the flow has failed", where, why, remedy)
    return found


def _of(place: ConnectorPlace, live: Object, *, named: bool, task: int | None) -> Iterator[Restart]:
    wanted, status = connector_in(place, live)
    failed = [failure.task for failure in failures(status)]
    if not named and task is None and not failed:
        return
    where, tasks = str(place.resource), [int(each["id"]) for each in status.get("tasks") or []]
    if wanted != "running":
        why = "Connect does not restart a connector that is declared paused or stopped."
        raise RefusedError(
            "not-running", f"{place.name} is {wanted}", where, why, ("resume it first with `replicate resume`.")
        )
    if any(Restart(place, number).pending(live) for number in (None, 0)):
        why = "The operator has not carried it out yet, and keeps only the newest request."
        remedy = "wait for its next reconciliation; if the annotation stays, read the operator's log."
        raise RefusedError("restart-pending", f"a restart of {place.name} was already requested", where, why, remedy)
    if task is not None and task not in tasks:
        known = ", ".join(map(str, tasks)) or "none"
        what, why = f"{place.name} has no task {task}", f"The tasks that the operator reports are: {known}."
        raise RefusedError("unknown-task", what, where, why, "name one of these, or leave `--task` out.")
    chosen = [task] if task is not None else [None, *tasks] if named else failed
    yield from (Restart(place, number) for number in chosen)


def connector_in(place: ConnectorPlace, live: Object) -> tuple[str, Mapping[str, Any]]:
    """The wanted state and the reported status of a connector in its resource."""
    found = ((state, status) for name, state, status in wanted_connectors(live) if name == place.name)
    return next(found, ("running", {}))
