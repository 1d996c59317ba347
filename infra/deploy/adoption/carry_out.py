"""Carries out moves: the flows are deployed without starting, the mirrors stop, offsets are copied, the flows start. No
state is kept: the resources and the offsets show what an earlier call did. A flow starts only after its mirror has
stopped and stored its last offsets.
"""

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.wording import number
from kafka_replication.components.kafka.connectors import unended_tasks
from kafka_replication.components.kafka.mirror_records import replicated_offsets
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.render.kafka_connectors import waiting_for_offsets
from kafka_replication.infra.deploy.adoption.moves import MirrorMove, connectors_of, offset_moves
from kafka_replication.infra.deploy.adoption.plan import AdoptionPlan
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.engine.command import Say
from kafka_replication.infra.deploy.engine.deployment import Change, import_objects
from kafka_replication.infra.kubernetes.access import api_client, asking_kubernetes
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Reference, reference
from kafka_replication.infra.kubernetes.managed_fields import yielding
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.operate.connectors.changes import StateRequest, planned, wanted_state
from kafka_replication.infra.operate.connectors.operator import (
    OFFSETS_PERMISSION,
    carry_out,
    cluster_of,
    patch_live,
    read_live,
)
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.offsets.change import Run, disarm, wait_until_ended
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings

_ATTEMPTS = 5
_INVALID = 422
_WHY = "Adoption makes the tools that wrote an object yield to Pulumi."
_PERMISSION = "let the account of the stack's Kubernetes context patch what `replicate render` writes."


def take_over(settings: StackSettings, plan: AdoptionPlan, say: Say, change: Change | None = None) -> Mapping[str, int]:
    """Do what the plan says; returns the number of objects by what the deployment did to them.

    `change` is applied to each object before it is deployed.
    """
    deployment.prepare(settings, say)
    with api_client(settings, stack_environment(settings).kubernetes_access()) as api:
        with asking_kubernetes(f"stack {settings.stack}", _WHY, _PERMISSION):
            for target in plan.unmanaged:
                make_yield(api, target)
        import_objects(settings, api, plan.unmanaged, say, change)
    return deployment.up(settings, say, change=change, moving=change is not None)


def make_yield(api: KubernetesApi, target: Reference) -> None:
    """Make every other owner of an object's fields yield to Pulumi, except those that stay. Changes no field. Reads the
    object again if somebody else changes it meanwhile.
    """
    for attempt in range(_ATTEMPTS):
        live = api.get(target)
        if live is None or (entries := yielding(live)) == live["metadata"].get("managedFields", []):
            return
        version = live["metadata"]["resourceVersion"]
        try:
            api.patch(
                target,
                [
                    {"op": "test", "path": "/metadata/resourceVersion", "value": version},
                    {"op": "replace", "path": "/metadata/managedFields", "value": entries},
                ],
            )
        except ApiError as error:
            if attempt == _ATTEMPTS - 1 or not (error.conflict or error.status == _INVALID):
                raise
        else:
            return


_POLL_SECONDS = 1.0
#: A worker stores offsets each minute, unless its `offset.flush.interval.ms` says otherwise.
_STORED_SECONDS = 90.0


