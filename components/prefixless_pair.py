"""BidirectionalPrefixlessPair: two guarded flows with identity policy, one in each direction, as one component."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from components.flow import FLOW_TYPE, Surroundings, known_output, register_objects, resolve_replication
from components.model import PrefixlessPair
from components.outputs import FlowOutputs


@dataclass(frozen=True, kw_only=True)
class BidirectionalPrefixlessPairArgs(Surroundings):
    """A pair with its surroundings.

    `targets` names the halves to deploy by the alias of their target, all without it: a stack of one region has one.
    `providers` holds the Kubernetes provider beside each target, where the halves go to two Kubernetes clusters.
    """

    pair: PrefixlessPair
    targets: frozenset[str] | None = None
    providers: Mapping[str, pulumi.ProviderResource] = field(default_factory=dict)


class BidirectionalPrefixlessPair(pulumi.ComponentResource):
    """Active/active replication of the same topics under the same names, without a loop.

    `outputs` tells of each half by its name what ReplicationFlow tells of a flow. Raises ReplicationError with every
    problem before anything is registered.
    """

    outputs: pulumi.Output[dict[str, FlowOutputs]]

    def __init__(
        self, name: str, args: BidirectionalPrefixlessPairArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        flows = resolve_replication(name, args.pair, args)
        super().__init__("replication:kafka:PrefixlessPair", name, None, opts)
        outputs: dict[str, FlowOutputs] = {}
        for resolved in flows:
            target = resolved.flow.target
            if args.targets is None or target in args.targets:
                provider = args.providers.get(target)
                half = _Half(resolved.name, pulumi.ResourceOptions(parent=self, provider=provider))
                outputs |= register_objects([resolved], args.secrets, half)
                half.register_outputs(outputs[resolved.name])
        self.outputs = known_output(outputs)
        self.register_outputs(outputs)


class _Half(pulumi.ComponentResource):
    """One direction of the pair; its objects inherit its provider."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(FLOW_TYPE, name, None, opts)
