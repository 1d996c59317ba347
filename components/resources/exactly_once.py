"""Exactly-once on running workers: refused unless they are already `preparing`."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.contract.problems import CannotRunError
from components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from components.render.planned_objects import ObjectRole, PlannedObject
from components.topology.model import ExactlyOnce


def enables(planned: PlannedObject) -> bool:
    """Return whether an object declares workers with exactly-once enabled."""
    if planned.role not in {ObjectRole.CONNECT, ObjectRole.MIRROR_MAKER2}:
        return False
    return next(_support(planned.manifest), "").lower() == ExactlyOnce.ENABLED


def refuse_exactly_once(where: str, old_inputs: Mapping[str, Any]) -> None:
    """Raise CannotRunError unless the deployed workers are at least `preparing`."""
    deployed = next(_support(old_inputs), ExactlyOnce.DISABLED.value)
    if deployed.lower() == ExactlyOnce.DISABLED:
        raise CannotRunError(
            "exactly-once-in-one-step",
            "running workers cannot change from `disabled` to `enabled` in one step",
            where,
            "During the rolling update, new workers fence out the old ones, which still write connector "
            "configurations without transactions (KIP-618).",
            "deploy `exactlyOnce: preparing`, wait until every worker runs it, then `enabled`.",
        )


def _support(value: Any) -> Iterator[str]:
    """Yield the workers' setting, wherever a custom resource keeps their configuration."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == EXACTLY_ONCE_SUPPORT:
                yield str(inner)
            else:
                yield from _support(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _support(inner)
