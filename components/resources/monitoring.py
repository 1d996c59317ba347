"""Monitoring: the component for the monitoring objects of a stack's flows."""

from dataclasses import dataclass

import pulumi

from components.checks import check_topology
from components.contract.problems import raise_errors
from components.render.monitoring import monitoring_objects
from components.resources.registration import known_output, register_object
from components.topology.model import Topology


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """The whole topology, and the stack that alerts name in their commands. `region` selects flows (all without it)."""

    topology: Topology
    stack: str
    region: str | None = None


class Monitoring(pulumi.ComponentResource):
    """PodMonitors, PrometheusRules and a Grafana dashboard for the flows of a stack.

    `outputs` lists the names of the objects. Raises ReplicationError with every problem before anything is registered.
    """

    outputs: pulumi.Output[list[str]]

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        raise_errors(check_topology(args.topology))
        super().__init__("replication:kafka:Monitoring", name, None, opts)
        names: list[str] = []
        for planned in monitoring_objects(args.topology, args.stack, args.region):
            register_object(f"{name}-{planned.key}", planned, {}, pulumi.ResourceOptions(parent=self))
            names.append(planned.name)
        self.outputs = known_output(names)
        self.register_outputs({"objects": names})
