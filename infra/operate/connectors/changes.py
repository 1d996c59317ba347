"""Where a flow's connectors are declared, and what pausing, resuming, stopping or restarting them changes there. Pure.

A change is a JSON patch of one resource. It names the version that it was made for, so that two people who intervene at
the same time do not overwrite each other. A restart is an annotation for one connector (without its tasks) or one task;
the operator removes it. Source: Strimzi KafkaConnectorSpec, KafkaMirrorMaker2ConnectorSpec, ResourceAnnotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.temporary_states import (
    ANNOTATION,
    TemporaryState,
    annotation_value,
    temporary_states,
)
from kafka_replication.components.flows.operators import PAUSE
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.connectors import ConnectorRole, failures
from kafka_replication.components.render.deployments import declared_connectors
from kafka_replication.infra.kubernetes.api import Object, Reference, annotations_of
from kafka_replication.infra.kubernetes.managed_fields import owner_of
from kafka_replication.infra.kubernetes.readiness import wanted_connectors


@dataclass(frozen=True)
class ConnectorPlace:
    """A connector as Connect names it, and the KafkaConnector or KafkaMirrorMaker2 that declares it."""

    name: str
    role: ConnectorRole
    resource: Reference


def connector_places(flow: ResolvedFlow) -> tuple[ConnectorPlace, ...]:
    """Return every connector of a flow, the source connectors first."""
    return tuple(
        ConnectorPlace(
            spec.connector, spec.role, Reference(spec.api_version, spec.kind, flow.namespace, spec.object_name)
        )
        for spec in declared_connectors(flow)
    )


#: Annotations by which the operator changes offsets as soon as a connector is stopped. Source: ResourceAnnotations.
OFFSETS = "strimzi.io/connector-offsets"
_ARMED = frozenset({"alter", "reset"})


@dataclass(frozen=True)
class StateRequest:
    """Bring connectors into a state: `paused`, `stopped`, or `running` to end either.

    `until` is only announced: nothing resumes by itself. `take_over` also ends or replaces what somebody else
    announced.
    """

    stack: str
    flow: str
    state: str
    by: str
    now: datetime
    until: datetime | None = None
    take_over: bool = False

    def extends(self, announced: TemporaryState | None) -> bool:
        """Return whether the request only changes the end of a state that the same person announced."""
        return announced is not None and announced.by == self.by and self.until not in (None, announced.until)


@dataclass(frozen=True)
class ConnectorChange:
    """What happens to the connectors of one resource: `patch` is a JSON patch."""

    resource: Reference
    patch: tuple[Object, ...]
    states: Mapping[ConnectorPlace, str]


def concerned(
    request: StateRequest, places: Sequence[ConnectorPlace], live: Mapping[Reference, Object]
) -> tuple[ConnectorPlace, ...]:
    """Return the connectors that a request without names concerns: all in another state, or else all. A resume concerns
    announced states, if there are any; it leaves alone what the topology declares.
    """
    other = [place for place in places if wanted_state(live[place.resource], place) != request.state]
    announced = [place for place in other if place.name in temporary_states(live[place.resource])]
    return tuple((announced if request.state == "running" else other) or other or places)


def planned(
    request: StateRequest, places: Sequence[ConnectorPlace], live: Mapping[Reference, Object]
) -> list[ConnectorChange]:
    """Return the changes that the request needs, one for each resource. Raises RefusedError before any is made."""
    changes = []
    for resource in dict.fromkeys(place.resource for place in places):
        body = live[resource]
        states = temporary_states(body)
        wanted: dict[ConnectorPlace, str] = {}
        for place in places:
            if place.resource == resource:
                now = wanted_state(body, place)
                _refuse(request, place, body, now, states.get(place.name))
                wanted[place] = _state(request, states, place)
                states = _announced(request, place, now, states)
        patch = (
            {"op": "add", "path": f"{connector_path(body, place)}/state", "value": state}
            for place, state in wanted.items()
        )
        changes.append(ConnectorChange(resource, (*version_of(body), *patch, _announcing(body, states)), wanted))
    return changes


def _state(request: StateRequest, states: Mapping[str, TemporaryState], place: ConnectorPlace) -> str:
    """Return the state to write: ending an announced state means returning to the earlier one."""
    announced = states.get(place.name)
    return announced.before if request.state == "running" and announced is not None else request.state


def _announced(
    request: StateRequest, place: ConnectorPlace, now: str, states: Mapping[str, TemporaryState]
) -> dict[str, TemporaryState]:
    others = {name: state for name, state in states.items() if name != place.name}
    if request.state == "running":
        return others
    before = states[place.name].before if place.name in states else now
    announced = TemporaryState(request.flow, request.state, request.by, request.now, request.until, before=before)
    return {**others, place.name: announced}


def _refuse(
    request: StateRequest, place: ConnectorPlace, body: Object, now: str, announced: TemporaryState | None
) -> None:
    refuse_paused(place, body)
    where, annotations = str(place.resource), annotations_of(body)
    if request.state == "stopped" and annotations.get(OFFSETS) in _ARMED:
        what = f"the annotation {OFFSETS}: {annotations[OFFSETS]} is set on {place.name}"
        why = "The operator changes the offsets as soon as the connector is stopped, whoever stops it."
        remedy = f"remove the annotation if nobody needs it: `{kubectl_annotate(place.resource)} {OFFSETS}-`."
        raise RefusedError("offsets-armed", what, where, why, remedy)
    if now == request.state and not (now != "running" and request.extends(announced)):
        note = f": {announced.text(request.now)}" if announced is not None else ""
        verb = "replicate resume" if request.state != "running" else "replicate pause"
        remedy = f"nothing needs to be done; `{verb} {request.stack} {request.flow}` changes the state."
        why = "The spec of its resource already says so."
        raise RefusedError("already-in-state", f"{place.name} is {now}{note}", where, why, remedy)
    _refuse_of_others(request, place, body, now, announced)


def refuse_paused(place: ConnectorPlace, body: Object) -> None:
    """Raise RefusedError if the operator does not act on the connector."""
    if annotations_of(body).get(PAUSE) == "true":
        why = f"The annotation {PAUSE} stops the operator, so a change would take effect at some later time."
        remedy = f"remove the annotation first: `{kubectl_annotate(place.resource)} {PAUSE}-`."
        what = f"the operator does not act on {place.name}"
        raise RefusedError("reconciliation-paused", what, str(place.resource), why, remedy)


def _refuse_of_others(
    request: StateRequest, place: ConnectorPlace, body: Object, now: str, announced: TemporaryState | None
) -> None:
    if request.take_over or now == "running":
        return
    where = str(place.resource)
    if announced is not None and announced.by != request.by:
        what, why = f"{place.name} is {announced.text(request.now)}", "Somebody else is working on this connector."
        remedy = f"ask {announced.by}, or add `--take-over`."
        raise RefusedError("state-of-another", what, where, why, remedy)
    if announced is None:
        owner = owner_of(body, ("spec", "state")) or owner_of(body, ("spec", "mirrors"))
        if owner is not None and owner.deploys:
            why = "The topology declares this state, and the next deployment would restore it."
            remedy = "set `state: running` for the connector in the topology and deploy it, or add `--take-over`."
        else:
            why = f"It was set by {owner.manager if owner else 'somebody'} and not announced."
            remedy = "find out who needs it, or add `--take-over`."
        raise RefusedError("state-not-announced", f"{place.name} is {now}", where, why, remedy)


def connector_fields(body: Object, place: ConnectorPlace) -> Object:
    """Return the connector's own fields in the resource."""
    if body["kind"] == "KafkaConnector":
        return dict(body["spec"])
    return dict(body["spec"]["mirrors"][_mirror_index(body, place)][f"{place.role}Connector"])


