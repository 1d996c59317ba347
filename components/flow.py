"""ReplicationFlow: every Kubernetes object of one flow as a Pulumi component."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, LimitRange, Namespace, ResourceQuota, Secret
from pulumi_kubernetes.rbac.v1 import Role as RbacRole
from pulumi_kubernetes.rbac.v1 import RoleBinding

from components.checks import check_topology
from components.clusters import Cluster
from components.exactly_once import one_step_hooks
from components.model import Flow, Replication, Topology
from components.outputs import FlowOutputs, flow_outputs
from components.problems import ReplicationError, raise_errors
from components.resolved import ResolvedFlow, StrimziApi, missing_config, resolve_flows
from components.specs.deployments import deployment_objects, deployments
from components.specs.planned import PlannedObject, waits
from components.validation import Parameters, flow_parameters

T = TypeVar("T")

FLOW_TYPE = "replication:kafka:Flow"
MIRROR_MAKER2_TYPE = "replication:kafka:MirrorMaker2"


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What every replication needs beside itself: its clusters by alias, and what the model leaves to configuration.

    `secrets` holds the credentials that the clusters name as `{config: KEY}`, `addresses` the bootstrap servers.
    """

    clusters: Mapping[str, Cluster]
    strimzi: str
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)
    addresses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReplicationFlowArgs(Surroundings):
    """A flow with its surroundings."""

    flow: Flow


class ReplicationFlow(pulumi.ComponentResource):
    """Replication of topics and groups from one source to one target, with the Connect cluster that does it.

    `outputs` tells namespace, connectors, remoteTopics and digest, `validation` the validation job's parameters.
    Raises ReplicationError with every problem before anything is registered.
    """

    outputs: pulumi.Output[FlowOutputs]
    validation: pulumi.Output[Parameters]

    def __init__(self, name: str, args: ReplicationFlowArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        (resolved,) = resolve_replication(name, args.flow, args)
        super().__init__(FLOW_TYPE, name, None, once_of_type(MIRROR_MAKER2_TYPE, opts))
        outputs = register_objects([resolved], args.secrets, self)[resolved.name]
        self.outputs = known_output(outputs)
        self.validation = known_output(flow_parameters(resolved))
        self.register_outputs(dict(outputs))


def resolve_replication(name: str, replication: Replication, around: Surroundings) -> tuple[ResolvedFlow, ...]:
    """The flows of one replication, checked; raises ReplicationError with every problem."""
    topology = Topology(strimzi=around.strimzi, clusters=around.clusters, replications={name: replication})
    for warning in raise_errors(check_topology(topology)):
        pulumi.log.warn(str(warning))
    flows = resolve_flows(topology, None, around.addresses)
    planned = [item for deployment in deployments(flows) for item in deployment_objects(deployment)]
    needed = {config for item in planned for config in item.secret_values.values()}
    if missing := needed - set(around.secrets):
        raise ReplicationError(missing_config("clusters", key, secret=True) for key in missing)
    return flows


def once_of_type(other: str, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """Options of a component that may have been of another type: what both have is kept, above all the namespace."""
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=other)]))


def known_output(value: T) -> pulumi.Output[T]:
    """Output of a plain value. `Output.from_input` makes one of every value within it: of 100 flows ten thousand."""
    return pulumi.Output.from_input(None).apply(lambda _: value)


def register_objects(
    flows: Iterable[ResolvedFlow], secrets: Mapping[str, pulumi.Input[str]], parent: pulumi.Resource
) -> dict[str, FlowOutputs]:
    """Register every object of the flows below `parent`, and return what each flow tells, by its name."""
    outputs: dict[str, FlowOutputs] = {}
    for deployment in deployments(flows):
        registered: dict[str, pulumi.Resource] = {}
        objects = deployment_objects(deployment)
        earlier = waits(objects)
        for planned in objects:
            # Names are plain values, so the engine sees no reference between the objects: the order is said here.
            name = f"{deployment.name}-{planned.key}"
            hooks = one_step_hooks(name, deployment.flows[0], planned)
            after = [registered[key] for key in earlier[planned.key]]
            options = pulumi.ResourceOptions(parent=parent, depends_on=after, hooks=hooks)
            registered[planned.key] = register_object(name, planned, secrets, options)
        outputs |= {flow.name: flow_outputs(flow) for flow in deployment.flows}
    return outputs


def register_object(
    name: str, planned: PlannedObject, secrets: Mapping[str, pulumi.Input[str]], options: pulumi.ResourceOptions
) -> pulumi.Resource:
    """Register one planned object under a Pulumi name; values of Secrets come from `secrets`."""
    body = planned.manifest
    metadata = body["metadata"]
    match planned.kind:
        case "Namespace":
            return Namespace(name, metadata=metadata, opts=options)
        case "ConfigMap":
            return ConfigMap(name, metadata=metadata, immutable=body["immutable"], data=body["data"], opts=options)
        case "Secret":
            values = {key: pulumi.Output.secret(secrets[config]) for key, config in planned.secret_values.items()}
            return Secret(name, metadata=metadata, type=body["type"], string_data=values, opts=options)
        case "ResourceQuota":
            return ResourceQuota(name, metadata=metadata, spec=body["spec"], opts=options)
        case "LimitRange":
            return LimitRange(name, metadata=metadata, spec=body["spec"], opts=options)
        case "Role":
            return RbacRole(name, metadata=metadata, rules=body["rules"], opts=options)
        case "RoleBinding":
            return RoleBinding(
                name, metadata=metadata, role_ref=body["roleRef"], subjects=body["subjects"], opts=options
            )
        case _:
            return CustomResource(
                name,
                api_version=body["apiVersion"],
                kind=planned.kind,
                metadata=metadata,
                spec=body["spec"],
                opts=pulumi.ResourceOptions.merge(options, _other_versions(body["apiVersion"], planned.kind)),
            )


def _other_versions(api_version: str, kind: str) -> pulumi.ResourceOptions:
    """Aliases under the kind's other API versions.

    The API version is a part of a custom resource's type and so of its URN: without an alias a switch would delete a
    running connector and create it again.
    """
    group, version = api_version.split("/")
    others = [each for each in StrimziApi if each != version]
    return pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=f"kubernetes:{group}/{each}:{kind}") for each in others])
