"""One component for each kind of replication; each raises ReplicationError with every problem before it registers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from kafka_replication.components.contract.parameters import JsonObject
from kafka_replication.components.render.deployments import FlowOutputs
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.resources.registration import (
    ReplicationArgs,
    known_output,
    register_objects,
    require_targets,
    resolve_replication,
)
from kafka_replication.components.topology.model import Flow, MirrorMaker2, PrefixlessPair, Split

FLOW_TYPE = "replication:kafka:Flow"
MIRROR_MAKER2_TYPE = "replication:kafka:MirrorMaker2"


@dataclass(frozen=True, kw_only=True)
class ReplicationFlowArgs(ReplicationArgs):
    """The arguments of a `ReplicationFlow`: the flow. Its clusters and secret values are those of `ReplicationArgs`."""

    flow: Flow | Mapping[str, Any]


class ReplicationFlow(pulumi.ComponentResource):
    """Replication from one source to one target. `outputs` are names and digest, `validation` the job's parameters."""

    outputs: pulumi.Output[FlowOutputs]

    def __init__(self, name: str, args: ReplicationFlowArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        (deployment,) = resolve_replication(name, args.flow, "flow", args)
        (self._flow,) = deployment.flows
        super().__init__(FLOW_TYPE, name, None, _with_alias(MIRROR_MAKER2_TYPE, opts))
        outputs = register_objects([deployment], args.secrets, self)[self._flow.name]
        self.outputs = known_output(outputs)
        self.register_outputs(dict(outputs))

    @property
    def validation(self) -> pulumi.Output[JsonObject]:
        """The parameters of the validation job, built only if a program reads them."""
        return known_output(flow_parameters(self._flow).document())


@dataclass(frozen=True, kw_only=True)
class BidirectionalPrefixlessPairArgs(ReplicationArgs):
    """The arguments of a `BidirectionalPrefixlessPair`. `targets` selects the halves to deploy by the alias of their
    target (all without it); a stack of one region deploys one. `providers` holds a Kubernetes provider for each target,
    if the halves go to two Kubernetes clusters.
    """

    pair: PrefixlessPair | Mapping[str, Any]
    targets: frozenset[str] | None = None
    providers: Mapping[str, pulumi.ProviderResource] = field(default_factory=dict)


class BidirectionalPrefixlessPair(pulumi.ComponentResource):
    """Active/active replication under the same names, without loops. `outputs` maps each half to its outputs."""

    outputs: pulumi.Output[dict[str, FlowOutputs]]

    def __init__(
        self, name: str, args: BidirectionalPrefixlessPairArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        halves = resolve_replication(name, args.pair, "prefixlessPair", args)
        if not args.flows:
            require_targets("pair", halves, targets=args.targets or (), providers=args.providers)
        super().__init__("replication:kafka:PrefixlessPair", name, None, opts)
        outputs: dict[str, FlowOutputs] = {}
        for deployment in halves:
            (flow,) = deployment.flows
            target = flow.settings.target
            if args.targets is None or target in args.targets:
                provider = args.providers.get(target)
                # The objects of a half inherit its provider.
                options = pulumi.ResourceOptions(parent=self, provider=provider)
                half = pulumi.ComponentResource(FLOW_TYPE, flow.name, None, options)
                outputs |= register_objects([deployment], args.secrets, half)
                half.register_outputs(outputs[flow.name])
        self.outputs = known_output(outputs)
        self.register_outputs(outputs)


@dataclass(frozen=True, kw_only=True)
class ConnectClusterSplitArgs(ReplicationArgs):
    """The arguments of a `ConnectClusterSplit`."""

    split: Split | Mapping[str, Any]


class ConnectClusterSplit(pulumi.ComponentResource):
    """One flow on several Connect clusters, each in its own namespace. `outputs` maps each part to its outputs."""

    outputs: pulumi.Output[dict[str, FlowOutputs]]

    def __init__(self, name: str, args: ConnectClusterSplitArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        parts = resolve_replication(name, args.split, "split", args)
        super().__init__("replication:kafka:Split", name, None, opts)
        outputs = register_objects(parts, args.secrets, self)
        self.outputs = known_output(outputs)
        self.register_outputs(outputs)


@dataclass(frozen=True, kw_only=True)
class KafkaMirrorMaker2Args(ReplicationArgs):
    """The arguments of a `KafkaMirrorMaker2`. `targets` selects the resources to deploy by the alias of their target
    (all without it).
    """

    mirrors: MirrorMaker2 | Mapping[str, Any]
    targets: frozenset[str] | None = None


class KafkaMirrorMaker2(pulumi.ComponentResource):
    """One KafkaMirrorMaker2 for each target, and what it cannot express. `outputs` maps each mirror to its outputs."""

    outputs: pulumi.Output[dict[str, FlowOutputs]]

    def __init__(self, name: str, args: KafkaMirrorMaker2Args, opts: pulumi.ResourceOptions | None = None) -> None:
        planned_deployments = resolve_replication(name, args.mirrors, "mirrorMaker2", args)
        if not args.flows:
            require_targets("KafkaMirrorMaker2", planned_deployments, targets=args.targets or ())
        super().__init__(MIRROR_MAKER2_TYPE, name, None, _with_alias(FLOW_TYPE, opts))
        # Mirrors that share workers have the same target.
        selected = [
            deployment
            for deployment in planned_deployments
            if args.targets is None or deployment.flows[0].settings.target in args.targets
        ]
        outputs = register_objects(selected, args.secrets, self)
        self.outputs = known_output(outputs)
        self.register_outputs(outputs)


def _with_alias(other_type: str, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """Return options that keep what a component of another type with this name owned, such as the namespace."""
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=other_type)]))