def runs_connector(body: Object, place: ConnectorPlace) -> bool:
    """Return whether the resource runs the connector; a KafkaMirrorMaker2 may lack a mirror that is only declared."""
    if body["kind"] == "KafkaConnector":
        return True
    return any(
        _source_alias(mirror) == place.name.partition("->")[0] and f"{place.role}Connector" in mirror
        for mirror in body["spec"]["mirrors"]
    )


def wanted_state(body: Object, place: ConnectorPlace) -> str:
    """Return the state in the resource's spec."""
    return str(connector_fields(body, place).get("state") or "running")


def connector_path(body: Object, place: ConnectorPlace) -> str:
    """Return a JSON pointer to the connector's own fields in the resource."""
    if body["kind"] == "KafkaConnector":
        return "/spec"
    return f"/spec/mirrors/{_mirror_index(body, place)}/{place.role}Connector"


def _mirror_index(body: Object, place: ConnectorPlace) -> int:
    """Return the index of the mirror that runs the connector, which is named `<source>-><target>.<class>`."""
    return [_source_alias(mirror) for mirror in body["spec"]["mirrors"]].index(place.name.partition("->")[0])


def _source_alias(mirror: Object) -> str:
    return str(mirror.get("sourceCluster") or mirror["source"]["alias"])


def version_of(body: Object) -> tuple[Object, ...]:
    """Return the operation that makes a patch fail if the resource has changed since."""
    return ({"op": "replace", "path": "/metadata/resourceVersion", "value": body["metadata"]["resourceVersion"]},)


