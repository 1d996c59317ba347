"""KafkaMirrorMaker2: replication declared as Strimzi's resource of that name, as one component."""

from dataclasses import dataclass

import pulumi

from components.flow import (
    FLOW_TYPE,
    MIRROR_MAKER2_TYPE,
    Surroundings,
    known_output,
    once_of_type,
    register_objects,
    resolve_replication,
)
from components.model import MirrorMaker2
from components.outputs import FlowOutputs


@dataclass(frozen=True, kw_only=True)
class KafkaMirrorMaker2Args(Surroundings):
    """Mirrors with their surroundings; `targets` chooses resources by target, all without it."""

    mirrors: MirrorMaker2
    targets: frozenset[str] | None = None


class KafkaMirrorMaker2(pulumi.ComponentResource):
    """One KafkaMirrorMaker2 for each target, and what its version of Strimzi cannot say in it beside it.

    `outputs` tells of each mirror by its name what ReplicationFlow tells of a flow. Raises ReplicationError with every
    problem before anything is registered.
    """

    outputs: pulumi.Output[dict[str, FlowOutputs]]

    def __init__(self, name: str, args: KafkaMirrorMaker2Args, opts: pulumi.ResourceOptions | None = None) -> None:
        flows = resolve_replication(name, args.mirrors, args)
        super().__init__(MIRROR_MAKER2_TYPE, name, None, once_of_type(FLOW_TYPE, opts))
        chosen = [flow for flow in flows if args.targets is None or flow.flow.target in args.targets]
        outputs = register_objects(chosen, args.secrets, self)
        self.outputs = known_output(outputs)
        self.register_outputs(outputs)
