"""ConnectClusterSplit: one flow's topics over several Connect clusters, as one component."""

from dataclasses import dataclass

import pulumi

from components.flow import Surroundings, known_output, register_objects, resolve_replication
from components.model import Split
from components.outputs import FlowOutputs


@dataclass(frozen=True, kw_only=True)
class ConnectClusterSplitArgs(Surroundings):
    """A split with its surroundings."""

    split: Split


class ConnectClusterSplit(pulumi.ComponentResource):
    """One flow by several Connect clusters, each in a namespace of its own with its own size and quota.

    `outputs` tells of each part by its name what ReplicationFlow tells of a flow. Raises ReplicationError with every
    problem before anything is registered.
    """

    outputs: pulumi.Output[dict[str, FlowOutputs]]

    def __init__(self, name: str, args: ConnectClusterSplitArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        flows = resolve_replication(name, args.split, args)
        super().__init__("replication:kafka:Split", name, None, opts)
        outputs = register_objects(flows, args.secrets, self)
        self.outputs = known_output(outputs)
        self.register_outputs(outputs)
