"""From a declared replication to registered Pulumi resources: resolve and check it, then register its objects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar

import pulumi

from components.checks import check_topology
from components.contract.problems import Problem, ReplicationError, raise_errors
from components.flows.operators import STRIMZI_GROUP, WORKER_KINDS, StrimziApi
from components.flows.resolved import missing_config, resolve_flows
from components.render.deployments import Deployment, FlowOutputs, deployments, flow_outputs
from components.render.planned_objects import PlannedObject, waits
from components.resources.one_step import one_step_hooks
from components.topology.clusters import Cluster
from components.topology.model import Replication, Topology

T = TypeVar("T")
#: The engine loads the provider of this version.
_PROVIDER = version("pulumi_kubernetes")
#: The two fields in which a Secret holds its values when the provider reads it back.
_SECRET_OUTPUTS = ["data", "stringData"]


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


def resolve_replication(name: str, replication: Replication, args: ReplicationArgs) -> tuple[Deployment, ...]:
    """Check a replication and return its deployments; raises ReplicationError with every problem."""
    topology = Topology(strimzi=args.strimzi, clusters=args.clusters, replications={name: replication})
    for warning in raise_errors(check_topology(topology)):
        if warning not in args.warned:
            args.warned.add(warning)
            pulumi.log.warn(str(warning))
    found = deployments(resolve_flows(topology, None, args.addresses))
    planned = [item for deployment in found for item in deployment.objects]
    needed = {config for item in planned for config in item.secret_values.values()}
    if missing := needed - set(args.secrets):
        raise ReplicationError(missing_config("clusters", key, secret=True) for key in missing)
    return found


def known_output(value: T) -> pulumi.Output[T]:
    """Return an output of a plain value, without the outputs that `Output.from_input` creates for every value in it.

    For 100 flows those are ten thousand.
    """
    return pulumi.Output.from_input(None).apply(lambda _: value)


def register_objects(
    found: Iterable[Deployment], secrets: Mapping[str, pulumi.Input[str]], parent: pulumi.Resource
) -> dict[str, FlowOutputs]:
    """Register every object of the deployments under `parent`, and return each flow's outputs by its name."""
    outputs: dict[str, FlowOutputs] = {}
    for deployment in found:
        registered: dict[str, pulumi.Resource] = {}
        earlier = waits(deployment.objects)
        for planned in deployment.objects:
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
    """Register one object under a Pulumi name; `secrets` holds the values of Secrets.

    The classes of `pulumi_kubernetes` would register the same, but importing those of Kubernetes' own kinds takes half
    a second of processor time in every preview and deployment.
    """
    api_version, kind = planned.manifest["apiVersion"], planned.kind
    inputs, own = dict(planned.manifest), pulumi.ResourceOptions(version=_PROVIDER)
    if planned.secret_values:
        values = {key: secrets[config] for key, config in planned.secret_values.items()}
        inputs["stringData"] = pulumi.Output.secret(values)
    if kind == "Secret":
        own.additional_secret_outputs = _SECRET_OUTPUTS
    if kind in WORKER_KINDS and api_version.endswith(f"/{StrimziApi.V1BETA2}"):
        inputs["metadata"] = _deleted_in_background(inputs["metadata"])
    if api_version.startswith(f"{STRIMZI_GROUP}/"):
        own.aliases = _other_versions(api_version, kind)
    options = pulumi.ResourceOptions.merge(options, own)
    return pulumi.CustomResource(_type(api_version, kind), name, inputs, options)


def _type(api_version: str, kind: str) -> str:
    """Return the resource type of the Kubernetes provider."""
    group = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group}:{kind}"


def _deleted_in_background(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata that keeps the garbage collector from updating the object before its deletion.

    It would do so in the newest API version that is served, which refuses objects without the fields that it requires,
    and the deletion would never end. Source: pulumi-kubernetes, metadata/overrides.go.
    """
    annotations = {**metadata.get("annotations", {}), "pulumi.com/deletionPropagationPolicy": "background"}
    return {**metadata, "annotations": annotations}


def _other_versions(api_version: str, kind: str) -> list[pulumi.Alias]:
    """Return aliases for the kind's other API versions.

    The API version is part of a custom resource's type and so of its URN: without aliases, a change of version would
    delete a running connector and create it again.
    """
    group, own = api_version.split("/")
    return [pulumi.Alias(type_=_type(f"{group}/{each}", kind)) for each in StrimziApi if each != own]
