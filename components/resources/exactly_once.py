"""Exactly-once on running workers: refused unless they are already `preparing`.

The model does not know what is deployed; the engine does, and calls these hooks before it updates the resource.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from components.contract.problems import CannotRunError
from components.flows.resolved import ResolvedFlow
from components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from components.render.planned_objects import ObjectRole, PlannedObject
from components.topology.model import ExactlyOnce


def one_step_hooks(name: str, flow: ResolvedFlow, planned: PlannedObject) -> pulumi.ResourceHookBinding | None:
    """Return the hooks of the resource `name` if it declares workers with exactly-once enabled, or else None."""
    if not enables(planned):
        return None
    where = flow.expanded.where("exactlyOnce")

    def refuse(args: pulumi.ResourceHookArgs) -> None:
        refuse_one_step(where, args.old_inputs or {})

    hook = pulumi.ResourceHook(f"{name}-one-step", refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_update=[hook])


def enables(planned: PlannedObject) -> bool:
    """Return whether an object declares workers with exactly-once enabled."""
    if planned.role not in {ObjectRole.CONNECT, ObjectRole.MIRROR_MAKER2}:
        return False
    return next(_support(planned.manifest), "").lower() == ExactlyOnce.ENABLED


def refuse_one_step(where: str, old_inputs: Mapping[str, Any]) -> None:
    """Raise CannotRunError unless the deployed workers are at least `preparing`."""
    deployed = next(_support(old_inputs), ExactlyOnce.DISABLED.value)
    if deployed.lower() == ExactlyOnce.DISABLED:
        raise CannotRunError(
            "exactly-once-in-one-step",
            "`enabled` follows `disabled` on running workers",
            where,
            "While they roll, new workers fence out the old ones, which write connector configurations without "
            "transactions (KIP-618).",
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
