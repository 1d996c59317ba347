"""Changes of running workers that take two deployments, refused in one.

The model does not know what is deployed; the engine does, and calls these hooks before it updates a resource. They also
apply to a plain `pulumi up`.
"""

import pulumi

from components.flows.operators import StrimziApi
from components.flows.resolved import ResolvedFlow
from components.render.api_versions import REQUIRED, lacks_fields_of_v1, refused_switch
from components.render.planned_objects import PlannedObject
from components.resources.exactly_once import enables, refuse_exactly_once


def one_step_hooks(name: str, flow: ResolvedFlow, planned: PlannedObject) -> pulumi.ResourceHookBinding | None:
    """Return the hooks of the resource `name`, if some deployed workers cannot change to the declared ones in one
    step.
    """
    switches = planned.kind in REQUIRED and flow.strimzi.written_as is StrimziApi.V1
    exactly_once = flow.expanded.where("exactlyOnce") if enables(planned) else None
    if not switches and exactly_once is None:
        return None

    def refuse(args: pulumi.ResourceHookArgs) -> None:
        old = args.old_inputs or {}
        if switches and lacks_fields_of_v1(old):
            metadata = planned.manifest["metadata"]
            raise refused_switch(f"{planned.kind} {metadata['namespace']}/{metadata['name']}")
        if exactly_once is not None:
            refuse_exactly_once(exactly_once, old)

    hook = pulumi.ResourceHook(f"{name}-one-step", refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_update=[hook])
