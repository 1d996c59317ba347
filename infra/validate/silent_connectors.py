"""What the operator reports about connectors that cannot replicate: they have failed or have no task. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from components.kafka.connectors import Failure, failures, reported_connectors
from components.render.planned_objects import PART_OF

_REMEDY = (
    "Remedy: correct the credential that the flow logs in with, and deploy it with `replicate up --refresh`, which "
    "also restores a Secret that was edited, and restarts what reads it"
)
Object = Mapping[str, Any]


def silent_connectors(objects: Iterable[Object]) -> Iterator[str]:
    """One sentence for each failed connector or task, and for each connector that runs without a task.

    A source connector whose login is refused keeps running without a task, and the operator does not report why. If a
    connector of the same flow failed to log in, that is the likely reason.
    """
    seen = list(objects)
    refused = {_flow(live): found for live in seen for found in _failed(live) if _is_refused_login(found[1])}
    for live in seen:
        for name, failure in _failed(live):
            yield (
                _login_refused(f"{name} is deployed", failure.reason)
                if _is_refused_login(failure)
                else failure.of(name)
            )
        yield from (_without_task(name, refused.get(_flow(live))) for name in _idle(live))


def _flow(live: Object) -> str:
    metadata = live["metadata"]
    return str((metadata.get("labels") or {}).get(PART_OF, metadata["name"]))


def _failed(live: Object) -> Iterator[tuple[str, Failure]]:
    for each in reported_connectors(live):
        yield from ((each.get("name", live["metadata"]["name"]), failure) for failure in failures(each))


def _idle(live: Object) -> Iterator[str]:
    for each in reported_connectors(live):
        runs = (each.get("connector") or {}).get("state") == "RUNNING"
        if runs and not each.get("tasks") and not any(failures(each)):
            yield each.get("name", live["metadata"]["name"])


def _is_refused_login(failure: Failure) -> bool:
    return "AuthenticationException" in failure.reason


def _without_task(name: str, refused: tuple[str, Failure] | None) -> str:
    if refused is not None:
        return _login_refused(f"{name} runs", f"{refused[0]}: {refused[1].reason}")
    return (
        f"{name} runs, but nothing arrives through it, because it has no task: nothing that it selects exists, or a "
        "cluster refuses its login. Remedy: the log of its Connect workers names the reason; correct the topology or "
        "the credential, and deploy it with `replicate up`"
    )


def _login_refused(what: str, reason: str) -> str:
    return f"{what}, but nothing arrives through it: authentication failed ({reason}). {_REMEDY}"
