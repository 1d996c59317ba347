"""Sets offsets: stops the connectors, lets the operator change their offsets, checks them, and starts them again. No
state is kept: what an earlier call left behind shows in the resources, and is cleaned up first.

The operator changes offsets when an annotation asks for it, and then removes the annotation. If it fails, the
annotation stays, and the operator tries again whenever the connector is stopped. So the annotation must never be left
behind. Source: Strimzi AbstractConnectOperator, ResourceAnnotations.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.contract.temporary_states import temporary_states
from kafka_replication.components.kafka.connectors import offsets_document
from kafka_replication.components.render.kafka_connectors import waits_for_offsets
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference, annotations_of
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.operate.connectors.changes import (
    OFFSETS,
    ConnectorChange,
    ConnectorPlace,
    StateRequest,
    annotated,
    connector_fields,
    connector_path,
    kubectl_annotate,
    planned,
    refuse_paused,
    version_of,
    wanted_state,
)
from kafka_replication.infra.operate.connectors.operator import Say, carry_out, disown, patch_live, read_live
from kafka_replication.infra.operate.offsets.plan import OffsetChange
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from kafka_replication.infra.operate.status.facts import ConnectorFacts

#: Suffix of the user's name while a connector is stopped to set its offsets. If it stays, the call was interrupted.
PURPOSE = ", to set offsets"
CONNECTOR = "strimzi.io/mirrormaker-connector"
_FIELD = "alterOffsets"


def config_map(place: ConnectorPlace, live: Object, source: str, changes: Iterable[OffsetChange]) -> Object:
    """Return the ConfigMap with the new offsets for the operator; Kubernetes deletes it with the resource."""
    resource = place.resource
    owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": resource.name}
    offsets = offsets_document(source, {change.partition: change.stored for change in changes})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": config_map_reference(place).name,
            "namespace": resource.namespace,
            "ownerReferences": [{**owner, "uid": live["metadata"]["uid"]}],
        },
        "data": {_key(place): json.dumps(offsets, indent=2)},
    }


def config_map_reference(place: ConnectorPlace) -> Reference:
    return Reference("v1", "ConfigMap", place.resource.namespace, f"{place.resource.name}-new-offsets")


def _key(place: ConnectorPlace) -> str:
    alone = place.resource.kind == "KafkaConnector"
    return "offsets.json" if alone else f"{place.name.replace('->', '--')}.json"


def arm(place: ConnectorPlace, live: Object, verb: str) -> list[Object]:
    """Return the JSON patch that asks the operator to `alter` or `reset` the connector's offsets."""
    asked = {OFFSETS: verb} | ({CONNECTOR: place.name} if place.resource.kind != "KafkaConnector" else {})
    field = {"fromConfigMap": {"name": config_map_reference(place).name}}
    path = f"{connector_path(live, place)}/{_FIELD}"
    added: list[Object] = [{"op": "add", "path": path, "value": field}] if verb == "alter" else []
    return [*version_of(live), annotated({**annotations_of(live), **asked}), *added]


def disarm(place: ConnectorPlace, live: Object) -> list[Object]:
    """Return the JSON patch that removes what `arm` added and the operator left; empty if nothing is left."""
    annotations = {key: value for key, value in annotations_of(live).items() if key not in (OFFSETS, CONNECTOR)}
    path = f"{connector_path(live, place)}/{_FIELD}"
    removed: list[Object] = [{"op": "remove", "path": path}] if names_our_file(place, live) else []
    if not removed and annotations == annotations_of(live):
        return []
    return [*version_of(live), annotated(annotations), *removed]


def pending(live: Object) -> bool:
    """Return whether the operator was asked but has not done it."""
    return OFFSETS in annotations_of(live)


def warnings(live: Object) -> dict[str, str]:
    """Return what the operator last reported about offsets: messages by time and reason."""
    conditions = (live.get("status") or {}).get("conditions") or []
    about = [entry for entry in conditions if entry.get("type") == "Warning" and "Offsets" in entry.get("reason", "")]
    return {f"{entry.get('lastTransitionTime')} {entry['reason']}": str(entry.get("message", "")) for entry in about}


def interrupted(place: ConnectorPlace, live: Object) -> bool:
    """Return whether the connector was stopped in order to set its offsets, and never started again."""
    announced = temporary_states(live).get(place.name)
    return announced is not None and announced.by.endswith(PURPOSE) and wanted_state(live, place) == announced.state


