"""ReplicationFlow: every Kubernetes object of one flow as a Pulumi component."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret
from pulumi_kubernetes.rbac.v1 import Role as RbacRole
from pulumi_kubernetes.rbac.v1 import RoleBinding

from components.checks import check_topology
from components.model import Cluster, Flow, Topology
from components.outputs import FlowOutputs, flow_outputs
from components.problems import ReplicationError, raise_errors
from components.resolved import ResolvedFlow, missing_config, resolve_flows
from components.specs.flow import flow_objects
from components.specs.planned import PlannedObject, Role
from components.validation import Parameters, flow_parameters


@dataclass(frozen=True)
class ReplicationFlowArgs:
    """A flow, its clusters by alias, and the values that the model leaves to configuration.

    `secrets` holds the credentials that the clusters name as `{config: KEY}`, `addresses` the bootstrap servers.
    """

    flow: Flow
    clusters: Mapping[str, Cluster]
    strimzi: str
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)
    addresses: Mapping[str, str] = field(default_factory=dict)


class ReplicationFlow(pulumi.ComponentResource):
    """Replication of topics and groups from one source to one target, with the Connect cluster that does it.

    `outputs` tells namespace, connectors, remoteTopics and digest, `validation` the validation job's parameters.
    Raises ReplicationError with every problem before anything is registered.
    """

    outputs: pulumi.Output[FlowOutputs]
    validation: pulumi.Output[Parameters]

    def __init__(self, name: str, args: ReplicationFlowArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        resolved = _resolve(name, args)
        objects = flow_objects(resolved)
        _require_secrets(objects, args.secrets)
        super().__init__("replication:kafka:Flow", name, None, opts)
        registered: dict[Role, pulumi.Resource] = {}
        for planned in objects:
            # Names are plain values, so the engine sees no reference between the objects: the order is said here.
            earlier = [registered[role] for role in (Role.NAMESPACE, *planned.after) if role in registered]
            options = pulumi.ResourceOptions(parent=self, depends_on=earlier)
            registered[planned.role] = _register(f"{name}-{planned.role}", planned, args.secrets, options)
        outputs, validation = flow_outputs(resolved), flow_parameters(resolved)
        self.outputs = pulumi.Output.from_input(outputs)
        self.validation = pulumi.Output.from_input(validation)
        self.register_outputs({**outputs, "validation": validation})


def _register(
    name: str, planned: PlannedObject, secrets: Mapping[str, pulumi.Input[str]], options: pulumi.ResourceOptions
) -> pulumi.Resource:
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
                opts=options,
            )


def _resolve(name: str, args: ReplicationFlowArgs) -> ResolvedFlow:
    topology = Topology(strimzi=args.strimzi, clusters=args.clusters, replications={name: args.flow})
    for warning in raise_errors(check_topology(topology)):
        pulumi.log.warn(str(warning))
    (resolved,) = resolve_flows(topology, None, args.addresses)
    return resolved


def _require_secrets(objects: tuple[PlannedObject, ...], secrets: Mapping[str, pulumi.Input[str]]) -> None:
    missing = {config for planned in objects for config in planned.secret_values.values() if config not in secrets}
    if missing:
        raise ReplicationError(missing_config("clusters", key, secret=True) for key in missing)