def annotated(annotations: Mapping[str, str]) -> Object:
    """Return the operation that leaves a resource exactly these annotations."""
    return {"op": "add", "path": "/metadata/annotations", "value": dict(annotations)}


def disowned(live: Object, manager: str) -> list[Object]:
    """Return the JSON patch that takes every field from this manager, so that no deployment conflicts with it. It is
    empty while another announcement still needs the ownership.
    """
    entries = live["metadata"].get("managedFields") or []
    remaining = [entry for entry in entries if entry.get("manager") != manager or entry.get("subresource")]
    if ANNOTATION in annotations_of(live) or remaining == entries:
        return []
    return [*version_of(live), {"op": "replace", "path": "/metadata/managedFields", "value": remaining}]


def _announcing(body: Object, states: Mapping[str, TemporaryState]) -> Object:
    others = {key: value for key, value in annotations_of(body).items() if key != ANNOTATION}
    return annotated(others | ({ANNOTATION: annotation_value(states)} if states else {}))


def kubectl_annotate(resource: Reference) -> str:
    return f"kubectl annotate {resource.kind.lower()} {resource.name} -n {resource.namespace}"


@dataclass(frozen=True)
class ConnectorRestart:
    """One restart: of a connector, or with `task` of one of its tasks."""

    place: ConnectorPlace
    task: int | None = None

    @property
    def title(self) -> str:
        return self.place.name if self.task is None else f"{self.place.name} task {self.task}"

    @property
    def annotation(self) -> tuple[str, str]:
        """Return key and value. On a KafkaMirrorMaker2 they name the connector."""
        name, task = self.place.name, self.task
        if self.place.resource.kind == "KafkaConnector":
            return ("strimzi.io/restart", "true") if task is None else ("strimzi.io/restart-task", str(task))
        if task is None:
            return "strimzi.io/restart-connector", name
        return "strimzi.io/restart-connector-task", f"{name}:{task}"

    def patch(self, live: Object) -> list[Object]:
        key, value = self.annotation
        return [*version_of(live), annotated({**annotations_of(live), key: value})]

    def pending(self, live: Object) -> bool:
        return self.annotation[0] in annotations_of(live)


def planned_restarts(
    places: Sequence[ConnectorPlace], live: Mapping[Reference, Object], *, named: bool, task: int | None = None
) -> list[ConnectorRestart]:
    """Return the restarts to request, in order. Raises RefusedError before any. Connectors that were `named` restart
    with all their tasks, or with only one task if that is given. Without a name, only what failed restarts.
    """
    chosen = (_restarts(place, live[place.resource], named=named, task=task) for place in places)
    restarts = [restart for requested in chosen for restart in requested]
    if not restarts:
        why = "Without a connector's name, only what failed is restarted."
        remedy = f"add `--connector NAME`; the connectors are {', '.join(place.name for place in places)}."
        where = ", ".join(dict.fromkeys(str(place.resource) for place in places))
        raise RefusedError("nothing-failed", "no connector or task of the flow has failed", where, why, remedy)
    return restarts


def _restarts(place: ConnectorPlace, live: Object, *, named: bool, task: int | None) -> Iterator[ConnectorRestart]:
    wanted, status = connector_in(place, live)
    failed = [failure.task for failure in failures(status)]
    if not named and task is None and not failed:
        return
    where, tasks = str(place.resource), [int(report["id"]) for report in status.get("tasks") or []]
    if wanted != "running":
        why = "Connect does not restart a connector that is declared paused or stopped."
        raise RefusedError(
            "not-running", f"{place.name} is {wanted}", where, why, "resume it first with `replicate resume`."
        )
    if any(ConnectorRestart(place, number).pending(live) for number in (None, 0)):
        why = "The operator has not carried it out yet, and keeps only the newest request."
        remedy = "wait for its next reconciliation; if the annotation stays, read the operator's log."
        raise RefusedError("restart-pending", f"a restart of {place.name} was already requested", where, why, remedy)
    if task is not None and task not in tasks:
        known = ", ".join(map(str, tasks)) or "none"
        what, why = f"{place.name} has no task {task}", f"The tasks that the operator reports are: {known}."
        raise RefusedError("unknown-task", what, where, why, "name one of these, or leave `--task` out.")
    chosen = [task] if task is not None else [None, *tasks] if named else failed
    yield from (ConnectorRestart(place, number) for number in chosen)


def connector_in(place: ConnectorPlace, live: Object) -> tuple[str, Mapping[str, Any]]:
    """Return the wanted state and the reported status of a connector in its resource."""
    states = ((state, status) for name, state, status in wanted_connectors(live) if name == place.name)
    return next(states, ("running", {}))