def refuse(request: StateRequest, places: Sequence[ConnectorPlace], live: Mapping[Reference, Object]) -> None:
    """Raise RefusedError if the offsets of these connectors cannot be set now."""
    for place in places:
        body = live[place.resource]
        refuse_paused(place, body)
        if interrupted(place, body):
            by = temporary_states(body)[place.name].by
            if by != request.by and not request.take_over:
                what = f"{place.name} is stopped by {by}"
                why = "They are setting its offsets, or were interrupted."
                remedy = f"ask {by.removesuffix(PURPOSE)}, or add `--take-over`."
                raise RefusedError("state-of-another", what, str(place.resource), why, remedy)
            continue
        annotations = annotations_of(body)
        if keys := [f"{key}-" for key in (OFFSETS, CONNECTOR) if key in annotations]:
            what = f"the annotation `{CONNECTOR}` of an earlier request is still on {place.name}"
            why = "It would name the connector of the next request."
            if OFFSETS in annotations:
                what = f"the request `{OFFSETS}: {annotations[OFFSETS]}` is still pending on {place.name}"
                why = "It was not carried out. The operator tries it again as soon as the connector stops."
            command = f"{kubectl_annotate(place.resource)} {' '.join(keys)}"
            remedy = f"if nobody needs it, remove it: `{command}`."
            raise RefusedError("offsets-armed", what, str(place.resource), why, remedy)
        if wanted_state(body, place) == "paused":
            what, why = f"{place.name} is paused", "Setting offsets stops the connector, which would end the pause."
            command = f"replicate stop {request.stack} {request.flow} --connector '{place.name}'"
            remedy = f"stop it first with `{command}`, or resume it."
            raise RefusedError("connector-paused", what, str(place.resource), why, remedy)


def names_our_file(place: ConnectorPlace, live: Object) -> bool:
    """Return whether the connector's spec names our ConfigMap."""
    given = ((connector_fields(live, place).get(_FIELD) or {}).get("fromConfigMap") or {}).get("name")
    return bool(given == config_map_reference(place).name)


_TASK_POLL_SECONDS = 1.0


def wait_until_ended(unended: Callable[[str], Sequence[int]], connectors: Sequence[str], seconds: float) -> None:
    """Wait until `unended` returns no task for any of these connectors. Raises DeadlineError, and what it raises."""

    def probe() -> None:
        running = {name: tasks for name in connectors if (tasks := unended(name))}
        if running:
            texts = (f"tasks {', '.join(map(str, tasks))} of {name} have not ended" for name, tasks in running.items())
            raise NotYetError("; ".join(texts))

    wait_for(f"the tasks of {', '.join(connectors)} to end", probe, seconds, _TASK_POLL_SECONDS)


_POLL_SECONDS = 0.5

#: What to change, computed once the connectors are stopped.
Plan = Callable[[], Sequence[OffsetChange]]


