"""Declared replications -> registered resources, with hooks that refuse changes which take two deployments."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import pulumi

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.clusters import check_addresses
from kafka_replication.components.contract.problems import CannotRunError, Problem, ReplicationError, raise_errors
from kafka_replication.components.flows.operators import STRIMZI_GROUP, WORKER_KINDS, StrimziApi
from kafka_replication.components.flows.resolved import ResolvedFlow, config_keys, missing_config, resolve_flows
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.render.api_versions import REQUIRED, lacks_fields_of_v1, refused_switch
from kafka_replication.components.render.deployments import Deployment, FlowOutputs, deployments, flow_outputs
from kafka_replication.components.render.kafka_connect import EXACTLY_ONCE_SUPPORT
from kafka_replication.components.render.planned_objects import ObjectRole, PlannedObject, needed_keys
from kafka_replication.components.topology.clusters import Cluster
from kafka_replication.components.topology.known_keys import leaves
from kafka_replication.components.topology.model import ExactlyOnce, Replication, Topology
from kafka_replication.components.topology.parsing import parse_topology


def enables(planned: PlannedObject) -> bool:
    """Return whether an object declares workers with exactly-once enabled."""
    if planned.role not in {ObjectRole.CONNECT, ObjectRole.MIRROR_MAKER2}:
        return False
    return next(_support(planned.manifest), "").lower() == ExactlyOnce.ENABLED


def refuse_exactly_once(where: str, workers: Mapping[str, Any]) -> None:
    """Raise CannotRunError unless the deployed workers are at least `preparing`."""
    deployed = next(_support(workers["spec"]), ExactlyOnce.DISABLED.value)
    if deployed.lower() == ExactlyOnce.DISABLED:
        raise CannotRunError(
            "exactly-once-in-one-step",
            "running workers cannot change from `disabled` to `enabled` in one step",
            where,
            "During the rolling update, new workers fence out the old ones, which still write connector "
            "configurations without transactions (KIP-618).",
            "deploy `exactlyOnce: preparing`, wait until every worker runs it, then `enabled`.",
        )


def _support(resource: object) -> Iterator[str]:
    """Yield the workers' setting, wherever a custom resource keeps their configuration."""
    return (str(value) for path, value in leaves(resource, "") if path.endswith(f".config.{EXACTLY_ONCE_SUPPORT}"))


def one_step_hooks(flow: ResolvedFlow, name: str, planned: PlannedObject) -> pulumi.ResourceHookBinding | None:
    """Return the hooks of the resource `name`, if some deployed workers cannot become these in one step."""
    switches = planned.kind in REQUIRED and flow.strimzi.written_as is StrimziApi.V1
    exactly_once = flow.expanded.where("exactlyOnce") if enables(planned) else None
    if not switches and exactly_once is None:
        return None
    # Pulumi's mocks have no hooks before 3.257, and update nothing. An engine that lacks them says so.
    if not hasattr(pulumi.runtime.settings.get_monitor(), "RegisterResourceHook"):
        return None

    def refuse(args: pulumi.ResourceHookArgs) -> None:
        # The object as the cluster had it. The inputs of an imported object have no spec, and those of a failed update
        # are not in the cluster.
        deployed = args.old_outputs or {}
        if switches and lacks_fields_of_v1(deployed):
            metadata = planned.manifest["metadata"]
            raise refused_switch(f"{planned.kind} {metadata['namespace']}/{metadata['name']}")
        if exactly_once is not None:
            refuse_exactly_once(exactly_once, deployed)

    hook = pulumi.ResourceHook(f"{name}-one-step", refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceHookBinding(before_update=[hook])


T = TypeVar("T")
#: The engine loads the provider of this version.
_PROVIDER = version("pulumi_kubernetes")
#: The two fields in which a Secret holds its values when the provider reads it back.
_SECRET_OUTPUTS = ["data", "stringData"]


@dataclass(frozen=True, kw_only=True)
class ReplicationArgs:
    """What every replication needs: its clusters by alias, and the values that come from the stack's configuration.

    `secrets` maps the keys of credentials that the clusters declare as `{config: KEY}` to their values, `addresses`
    those of bootstrap servers. A cluster or a replication may also be a mapping with the keys of a topology file.
    `flows` are the flows of the replication, if the program has checked the whole topology and resolved them.
    """

    clusters: Mapping[str, Cluster | Mapping[str, Any]]
    strimzi: str
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)
    addresses: Mapping[str, str] = field(default_factory=dict)
    flows: tuple[ResolvedFlow, ...] = ()