@dataclass(frozen=True)
class MoveResult:
    """Name a moved mirror, how many of its offsets were copied, and the topics without copied offsets."""

    move: MirrorMove
    offsets: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class MoveRun:
    """Moves mirrors in one call; `by` is the caller, `seconds` how long each step of the operator may take."""

    settings: StackSettings
    plan: AdoptionPlan
    by: str
    now: datetime
    seconds: float
    agreed: frozenset[str]
    say: Say

    def run(self) -> tuple[Mapping[str, int], list[MoveResult]]:
        """Return what the last deployment changed, and each mirror's copied offsets. Raises CannotRunError, after
        which the flows copy nothing, and a mirror may have stopped.
        """
        moves = [move for move in self.plan.moves.mirrors if move.waiting]
        take_over(self.settings, self.plan, self.say, _holding_back(moves))
        results = []
        with OpenStack(self.settings) as stack, cluster_of(stack, OFFSETS_PERMISSION) as api:
            for move in moves:
                readers = {flow.name: OffsetsReader(FlowAccess(stack, stack.flow(flow.name))) for flow in move.flows}
                self.say(f"waiting for the connectors of {move.flow_names}, which do not start yet")
                carry_out(api, [], self.seconds, _unsaid, dict.fromkeys(move.waiting, "stopped"))
                self._wait_stored(api, move, readers)
                self._require_no_step_back(move, readers)
                self._stop(api, move)
                self._wait_ended(move, readers)
                results.append(self._carry(api, move, readers))
            for move in moves:
                self._require_stopped(api, move)
        return deployment.up(self.settings, self.say, moving=True), results

    def _stop(self, api: KubernetesApi, move: MirrorMove) -> None:
        live = read_live(api, move.places)
        running = [place for place in move.places if wanted_state(live[place.resource], place) != "stopped"]
        request = StateRequest(self.plan.stack, move.flow_names, "stopped", f"{self.by}, to move it", self.now)
        changes = planned(request, running, live)
        self.say(f"stopping {', '.join(place.name for place in move.places)}")
        carry_out(api, changes, self.seconds, _unsaid, dict.fromkeys(move.places, "stopped"))

    def _wait_ended(self, move: MirrorMove, readers: Mapping[str, OffsetsReader]) -> None:
        """Wait until the tasks have stored their last offsets; their connector is already STOPPED before that."""
        reader, agreement = next(iter(readers.values())), f"re-read:{move.flows[0].name}"

        def unended(connector: str) -> list[int]:
            records = reader.records(move.topic("status"))
            return unended_tasks(((record.key, record.value) for record in records), connector)

        try:
            wait_until_ended(unended, [move.connector], self.seconds)
        except DeadlineError as error:
            if agreement in self.agreed:
                return
            why = "A task stores its last offsets when it ends. Without them, the flow copies some records again."
            remedy = f"read the log of its workers; if its tasks cannot end, add `--agree {agreement}`."
            raise CannotRunError("tasks-not-ended", error.what, str(move.resource), why, remedy) from error

    def _wait_stored(self, api: KubernetesApi, move: MirrorMove, readers: Mapping[str, OffsetsReader]) -> None:
        """Give a mirror that has just started time to store its first offsets."""
        live = read_live(api, move.places)
        runs = any(wanted_state(live[place.resource], place) != "stopped" for place in move.places)
        if not runs or f"re-read:{move.flows[0].name}" in self.agreed:
            return
        topic = move.topic("offset")

        def probe() -> None:
            if not _offsets(move, readers):
                raise NotYetError(f"`{topic}` has none")

        # Without an offset by then, `_mirrored` refuses the move before anything is stopped.
        with contextlib.suppress(DeadlineError):
            wait_for(f"{move.connector} to store offsets", probe, min(self.seconds, _STORED_SECONDS), _POLL_SECONDS)

    def _mirrored(self, move: MirrorMove, readers: Mapping[str, OffsetsReader]) -> dict[TopicPartition, int]:
        """Return the offsets of the mirror's source connector. Raises CannotRunError for none, unless it is agreed."""
        offsets, agreement = _offsets(move, readers), f"re-read:{move.flows[0].name}"
        if not offsets and agreement not in self.agreed:
            raise CannotRunError(
                "no-offsets",
                f"`{move.topic('offset')}` on {move.target} has no offset of {move.connector}",
                str(move.resource),
                "It has copied nothing yet, or the topology names another cluster. The flow would copy everything.",
                "compare the address of the target with the one in the resource; if it has really copied nothing, add "
                f"`--agree {agreement}`.",
            )
        return offsets

    def _require_no_step_back(self, move: MirrorMove, readers: Mapping[str, OffsetsReader]) -> None:
        """A flow may have copied further than its mirror, if it ran before and its connectors were deleted."""
        mirrored = self._mirrored(move, readers)
        for name, reader in readers.items():
            connectors = _waiting_connectors(move, reader, {partition.topic for partition in mirrored})
            changes = offset_moves(mirrored, connectors, reader.stored())
            back, agreement = [change for change in changes if change.again], f"re-read:{name}"
            if back and agreement not in self.agreed:
                raise CannotRunError(
                    "flow-is-ahead",
                    f"flow `{name}` has copied further than {move.title}: {back[0].text}",
                    str(move.resource),
                    f"It ran before, and Connect still has its offsets. {number(len(back), 'partition')} would go "
                    "back to the mirror's offsets.",
                    "if the mirror copies now, let it catch up. If it has stopped, `replicate destroy "
                    f"{self.plan.stack}` removes the waiting flow, and `replicate up {self.plan.stack}` continues "
                    f"where the flow was. If you want the records to be copied again, add `--agree {agreement}`.",
                )

    def _carry(self, api: KubernetesApi, move: MirrorMove, readers: Mapping[str, OffsetsReader]) -> MoveResult:
        """Give each source connector of the flows the offsets of the topics that it selects."""
        mirrored = self._mirrored(move, readers)
        topics = {partition.topic for partition in mirrored}
        selected: set[str] = set()
        for name, reader in readers.items():
            waiting = [place for place in reader.places if place in move.waiting]
            for place in waiting:
                patch_live(api, place.resource, partial(disarm, place))
            own = _waiting_connectors(move, reader, topics)
            changes = offset_moves(mirrored, own, reader.stored())
            if changes:
                request = StateRequest(self.plan.stack, name, "stopped", self.by, self.now)
                self.say(f"copying {number(len(changes), 'offset')} to {', '.join(dict.fromkeys(own.values()))}")
                run = Run(api, reader, request, "alter", self.seconds, _unsaid)
                run.set(waiting, partial(list, changes))
            selected |= _connectors(reader, topics).keys()
        count = sum(partition.topic in selected for partition in mirrored)
        return MoveResult(move, count, tuple(sorted(topics - selected)))

    def _require_stopped(self, api: KubernetesApi, move: MirrorMove) -> None:
        live = read_live(api, move.places)
        if again := [place.name for place in move.places if wanted_state(live[place.resource], place) != "stopped"]:
            what = f"{', '.join(again)} was started while offsets were copied"
            why = "The flow was not started: both would copy the same records."
            remedy = "find out who started it, such as a GitOps tool, and run the command again."
            raise CannotRunError("mirror-runs-again", what, str(move.resource), why, remedy)


def _offsets(move: MirrorMove, readers: Mapping[str, OffsetsReader]) -> dict[TopicPartition, int]:
    """Return what the mirror's source connector has stored on the target, if the topology names the right cluster."""
    records = next(iter(readers.values())).records(move.topic("offset"))
    return replicated_offsets(records, {move.connector}, move.source)


def _connectors(reader: OffsetsReader, topics: Collection[str]) -> dict[str, str]:
    return connectors_of(reader.parameters, [place.name for place in reader.places], topics)


def _waiting_connectors(move: MirrorMove, reader: OffsetsReader, topics: Collection[str]) -> dict[str, str]:
    waiting = {place.name for place in move.waiting}
    return {topic: name for topic, name in _connectors(reader, topics).items() if name in waiting}


def _holding_back(moves: list[MirrorMove]) -> Change:
    waiting = {place.resource: str(move.resource) for move in moves for place in move.waiting}

    def change(body: Mapping[str, Any]) -> Mapping[str, Any]:
        mirror = waiting.get(reference(body))
        return body if mirror is None else waiting_for_offsets(dict(body), mirror)

    return change


def _unsaid(_: str) -> None:
    """Print nothing: a message every second would be too much in the engine's output."""