@dataclass(frozen=True)
class Run:
    """One call to `alter` or `reset` offsets, as `verb` says. Each step of the operator may take `seconds`."""

    api: KubernetesApi
    reader: OffsetsReader
    request: StateRequest
    verb: str
    seconds: float
    say: Say

    def set(self, places: Sequence[ConnectorPlace], plan: Plan) -> tuple[Sequence[OffsetChange], list[ConnectorFacts]]:
        """Set the offsets of these connectors. Returns what was set, and what is reported about the connectors that run
        again. Raises CannotRunError; the connectors are then as before, unless the error says otherwise.
        """
        live = read_live(self.api, places)
        refuse(self.request, places, live)
        live = self._withdraw_requests(places)
        stopping = [place for place in places if wanted_state(live[place.resource], place) != "stopped"]
        changes = planned(self.request, stopping, live)
        restored = [*stopping, *(place for place in places if interrupted(place, live[place.resource]))]
        offset_changes: Sequence[OffsetChange] | None = None
        # If a task was removed from the connector earlier and its worker died, it never reports its end.
        running = {place.name: self.reader.present(place.name) for place in stopping}
        try:
            self._stop(places, changes)
            # A connector that waits for its first offsets selects nothing, and has no tasks.
            self._wait_ended([place for place in places if not waits_for_offsets(live[place.resource])], running)
            offset_changes = self._change(places, plan())
        finally:
            seen = self._restore(restored, places, wait=offset_changes is not None)
        return offset_changes, seen

    def _withdraw_requests(self, places: Sequence[ConnectorPlace]) -> dict[Reference, Object]:
        """Withdraw what this or an interrupted call asked of the operator."""
        for place in places:
            if patch_live(self.api, place.resource, partial(disarm, place)):
                self.say(f"removed the request to the operator from {place.resource}")
        return read_live(self.api, places)

    def _stop(self, places: Sequence[ConnectorPlace], changes: Sequence[ConnectorChange]) -> None:
        self.say(f"stopping {', '.join(place.name for place in places)}")
        try:
            carry_out(self.api, changes, self.seconds, self.say, dict.fromkeys(places, "stopped"))
        except CannotRunError as error:
            if error.code != "not-seen-yet":
                raise
            raise _not_acting(places, error.what) from error

    def _wait_ended(self, places: Sequence[ConnectorPlace], running: Mapping[str, Collection[int]]) -> None:
        """Wait for the tasks to end: a task that ended later would overwrite the new offsets with its own. `running`
        has the tasks of the connectors that ran until now; for the others, wait for every task that ever ran.
        """
        names = [place.name for place in places]

        def unended(name: str) -> list[int]:
            tasks = self.reader.unended(name)
            return [task for task in tasks if name not in running or task in running[name]]

        try:
            wait_until_ended(unended, names, self.seconds)
        except DeadlineError as error:
            why = "A task stores its last offsets when it ends, which could overwrite the new ones. Nothing was set."
            remedy = (
                "read the log of its workers. A task whose worker has died never reports its end: start the connector "
                f"with `replicate resume {self.request.stack} {self.request.flow}` if it is stopped, and once it runs, "
                "run the command again."
            )
            raise CannotRunError("tasks-not-ended", error.what, ", ".join(names), why, remedy) from error

    def _change(self, places: Sequence[ConnectorPlace], changes: Sequence[OffsetChange]) -> Sequence[OffsetChange]:
        for place in places:
            if own := [change for change in changes if change.connector == place.name]:
                self.say(f"changing the offsets of {place.name}")
                self._ask(place, own)
        stored = self.reader.stored()
        wrong = [change for change in changes if stored.get((change.connector, change.partition)) != change.stored]
        if wrong:
            what = f"Connect has other offsets for {', '.join(str(change.partition) for change in wrong)}"
            why = "The operator reported no failure, but the offsets are not those that it was given."
            remedy = "run the command again; `list` prints what Connect has."
            raise CannotRunError("offsets-differ", what, ", ".join(place.name for place in places), why, remedy)
        return changes

    def _ask(self, place: ConnectorPlace, changes: Sequence[OffsetChange]) -> None:
        """Let the operator change the offsets of one connector, and wait until it has."""
        live = read_live(self.api, [place])[place.resource]
        if self.verb == "alter":
            self.api.apply(config_map(place, live, self.reader.source, changes))
        before = warnings(live)
        patch_live(self.api, place.resource, lambda now: arm(place, now, self.verb))

        def probe() -> str:
            now = read_live(self.api, [place])[place.resource]
            if not pending(now):
                return ""
            if new := [text for key, text in warnings(now).items() if key not in before]:
                return new[0]
            raise NotYetError("; ".join(["the annotation is still there", *warnings(now).values()]))

        try:
            failed = wait_for("the operator to change the offsets", probe, self.seconds, _POLL_SECONDS)
        except DeadlineError as error:
            raise _not_acting([place], error.what) from error
        if failed:
            why, remedy = "The operator refused or could not do it.", "correct what it says, and run the command again."
            raise CannotRunError("offsets-not-changed", failed, str(place.resource), why, remedy)

    def _restore(
        self, stopped: Sequence[ConnectorPlace], places: Sequence[ConnectorPlace], *, wait: bool
    ) -> list[ConnectorFacts]:
        """Remove what was added to the resources, and return the connectors to their earlier state."""
        try:
            live = self._withdraw_requests(places)
            back = replace(self.request, state="running", take_over=True)
            ours = [place for place in stopped if interrupted(place, live[place.resource])]
            states = {place: planned(back, [place], live)[0].states[place] for place in ours}
            for place in ours:
                patch_live(self.api, place.resource, partial(_state_patch, back, place))
            for place in places:
                self.api.delete(config_map_reference(place))
                disown(self.api, place.resource)
            if not (wait and ours):
                return []
            self.say(f"waiting for {', '.join(place.name for place in ours)} to return to its earlier state")
            return carry_out(self.api, [], self.seconds, self.say, states)
        except ApiError as error:
            names = ", ".join(place.name for place in places)
            what = f"{names} may still be stopped, with a request to the operator: {error.message}"
            why = "Kubernetes did not accept the change that ends this."
            raise CannotRunError("left-stopped", what, "the stack's cluster", why, "run the command again.") from error


def _state_patch(request: StateRequest, place: ConnectorPlace, live: Object) -> Sequence[Object]:
    return planned(request, [place], {place.resource: live})[0].patch


def left_behind(api: KubernetesApi, places: Sequence[ConnectorPlace]) -> list[ConnectorPlace]:
    """Return the connectors on which an interrupted call left something."""
    live = read_live(api, places)
    return [
        place
        for place in places
        if interrupted(place, live[place.resource]) or names_our_file(place, live[place.resource])
    ]


def _not_acting(places: Sequence[ConnectorPlace], what: str) -> CannotRunError:
    return CannotRunError(
        "operator-not-acting",
        what,
        ", ".join(dict.fromkeys(str(place.resource) for place in places)),
        "The operator did not carry it out in time. The request was withdrawn, but check whether the operator has "
        "acted since.",
        "make sure that the operator runs, and run the command again; `list` prints the offsets that Connect has.",
    )
