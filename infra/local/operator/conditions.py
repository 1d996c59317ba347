"""Conditions of a custom resource's status, as Strimzi writes them, and the one place that writes a status."""

import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from infra.kubernetes.api import KubernetesApi, Object, Reference


@dataclass(frozen=True)
class Condition:
    """Type Ready, NotReady or Warning; a reason is one word in CamelCase, a message one sentence."""

    type: str
    reason: str = ""
    message: str = ""


READY = Condition("Ready")


def not_ready(reason: str, message: str) -> Condition:
    return Condition("NotReady", reason, message)


def warning(reason: str, message: str) -> Condition:
    return Condition("Warning", reason, message)


def written(conditions: Iterable[Condition], previous: Iterable[Object], now: datetime) -> list[Object]:
    """Conditions as they go into the status; one whose content has not changed keeps its time."""
    known = {_content(each): each.get("lastTransitionTime") for each in previous}
    time = timestamp(now)
    items = []
    for condition in conditions:
        item = {key: value for key, value in {**asdict(condition), "status": "True"}.items() if value}
        items.append({**item, "lastTransitionTime": known.get(_content(item)) or time})
    return items


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _content(item: Object) -> tuple[str | None, ...]:
    return tuple(item.get(key) for key in ("type", "status", "reason", "message"))


log = logging.getLogger(__name__)


def write_status(api: KubernetesApi, target: Reference, previous: Object, status: Object) -> None:
    """Replace the whole status if it has changed, and log a changed readiness. A missing resource is ignored."""
    if status == previous:
        return
    before, after = _readiness(previous), _readiness(status)
    if before != after:
        log.info("%s: %s", target, after)
    api.apply_status(target, status)


def _readiness(status: Object) -> str:
    told = [
        ": ".join(filter(None, (each["type"], each.get("message"))))
        for each in status.get("conditions") or []
        if each["type"] in {"Ready", "NotReady"}
    ]
    return "; ".join(told) or "no status"