#: Problems between replications that are in Kafka, wherever their objects are.
_IN_KAFKA = frozenset(
    {"group-offsets-mixed", "halves-disagree", "offsets-both-ways", "replication-loop", "same-cluster"}
    | {"topics-may-overlap", "topics-overlap", "two-paths"}
)


@dataclass
class _Program:
    """The topologies that the components of one run of a program declare, and the warnings that it has logged."""

    topologies: list[Topology] = field(default_factory=list)
    warned: set[Problem] = field(default_factory=set)


#: Each run of a program has a resource monitor of its own; several runs can share a process.
_PROGRAMS: WeakKeyDictionary[object, _Program] = WeakKeyDictionary()


def resolve_replication(
    name: str, replication: Replication | Mapping[str, Any], kind: str, args: ReplicationArgs
) -> tuple[Deployment, ...]:
    """Check a replication, together with those of earlier components of the program, and return its deployments.
    Raises ReplicationError with every problem.
    """
    flows = args.flows
    if not flows:
        declared = {"kind": kind, **replication} if isinstance(replication, Mapping) else replication
        topology = parse_topology(
            {"strimzi": args.strimzi, "clusters": {**args.clusters}, "replications": {name: declared}}
        )
        program = _PROGRAMS.setdefault(pulumi.runtime.settings.get_monitor(), _Program())
        problems = [
            *check_topology(topology, whole=False),
            *check_addresses(topology, args.addresses),
            *unknown_keys(topology, secrets=args.secrets, addresses=args.addresses),
        ]
        problems += _between(topology, program.topologies, problems)
        for warning in raise_errors(problems):
            if warning not in program.warned:
                program.warned.add(warning)
                pulumi.log.warn(str(warning))
        flows = resolve_flows(topology, None, args.addresses)
        program.topologies.append(topology)
    planned_deployments = deployments(flows)
    planned = [item for deployment in planned_deployments for item in deployment.objects]
    needed = {config for item in planned for config in item.secret_values.values()}
    if missing := needed - set(args.secrets):
        raise ReplicationError(missing_config("clusters", key, secret=True) for key in sorted(missing))
    return planned_deployments


def _between(topology: Topology, earlier: Iterable[Topology], own: Sequence[Problem]) -> Iterator[Problem]:
    """Yield what is wrong in Kafka between a replication and those of earlier components, and log with which of them it
    could not be compared. Their objects may be on other Kubernetes clusters, so no names there are compared.
    """
    joined = topology
    for other in earlier:
        if reason := _difference(joined, other):
            names, others = (", ".join(f"`{name}`" for name in each.replications) for each in (topology, other))
            pulumi.log.warn(f"{names} and {others} are not checked together: {reason}")
            continue
        clusters = {**other.clusters, **joined.clusters}
        replications = {**other.replications, **joined.replications}
        joined = joined.model_copy(update={"clusters": clusters, "replications": replications})
    for problem in check_topology(joined, whole=False):
        if problem.code in _IN_KAFKA and problem not in own:
            yield problem


def _difference(one: Topology, other: Topology) -> str:
    """Return why two topologies are not one; "" if they can be. Logins do not matter."""
    for alias, cluster in other.clusters.items():
        same = one.clusters.get(alias, cluster)
        if (same.bootstrap_servers, same.region) != (cluster.bootstrap_servers, cluster.region):
            return f"`{alias}` is another cluster there"
    taken = [name for name, declared in other.replications.items() if one.replications.get(name, declared) != declared]
    return f"both are called `{taken[0]}`" if taken else ""


