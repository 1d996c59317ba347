"""Carries out interventions on a stack's connectors, and waits until the operator reports that they took effect."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.connectors import is_observed
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.infra.kubernetes.access import FIELD_MANAGER
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for
from kafka_replication.infra.operate.connectors.changes import (
    ConnectorChange,
    ConnectorPlace,
    ConnectorRestart,
    connector_places,
    disowned,
    runs_connector,
)
from kafka_replication.infra.operate.status.facts import ConnectorFacts
from kafka_replication.infra.operate.status.kubernetes_facts import connector_of
from kafka_replication.infra.stack.session import OpenStack

_WHY = "The command changes the state of connectors in their resources."
_PERMISSION = "let the account of the stack's Kubernetes context get and patch KafkaConnectors and KafkaMirrorMaker2s."
OFFSETS_PERMISSION = (
    "let the account of the stack's Kubernetes context get and patch KafkaConnectors and KafkaMirrorMaker2s, and patch "
    "and delete ConfigMaps."
)
_POLL_SECONDS = 0.5
_ATTEMPTS = 5

Say = Callable[[str], object]


def chosen_places(flow: ResolvedFlow, names: Sequence[str]) -> tuple[ConnectorPlace, ...]:
    """Return the connectors with these names; without names, every connector of the flow."""
    places = {place.name: place for place in connector_places(flow)}
    for name in names:
        if name not in places:
            similar = nearest(name, places)
            raise CannotRunError(
                "unknown-connector",
                f"no connector `{name}`",
                f"flow `{flow.name}`",
                f"Its connectors are: {', '.join(f'`{known}`' for known in places)}.",
                f"name `{similar}`." if similar else "name one of these.",
            )
    return tuple(places[name] for name in names or places)


def cluster_of(stack: OpenStack, permission: str = _PERMISSION) -> AbstractContextManager[KubernetesApi]:
    """Return the stack's Kubernetes cluster. Inside, an ApiError becomes a CannotRunError.

    `permission` is the remedy if the cluster refuses a call.
    """
    return stack.asking_kubernetes(_WHY, permission)


def read_live(api: KubernetesApi, places: Sequence[ConnectorPlace]) -> dict[Reference, Object]:
    """Return the resource of each connector. Raises CannotRunError if one does not exist or lacks the connector."""
    live = {resource: _existing(api, resource) for resource in dict.fromkeys(place.resource for place in places)}
    for place in places:
        if not runs_connector(live[place.resource], place):
            raise _not_deployed(f"it runs no connector {place.name}", place.resource)
    return live


def _existing(api: KubernetesApi, resource: Reference) -> Object:
    live = api.get(resource)
    if live is None:
        raise _not_deployed("there is no such object", resource)
    return live


def _not_deployed(what: str, resource: Reference) -> CannotRunError:
    why = "The stack is not deployed, or somebody deleted the object."
    return CannotRunError("not-deployed", what, str(resource), why, "deploy the stack with `replicate up`.")


def carry_out(
    api: KubernetesApi,
    changes: Sequence[ConnectorChange],
    seconds: float,
    say: Say,
    others: Mapping[ConnectorPlace, str] = MappingProxyType({}),
) -> list[ConnectorFacts]:
    """Make the changes, and return what the operator reports when every connector is in its state, also the `others`,
    which need no change. If nothing stays announced, the next deployment owns every field again.

    Raises CannotRunError at the deadline; the changes stay.
    """
    wanted = dict(others)
    for change in changes:
        _patch(api, change.resource, list(change.patch))
        disown(api, change.resource)
        wanted |= change.states
    waiting = list(wanted)

    def probe(left: float) -> list[ConnectorFacts]:
        live = read_live(api, waiting)
        reports = [connector_of(place, live[place.resource]) for place in waiting]
        missing = [
            report.text
            for place, report in zip(waiting, reports, strict=True)
            if not report.settled(wanted[place].upper()) or not is_observed(live[place.resource])
        ]
        if missing:
            say(f"{len(reports) - len(missing)} of {len(reports)} connectors are in their state, at most {left:.0f} s")
            raise NotYetError("; ".join(missing))
        return reports

    return _awaited("the connectors to be in their state", probe, seconds)


def restart(api: KubernetesApi, restarts: Sequence[ConnectorRestart], seconds: float, say: Say) -> list[ConnectorFacts]:
    """Ask for one restart after the other. Return what the operator reports once the connectors run again.

    Raises CannotRunError at the deadline.
    """
    for number, restart_ in enumerate(restarts, start=1):
        say(f"restarting {restart_.title} ({number} of {len(restarts)})")
        _ask_for(api, restart_, seconds)
    places = list(dict.fromkeys(restart_.place for restart_ in restarts))

    def probe(left: float) -> list[ConnectorFacts]:
        live = read_live(api, places)
        reports = [connector_of(place, live[place.resource]) for place in places]
        if waiting := [report.text for report in reports if not report.runs]:
            say(f"waiting for connectors and tasks to run, at most {left:.0f} s")
            raise NotYetError("; ".join(waiting))
        return reports

    return _awaited("connectors and tasks to run", probe, seconds)


def _ask_for(api: KubernetesApi, restart_: ConnectorRestart, seconds: float) -> None:
    """Ask for one restart, and return when the operator has passed it to Connect."""
    resource = restart_.place.resource
    _patch(api, resource, restart_.patch(read_live(api, [restart_.place])[resource]))

    def probe(_: float) -> None:
        if restart_.pending(read_live(api, [restart_.place])[resource]):
            raise NotYetError(f"the annotation {restart_.annotation[0]} is still there")

    _awaited(f"the operator to restart {restart_.title}", probe, seconds)


def _awaited(what: str, probe: Callable[[float], list[ConnectorFacts] | None], seconds: float) -> list[ConnectorFacts]:
    ends = time.monotonic() + seconds
    try:
        return wait_for(what, lambda: probe(max(0.0, ends - time.monotonic())), seconds, _POLL_SECONDS) or []
    except DeadlineError as error:
        raise CannotRunError(
            "not-seen-yet",
            error.what,
            "the stack's Kubernetes cluster",
            "The change is made, but the operator has not reported its effect.",
            "`replicate status` shows when it does; if it does not, read the operator's log.",
        ) from error


def disown(api: KubernetesApi, resource: Reference) -> None:
    """Give up ownership of every field, so that deployments own them, unless a state is still announced. Raises
    ApiError.
    """
    patch_live(api, resource, lambda live: disowned(live, FIELD_MANAGER))


def patch_live(api: KubernetesApi, resource: Reference, patch: Callable[[Object], Sequence[Object]]) -> bool:
    """Patch the current version of an object, because the operator may write its status at any time. Returns whether
    there was anything to change. Raises ApiError.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        operations = list(patch(_existing(api, resource)))
        if not operations:
            return False
        try:
            api.patch(resource, operations)
        except ApiError as error:
            if not error.conflict or attempt == _ATTEMPTS:
                raise
        else:
            break
    return True


def _patch(api: KubernetesApi, resource: Reference, patch: list[Object]) -> None:
    try:
        api.patch(resource, patch)
    except ApiError as error:
        if not error.conflict:
            raise
        what, why = "somebody changed it at the same time", "The resource is no longer in the state that was looked at."
        raise CannotRunError("changed-meanwhile", what, str(resource), why, "run the command again.") from error
