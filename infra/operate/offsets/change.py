"""Sets offsets: stops the connectors, lets the operator change their offsets, checks them, and starts them again. No
state is kept: what an earlier call left behind shows in the resources, and is cleaned up first.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from components.contract.problems import CannotRunError
from components.render.kafka_connectors import is_held_back
from infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from infra.machine.waiting import DeadlineError, NotYetError, wait_for
from infra.operate.connectors.changes import Change, Request, planned, wanted_state
from infra.operate.connectors.operator import Say, Seen, carry_out, disown, patch_live, read_live
from infra.operate.connectors.places import ConnectorPlace
from infra.operate.offsets.ended_tasks import wait_until_ended
from infra.operate.offsets.plan import Move
from infra.operate.offsets.reader import OffsetsReader
from infra.operate.offsets.requests import (
    arm,
    config_map,
    config_map_reference,
    disarm,
    interrupted,
    names_our_file,
    pending,
    refuse,
    warnings,
)

_POLL_SECONDS = 0.5

#: What to change, computed once the connectors are stopped.
Plan = Callable[[], Sequence[Move]]


@dataclass(frozen=True)
class Run:
    """One call that sets offsets; `request` brings connectors into the state `stopped`.

    `verb` is `alter` or `reset`. `seconds` is how long each step of the operator may take.
    """

    api: KubernetesApi
    reader: OffsetsReader
    request: Request
    verb: str
    seconds: float
    say: Say

    def set(self, places: Sequence[ConnectorPlace], plan: Plan) -> tuple[Sequence[Move], list[Seen]]:
        """Set the offsets of these connectors. Returns what was set, and what is reported about the connectors that run
        again. Raises CannotRunError; the connectors are then as before, unless the error says otherwise.
        """
        live = read_live(self.api, places)
        refuse(self.request, places, live)
        live = self._mended(places)
        stopping = [place for place in places if wanted_state(live[place.resource], place) != "stopped"]
        changes = planned(self.request, stopping, live)
        restored = [*stopping, *(place for place in places if interrupted(place, live[place.resource]))]
        moves: Sequence[Move] | None = None
        # If a task was removed from the connector earlier and its worker died, it never reports its end.
        running = {place.name: self.reader.present(place.name) for place in stopping}
        try:
            self._stop(places, changes)
            # A connector that waits for its first offsets selects nothing, and has no tasks.
            self._wait_ended([place for place in places if not is_held_back(live[place.resource])], running)
            moves = self._change(places, plan())
        finally:
            seen = self._restore(restored, places, wait=moves is not None)
        return moves, seen

    def _mended(self, places: Sequence[ConnectorPlace]) -> dict[Reference, Object]:
        """Withdraw what this or an interrupted call asked of the operator."""
        for place in places:
            if patch_live(self.api, place.resource, partial(disarm, place)):
                self.say(f"removed the request to the operator from {place.resource}")
        return read_live(self.api, places)

    def _stop(self, places: Sequence[ConnectorPlace], changes: Sequence[Change]) -> None:
        names = {place.name: "stopped" for place in places}
        already = [Change(place.resource, (), {place.name: "stopped"}) for place in places]
        self.say(f"stopping {', '.join(names)}")
        try:
            carry_out(self.api, [*changes, *already], places, self.seconds, self.say)
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
            left = self.reader.unended(name)
            return [task for task in left if name not in running or task in running[name]]

        try:
            wait_until_ended(unended, names, self.seconds)
        except DeadlineError as error:
            raise CannotRunError(
                "tasks-not-ended",
                error.what,
                ", ".join(names),
                "A task stores its last offsets when it ends, which could overwrite the new ones. Nothing was set.",
                "read the log of its workers. A task whose worker has died never reports its end: start the connector "
                f"with `replicate resume {self.request.stack} {self.request.flow}` if it is stopped, and once it runs, "
                "run the command again.",
            ) from error

    def _change(self, places: Sequence[ConnectorPlace], moves: Sequence[Move]) -> Sequence[Move]:
        by_connector = {name: list(found) for name, found in groupby(sorted(moves, key=_name), key=_name)}
        for place in places:
            if place.name in by_connector:
                self.say(f"changing the offsets of {place.name}")
                self._ask(place, by_connector[place.name])
        stored = self.reader.stored()
        wrong = [each for each in moves if stored.get((each.connector, each.partition)) != each.stored]
        if wrong:
            raise CannotRunError(
                "offsets-differ",
                f"Connect has other offsets for {', '.join(str(each.partition) for each in wrong)}",
                ", ".join(place.name for place in places),
                "The operator reported no failure, but the offsets are not those that it was given.",
                "run the command again; `list` prints what Connect has.",
            )
        return moves

    def _ask(self, place: ConnectorPlace, moves: Sequence[Move]) -> None:
        """Let the operator change the offsets of one connector, and wait until it has."""
        live = read_live(self.api, [place])[place.resource]
        if self.verb == "alter":
            self.api.apply(config_map(place, live, self.reader.source, moves))
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
    ) -> list[Seen]:
        """Remove what was added to the resources, and return the connectors to their earlier state."""
        try:
            live = self._mended(places)
            back = replace(self.request, state="running", take_over=True)
            ours = [place for place in stopped if interrupted(place, live[place.resource])]
            states = {place: planned(back, [place], live)[0].states for place in ours}
            for place in ours:
                patch_live(self.api, place.resource, partial(_state_patch, back, place))
            for place in places:
                self.api.delete(config_map_reference(place))
                disown(self.api, place.resource)
            if not (wait and ours):
                return []
            self.say(f"waiting for {', '.join(place.name for place in ours)} to return to its earlier state")
            waited = [Change(place.resource, (), states[place]) for place in ours]
            return carry_out(self.api, waited, ours, self.seconds, self.say)
        except ApiError as error:
            names = ", ".join(place.name for place in places)
            what = f"{names} may still be stopped, with a request to the operator: {error.message}"
            why = "Kubernetes did not accept the change that ends this."
            raise CannotRunError("left-stopped", what, "the stack's cluster", why, "run the command again.") from error


def left_behind(api: KubernetesApi, places: Sequence[ConnectorPlace]) -> list[ConnectorPlace]:
    """The connectors on which an interrupted call left something."""
    live = read_live(api, places)
    return [
        place
        for place in places
        if interrupted(place, live[place.resource]) or names_our_file(place, live[place.resource])
    ]


def _state_patch(request: Request, place: ConnectorPlace, live: Object) -> Sequence[Object]:
    return planned(request, [place], {place.resource: live})[0].patch


def _name(move: Move) -> str:
    return move.connector


def _not_acting(places: Sequence[ConnectorPlace], what: str) -> CannotRunError:
    return CannotRunError(
        "operator-not-acting",
        what,
        ", ".join(dict.fromkeys(str(place.resource) for place in places)),
        "The operator did not carry it out in time. The request was withdrawn, but check whether the operator has "
        "acted since.",
        "make sure that the operator runs, and run the command again; `list` prints the offsets that Connect has.",
    )