def unknown_keys(topology: Topology, **given: Iterable[str]) -> Iterator[Problem]:
    """Yield the keys of an argument, such as `secrets`, that no cluster reads."""
    known = sorted(config_keys(topology))
    for argument, keys in given.items():
        for key in sorted({*keys} - {*known}):
            near = nearest(key, known)
            remedy = f"did you mean `{near}`?" if near else f"remove it; the keys are {', '.join(known) or 'none'}."
            what, why = f"no cluster reads `{key}`", "It would have no effect. Clusters read `{config: KEY}`."
            yield Problem(f"{argument}.{key}", "unknown-key", what, why, remedy)


def require_targets(kind: str, planned: Iterable[Deployment], **given: Iterable[str]) -> None:
    """Raise a ReplicationError for names in an argument, such as `targets`, that are no targets of the replication."""
    known = sorted({deployment.flows[0].settings.target for deployment in planned})
    raise_errors(
        Problem(
            argument,
            "unknown-alias",
            f"`{alias}` is no target of this {kind}",
            "Nothing would be registered for it, so a later run would delete what it had registered.",
            f"name one of these: {', '.join(known)}.",
        )
        for argument, aliases in given.items()
        for alias in sorted({*aliases} - {*known})
    )


def known_output(value: T) -> pulumi.Output[T]:
    """Return an output of a plain value, without the thousands that `Output.from_input` creates for all in it."""
    return pulumi.Output.from_input(None).apply(lambda _: value)


def register_objects(
    planned_deployments: Iterable[Deployment], secrets: Mapping[str, pulumi.Input[str]], parent: pulumi.Resource
) -> dict[str, FlowOutputs]:
    """Register every object of the deployments under `parent`, and return each flow's outputs by its name."""
    outputs: dict[str, FlowOutputs] = {}
    for deployment in planned_deployments:
        hooks = partial(one_step_hooks, deployment.flows[0])
        register_in_order(deployment.name, deployment.objects, secrets, parent, hooks=hooks)
        outputs |= {flow.name: flow_outputs(flow) for flow in deployment.flows}
    return outputs


def register_in_order(
    prefix: str,
    objects: Iterable[PlannedObject],
    secrets: Mapping[str, pulumi.Input[str]],
    parent: pulumi.Resource,
    after: Iterable[pulumi.Resource] = (),
    hooks: Callable[[str, PlannedObject], pulumi.ResourceHookBinding | None] = lambda _, __: None,
) -> None:
    """Register objects under `parent`, each after those that it needs and after all of `after`; `prefix` begins their
    Pulumi names. The engine cannot see the order, since objects refer to each other by plain names, not by outputs.
    """
    objects = tuple(objects)
    registered: dict[str, pulumi.Resource] = {}
    earlier = needed_keys(objects)
    for planned in objects:
        name, needed = f"{prefix}-{planned.key}", [*(registered[key] for key in earlier[planned.key]), *after]
        options = pulumi.ResourceOptions(parent=parent, depends_on=needed, hooks=hooks(name, planned))
        registered[planned.key] = _register_object(name, planned, secrets, options)


def _register_object(
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
    of_strimzi = [f"{STRIMZI_GROUP}/{api}" for api in StrimziApi]
    if api_version in of_strimzi:
        # So that a new version of the API does not replace the object.
        own.aliases = [pulumi.Alias(type_=_type(other, kind)) for other in of_strimzi if other != api_version]
    options = pulumi.ResourceOptions.merge(options, own)
    return pulumi.CustomResource(_type(api_version, kind), name, inputs, options)


def _type(api_version: str, kind: str) -> str:
    group = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group}:{kind}"


def _deleted_in_background(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata that keeps the garbage collector from updating the object before its deletion.

    It would do so in the newest API version that is served, which refuses objects without the fields that it requires,
    and the deletion would never end. Source: pulumi-kubernetes, metadata/overrides.go.
    """
    annotations = {**metadata.get("annotations", {}), "pulumi.com/deletionPropagationPolicy": "background"}
    return {**metadata, "annotations": annotations}
