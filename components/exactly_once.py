"""Exactly-once on a Connect cluster that runs: refused unless its workers were all `preparing` before.

The model does not know what runs; the engine does, and asks here before it updates the resource.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from components.model import ExactlyOnce
from components.resolved import ResolvedFlow
from components.specs.connect import EXACTLY_ONCE_SUPPORT
from components.specs.planned import PlannedObject, Role


class OneStepError(Exception):
    """A running Connect cluster would go to exactly-once in one step."""


def one_step_hooks(name: str, resolved: ResolvedFlow, planned: PlannedObject) -> pulumi.ResourceHookBinding | None:
    """Hooks of the resource `name` if it declares workers with exactly-once enabled."""
    if not enables(planned):
        return None
    where = resolved.named.where("exactlyOnce")

    def refuse(args: pulumi.ResourceHookArgs) -> None:
        refuse_one_step(where, args.old_inputs or {})

    hook = pulumi.ResourceHook(f"{name}-one-step", refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_update=[hook])


def enables(planned: PlannedObject) -> bool:
    """Whether an object declares workers with exactly-once enabled."""
    if planned.role not in {Role.CONNECT, Role.MIRROR_MAKER2}:
        return False
    return next(_support(planned.manifest), "").lower() == ExactlyOnce.ENABLED


def refuse_one_step(where: str, old_inputs: Mapping[str, Any]) -> None:
    """Raise OneStepError unless the workers that run are at least `preparing`."""
    found = next(_support(old_inputs), ExactlyOnce.DISABLED.value)
    if found.lower() == ExactlyOnce.DISABLED:
        raise OneStepError(
            f"exactly-once-in-one-step: `enabled` follows `disabled` on workers that run, at {where}. While they roll, "
            "old workers write the connectors' configuration without transactions and are fenced out by new ones "
            "(KIP-618). Remedy: deploy `exactlyOnce: preparing`, wait until every worker runs it, then `enabled`."
        )


def _support(value: Any) -> Iterator[str]:
    """The workers' support, wherever a custom resource keeps their configuration."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == EXACTLY_ONCE_SUPPORT:
                yield str(inner)
            else:
                yield from _support(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _support(inner)
