"""From a declared replication to registered Pulumi resources: resolve and check it, then register its objects."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, LimitRange, Namespace, ResourceQuota, Secret
from pulumi_kubernetes.rbac.v1 import Role, RoleBinding
from pydantic.alias_generators import to_snake

from components.checks import check_topology
from components.contract.problems import Problem, ReplicationError, raise_errors
from components.flows.operators import StrimziApi
from components.flows.resolved import ResolvedFlow, missing_config, resolve_flows
from components.render.deployments import FlowOutputs, deployment_objects, deployments, flow_outputs
from components.render.planned_objects import PlannedObject, waits
from components.resources.one_step import one_step_hooks
from components.topology.clusters import Cluster
from components.topology.model import Replication, Topology

T = TypeVar("T")
#: The resources of Kubernetes' own kinds; every other kind is a custom resource.
_KUBERNETES: Mapping[str, Callable[..., pulumi.Resource]] = {
    each.__name__: each for each in (ConfigMap, LimitRange, Namespace, ResourceQuota, Role, RoleBinding, Secret)
}
#: The resources that own pods.
_RUN_WORKERS = ("KafkaConnect", "KafkaMirrorMaker2")


@dataclass(frozen=True, kw_only=True)
class ReplicationArgs:
    """What every replication needs: its clusters by alias, and the values that come from the stack's configuration.

    `secrets` maps the keys of credentials that the clusters declare as `{config: KEY}` to their values, `addresses`
    those of bootstrap servers. Replications that share `warned` log a warning once, such as one about a cluster.
    """

    clusters: Mapping[str, Cluster]
    strimzi: str
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)
    addresses: Mapping[str, str] = field(default_factory=dict)
    warned: set[Problem] = field(default_factory=set, repr=False, compare=False)


def resolve_replication(name: str, replication: Replication, args: ReplicationArgs) -> tuple[ResolvedFlow, ...]:
    """Check a replication and return its flows; raises ReplicationError with every problem."""
    topology = Topology(strimzi=args.strimzi, clusters=args.clusters, replications={name: replication})
    for warning in raise_errors(check_topology(topology)):
        if warning not in args.warned:
            args.warned.add(warning)
            pulumi.log.warn(str(warning))
    flows = resolve_flows(topology, None, args.addresses)
    planned = [item for deployment in deployments(flows) for item in deployment_objects(deployment)]
    needed = {config for item in planned for config in item.secret_values.values()}
    if missing := needed - set(args.secrets):
        raise ReplicationError(missing_config("clusters", key, secret=True) for key in missing)
    return flows


def known_output(value: T) -> pulumi.Output[T]:
    """Return an output of a plain value, without the outputs that `Output.from_input` creates for every value in it.

    For 100 flows those are ten thousand.
    """
    return pulumi.Output.from_input(None).apply(lambda _: value)


def register_objects(
    flows: Iterable[ResolvedFlow], secrets: Mapping[str, pulumi.Input[str]], parent: pulumi.Resource
) -> dict[str, FlowOutputs]:
    """Register every object of the flows under `parent`, and return each flow's outputs by its name."""
    outputs: dict[str, FlowOutputs] = {}
    for deployment in deployments(flows):
        registered: dict[str, pulumi.Resource] = {}
        objects = deployment_objects(deployment)
        earlier = waits(objects)
        for planned in objects:
            # The engine cannot see the order, since objects refer to each other by plain names, not by outputs.
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
    """Register one object under a Pulumi name; `secrets` holds the values of Secrets."""
    body = {to_snake(key): value for key, value in planned.manifest.items()}
    if planned.secret_values:
        values = {key: pulumi.Output.secret(secrets[config]) for key, config in planned.secret_values.items()}
        body["string_data"] = values
    if planned.kind in _RUN_WORKERS and planned.manifest["apiVersion"].endswith(f"/{StrimziApi.V1BETA2}"):
        body["metadata"] = _deleted_in_background(body["metadata"])
    if planned.kind not in _KUBERNETES:
        options = pulumi.ResourceOptions.merge(options, _other_versions(body["api_version"], planned.kind))
    return _KUBERNETES.get(planned.kind, CustomResource)(name, **body, opts=options)


def _deleted_in_background(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata that keeps the garbage collector from updating the object before its deletion.

    It would do so in the newest API version that is served, which refuses objects without the fields that it requires,
    and the deletion would never end. Source: pulumi-kubernetes, metadata/overrides.go.
    """
    annotations = {**metadata.get("annotations", {}), "pulumi.com/deletionPropagationPolicy": "background"}
    return {**metadata, "annotations": annotations}


def _other_versions(api_version: str, kind: str) -> pulumi.ResourceOptions:
    """Return aliases for the kind's other API versions.

    The API version is part of a custom resource's type and so of its URN: without aliases, a change of version would
    delete a running connector and create it again.
    """
    group, version = api_version.split("/")
    others = [each for each in StrimziApi if each != version]
    return pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=f"kubernetes:{group}/{each}:{kind}") for each in others])
