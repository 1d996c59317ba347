"""Conditions of a custom resource's status, as Strimzi writes them. Pure."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from infra.kubernetes.api import Object


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
