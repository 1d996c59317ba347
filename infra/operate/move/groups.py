"""Carries out a planned or continuous failover whose preconditions are met, and can be run again at any time.

No state is kept between two runs: a new run finds what an interrupted one did. Until the first offset is committed,
everything is undone if the source moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from components.contract.problems import RefusedError
from infra.operate.connectors.changes import (
    ConnectorChange,
    ConnectorPlace,
    StateRequest,
    connector_in,
    connector_places,
    planned,
)
from infra.operate.connectors.operator import carry_out, read_live
from infra.operate.move.facts import FailoverFacts, GroupPlan, NewPosition
from infra.operate.move.failover_look import OpenFlow, read_groups
from infra.operate.move.group_moves import commit_moves
from infra.operate.partition_logs import Say

#: States in which a checkpoint connector writes nothing.
_QUIET = frozenset({"stopped", "paused"})


@dataclass(frozen=True)
class Who:
    """Who fails over, and how long the operator may take."""

    name: str
    seconds: float


def stop_checkpoints(scene: OpenFlow, who: Who, say: Say) -> tuple[ConnectorPlace, ...]:
    """Stop the flow's running checkpoint connectors, so that none moves a group back; returns those stopped now. Also
    wait for any that was already told to stop, for example by a run that was killed.
    """
    places = [place for place in connector_places(scene.flow) if place.role == "checkpoint"]
    with scene.kubernetes() as api:
        live = read_live(api, places)
        wanted = {place: connector_in(place, live[place.resource])[0] for place in places}
        running = [place for place, state in wanted.items() if state not in _QUIET]
        changes = planned(_request(scene, who, "stopped"), running, live)
        told = [
            ConnectorChange(place.resource, (), {place.name: wanted[place]}) for place in places if place not in running
        ]
        carry_out(api, [*changes, *told], places, who.seconds, say)
    return tuple(running)


def resume_checkpoints(scene: OpenFlow, who: Who, places: Sequence[ConnectorPlace], say: Say) -> None:
    """Undo `stop_checkpoints`."""
    if not places:
        return
    with scene.kubernetes() as api:
        changes = planned(_request(scene, who, "running"), places, read_live(api, places))
        carry_out(api, changes, places, who.seconds, say)


def _request(scene: OpenFlow, who: Who, state: str) -> StateRequest:
    return StateRequest(scene.settings.stack, scene.flow.name, state, who.name, datetime.now(UTC))


def expect_unchanged(scene: OpenFlow, plan: GroupPlan, looked: FailoverFacts, *, ends: bool) -> None:
    """Look one last time before the point of no return. Raises RefusedError if a group moved or, with `ends`, the
    source. A producer that ignored the stop is identified by the partition it wrote to.
    """
    source, target = scene.reader(scene.parameters.source), scene.reader(scene.parameters.target)
    if ends:
        now = source.logs(looked.ends)
        grown = [each for each, log in now.items() if log.end != looked.ends[each]]
        if grown:
            partition = min(grown)
            was, end = looked.ends[partition], now[partition].end
            told = f"it ends at {end}, and ended at {was}"
            if end < was:
                raise _changed(scene, f"{partition} lost records: {told}", "find out why")
            raise _changed(scene, f"a producer wrote to {partition}: {told}", "stop it")
    names = sorted({move.group for move in plan.moves})
    now_groups = read_groups(scene.parameters, source, target, names, frozenset(looked.ends))
    before = {group.name: group for group in looked.groups}
    positions = {(move.group, move.target): move.offset for move in plan.moves}
    for group in now_groups:
        ahead = [at for at, offset in group.on_target.items() if offset > positions.get((group.name, at), offset)]
        if ahead:
            what = f"group {group.name} is at {group.on_target[ahead[0]]} in {ahead[0]}, after its position"
            raise _changed(scene, what, "find out who moved it")
        if group.committed != before[group.name].committed or group.members_on_source or group.members_on_target:
            raise _changed(scene, f"group {group.name} runs, or has committed offsets meanwhile", "stop it")


def _changed(scene: OpenFlow, what: str, remedy: str) -> RefusedError:
    why = "The positions were computed for the earlier state. Nothing was committed."
    return RefusedError(
        "changed-meanwhile", what, f"flow {scene.flow.name}", why, f"{remedy}, and run the command again."
    )


def commit(scene: OpenFlow, moves: Sequence[NewPosition], say: Say) -> None:
    """Commit the positions on the target, one group after the other, and read them back."""
    if not moves:
        return
    target = scene.reader(scene.parameters.target)
    commit_moves(scene.writer(), target, moves, f"replicate failover {scene.flow.name}", say)
