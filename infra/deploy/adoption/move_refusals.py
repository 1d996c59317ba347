"""Why a mirror cannot become a flow now. Pure."""

from collections.abc import Iterator

from components.contract.problems import Problem
from components.flows.operators import PAUSE
from components.kafka.connectors import failures, is_observed
from components.render.kafka_connectors import ANNOTATION
from components.render.planned_objects import Manifest
from infra.deploy.adoption.agreements import Refusal
from infra.deploy.adoption.facts import Facts
from infra.deploy.adoption.moves import Move, Moves
from infra.operate.connectors.changes import OFFSETS, wanted_state
from infra.operate.connectors.places import connector_places
from infra.operate.connectors.restarts import connector_in


def refusals_of_moves(facts: Facts, moves: Moves) -> Iterator[Refusal]:
    """Everything that prevents the moves, apart from differences between the mirror and the flow."""
    found = [*moves.problems]
    for each in moves.found:
        found += [*_of_resource(each), *_of_connectors(each), *_running_twice(facts, each)]
        found += _of_other_mirrors(facts, each, moves)
    yield from (Refusal(each) for each in dict.fromkeys(found))


def _of_resource(move: Move) -> Iterator[Problem]:
    where, metadata = str(move.resource), move.live["metadata"]
    annotations = metadata.get("annotations") or {}
    if annotations.get(PAUSE) == "true":
        why = "Only the operator can stop its connectors."
        yield Problem(
            where,
            "reconciliation-held",
            f"the annotation `{PAUSE}` keeps the operator from reconciling it",
            why,
            f"find out why it is there, and remove it: `{_annotate(move)} {PAUSE}-`.",
        )
    if OFFSETS in annotations:
        yield Problem(
            where,
            "offsets-armed",
            f"the annotation {OFFSETS}: {annotations[OFFSETS]} is set",
            "The operator changes the offsets as soon as the connector is stopped, before they are copied.",
            f"remove the annotation if nobody needs it: `{_annotate(move)} {OFFSETS}-`.",
        )
    if metadata.get("deletionTimestamp"):
        yield Problem(
            where,
            "being-deleted",
            f"it was marked for deletion at {metadata['deletionTimestamp']}",
            "Its connectors are deleted with it, so the command cannot stop them and read their last offsets.",
            "find out what prevents the deletion, such as a finalizer.",
        )
    for owner in metadata.get("ownerReferences") or []:
        yield Problem(
            where,
            "owned-by-object",
            f"it belongs to {owner.get('kind')} {owner.get('name')}",
            "The creator of that object writes this one again, which starts its connectors beside the flow.",
            "make its owner stop the connectors, or detach it from its owner: remove `metadata.ownerReferences`.",
        )


def _of_connectors(move: Move) -> Iterator[Problem]:
    for place in move.places:
        if wanted_state(move.live, place) == "paused":
            yield Problem(
                place.name,
                "mirror-paused",
                f"it is paused in {move.resource}",
                "Somebody paused it for a reason that is not known here, but the flow would run.",
                "ask whoever paused it, and resume it; or declare `state: stopped` for it.",
            )
        _, status = connector_in(place, move.live)
        for failure in failures(status):
            yield Problem(
                place.name,
                "mirror-failed",
                failure.of(place.name),
                "The operator does not stop a failed connector, and a failed task has not stored its last offsets, "
                "so the flow would copy some records again.",
                "correct the cause and restart it, then run the command again: `"
                f"{_annotate(move)} strimzi.io/restart-connector{_task(place.name, failure.task)}`.",
            )
    if not is_observed(move.live):
        yield Problem(
            str(move.resource),
            "operator-behind",
            "the operator has not processed its newest change",
            "The current state of its connectors is not known.",
            "make sure that the operator runs and watches this namespace, and run the command again.",
        )


def _running_twice(facts: Facts, move: Move) -> Iterator[Problem]:
    """The flow has started although the mirror still copies."""
    if all(wanted_state(move.live, place) == "stopped" for place in move.places):
        return
    for flow in move.flows:
        for place in connector_places(flow):
            live = facts.live.get((place.resource.kind, place.resource.namespace or "", place.resource.name))
            if live is not None and place.role == "source" and place not in move.waiting and _runs(live):
                yield Problem(
                    place.name,
                    "copied-twice",
                    f"flow `{flow.name}` and {move.title} both copy",
                    "Both copy every record that both select, and neither continues where the other has stopped.",
                    f"stop one of them: `replicate stop {facts.stack} {flow.name}`, or set `state: stopped` for the "
                    "connectors of the mirror.",
                )


def _of_other_mirrors(facts: Facts, move: Move, moves: Moves) -> Iterator[Problem]:
    """The offsets of the mirror would replace those of another mirror."""
    for other in moves.found:
        if other is not move and {*other.waiting} & {*move.waiting}:
            yield Problem(
                str(move.resource),
                "mirrors-share-flow",
                f"{move.title} and {other.title} would both become flow `{_shared(move, other)}`",
                "Both copy topics of that flow, but a flow continues where one mirror has stopped. It would copy "
                "again what the other has copied.",
                "declare a flow for each mirror, with the topics that only this mirror copies, as `replicate import "
                "--as-flows` does. If both copy the same topics, stop one of them, and move the other.",
            )
    for place in move.waiting:
        live = facts.live.get((place.resource.kind, place.resource.namespace or "", place.resource.name))
        mirror = None if live is None else (live["metadata"].get("annotations") or {}).get(ANNOTATION)
        if mirror not in (None, str(move.resource)):
            yield Problem(
                place.name,
                "waits-for-another-mirror",
                f"it waits for the offsets of {mirror}",
                f"Those of {move.resource} would replace them, and records would be copied again.",
                f"continue with `replicate adopt {facts.stack} --from {mirror.split()[-1]}`, or abandon that move "
                f"with `replicate destroy {facts.stack}`.",
            )


def _shared(move: Move, other: Move) -> str:
    return next(flow.name for flow in move.flows if flow in other.flows)


def _runs(live: Manifest) -> bool:
    return bool(live["spec"].get("state", "running") == "running")


def _task(connector: str, task: int | None) -> str:
    return f"='{connector}'" if task is None else f"-task='{connector}:{task}'"


def _annotate(move: Move) -> str:
    return f"kubectl annotate kafkamirrormaker2 {move.resource.name} -n {move.resource.namespace}"
