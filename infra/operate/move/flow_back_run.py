"""Sets where a flow back starts after a failover; it can be run again at any time."""

from collections.abc import Sequence
from datetime import UTC, datetime

from infra.operate.connectors.changes import ConnectorPlace, StateRequest
from infra.operate.connectors.operator import connector_report, disown, read_live
from infra.operate.move.failover_look import OpenFlow
from infra.operate.move.flow_back_look import offsets_reader
from infra.operate.move.groups import Who
from infra.operate.offsets.change import PURPOSE, Run, config_map_reference, left_behind
from infra.operate.offsets.plan import OffsetChange
from infra.operate.partition_logs import Say


def not_stopped(scene: OpenFlow, places: Sequence[ConnectorPlace]) -> tuple[str, ...]:
    """The connectors that are not stopped. Raises CannotRunError for one that is not deployed."""
    with scene.kubernetes() as api:
        live = read_live(api, places)
    states = {place.name: connector_report(place, live[place.resource]).state for place in places}
    return tuple(name for name, state in states.items() if state != "STOPPED")


def set_beginning(scene: OpenFlow, who: Who, moves: Sequence[OffsetChange], say: Say) -> None:
    """Set the offsets of the stopped source connectors, and read them back; without moves, only remove leftovers.

    Raises CannotRunError.
    """
    reader = offsets_reader(scene)
    moved = {each.connector for each in moves}
    by, now = f"{who.name}{PURPOSE}", datetime.now(UTC)
    request = StateRequest(scene.settings.stack, scene.flow.name, "stopped", by, now)
    with scene.kubernetes() as api:
        left = left_behind(api, reader.places)
        if concerned := [place for place in reader.places if place.name in moved or place in left]:
            Run(api, reader, request, "alter", who.seconds, say).set(concerned, lambda: moves)
            return
        # A call that was killed at its very end leaves these two.
        for place in reader.places:
            api.delete(config_map_reference(place))
            disown(api, place.resource)
