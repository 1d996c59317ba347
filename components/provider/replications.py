"""One component with thin arguments: a topology as plain mappings, which our own model reads and checks.

`package_schema.py` tells other languages the types of these mappings.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

import pulumi

from kafka_replication.components.checks import check_topology
from kafka_replication.components.checks.clusters import check_addresses
from kafka_replication.components.contract.problems import Problem, ReplicationError, raise_errors
from kafka_replication.components.flows.resolved import config_keys, model_digest, resolve_flows
from kafka_replication.components.render.deployments import flow_outputs
from kafka_replication.components.render.job_parameters import job_parameters
from kafka_replication.components.resources.registration import known_output, unknown_keys
from kafka_replication.components.resources.whole_topology import WholeTopologyArgs, register_topology
from kafka_replication.components.topology.known_keys import leaves
from kafka_replication.components.topology.model import Topology
from kafka_replication.components.topology.parsing import parse_topology

PACKAGE = "kafka-replication"


class ReplicationsArgs(TypedDict):
    """A topology, and which part of it this program deploys."""

    strimzi: str
    """Version of the Strimzi operator, such as `1.2`."""
    clusters: dict[str, Any]
    """The Kafka clusters by alias, with the keys that `clusters` has in a topology file."""
    replications: dict[str, Any]
    """The replications by name, with the keys that `replications` has in a topology file."""
    monitoring: dict[str, Any] | None
    """Monitoring of the flows, with the keys that `monitoring` has in a topology file."""
    region: str | None
    """Deploys the replications whose target is in this region; by default, all."""
    addresses: dict[str, str] | None
    """The bootstrap servers that clusters name as `{config: KEY}`, by key."""
    secrets: pulumi.Input[dict[str, pulumi.Input[str]]] | None
    """The credentials that clusters name as `{config: KEY}`, by key."""


class Replications(pulumi.ComponentResource):
    """The replications of a topology, their Kafka users and their monitoring, deployed to one Kubernetes cluster."""

    flows: pulumi.Output[dict[str, Any]]
    """For each flow, its `namespace`, `connectors`, `remoteTopics` and `digest`."""
    model_digest: pulumi.Output[str]
    """Digest of all flows of the topology: equal wherever the same is replicated in the same way."""
    validation: pulumi.Output[dict[str, Any]]
    """The parameters of the validation job."""

    def __init__(self, name: str, args: ReplicationsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        topology, region = _topology(args), args.get("region")
        addresses = args.get("addresses") or {}
        secrets = args.get("secrets") or {}
        # If all credentials are one output, only the engine knows their keys.
        keys: Mapping[str, Any] = secrets if isinstance(secrets, Mapping) else {}
        unknown = unknown_keys(topology, secrets=keys, addresses=addresses)
        for warning in raise_errors([*check_topology(topology), *check_addresses(topology, addresses), *unknown]):
            pulumi.log.warn(str(warning))
        flows = resolve_flows(topology, region, addresses)
        if not flows:
            raise ReplicationError([_nothing_deployed(topology, region)])
        super().__init__(f"{PACKAGE}:index:{type(self).__name__}", name, None, opts)
        register_topology(
            WholeTopologyArgs(
                topology=topology,
                flows=flows,
                stack=pulumi.get_stack(),
                region=region,
                secrets=_secrets(secrets, topology),
            ),
            self,
        )
        outputs = {flow.name: flow_outputs(flow) for flow in flows}
        digest, validation = model_digest(topology), job_parameters(pulumi.get_stack(), flows).document()
        self.flows, self.model_digest = known_output(outputs), known_output(digest)
        self.validation = known_output(validation)
        self.register_outputs({"flows": outputs, "modelDigest": digest, "validation": validation})


def _topology(args: ReplicationsArgs) -> Topology:
    """Return the model of the arguments. Raises ReplicationError for mistakes, and for values that are not known
    yet.
    """
    given = {key: args[key] for key in ("strimzi", "clusters", "replications", "monitoring") if key in args}
    every = (leaf for key, value in args.items() if key != "secrets" for leaf in leaves(value, key))
    if problems := [_not_plain(path) for path, value in every if isinstance(value, pulumi.Output)]:
        raise ReplicationError(problems)
    return parse_topology(_whole_numbers(given))


def _whole_numbers(value: Any) -> Any:
    """Return the value with whole numbers as integers: Pulumi passes every number as a floating-point one."""
    if isinstance(value, dict):
        return {key: _whole_numbers(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(below) for below in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _secrets(given: Any, topology: Topology) -> Mapping[str, pulumi.Input[str]]:
    """Return the value of each credential by its key. If all of them are one output, only the engine knows the keys."""
    if not isinstance(given, pulumi.Output):
        return dict(given)

    def value_of(key: str) -> pulumi.Output[str]:
        held: pulumi.Output[Mapping[str, str]] = pulumi.Output.secret(given)
        return held.apply(lambda values: _value(values, key))

    return {key: value_of(key) for key in config_keys(topology)}


def _value(values: Mapping[str, str], key: str) -> str:
    if key not in values:
        raise pulumi.RunError(f"`secrets` has no `{key}`, which a cluster names. Remedy: add `{key}` to `secrets`.")
    return values[key]


def _not_plain(path: str) -> Problem:
    return Problem(
        path,
        "not-plain",
        f"`{path}` is an output of a resource, or a secret",
        "What is replicated must be known before anything is deployed, so that it can be checked.",
        "write the value itself; a credential goes into `secrets`, and the cluster names it as `{config: KEY}`.",
    )


def _nothing_deployed(topology: Topology, region: str | None) -> Problem:
    regions = sorted({cluster.region for cluster in topology.clusters.values()})
    return Problem(
        "region",
        "nothing-deployed",
        f"no replication has its target in {f'the region `{region}`' if region is not None else 'any region'}",
        f"Nothing would be deployed. The regions of the clusters are: {', '.join(regions) or 'none'}.",
        "set `region` to the region of a target, or leave it out to deploy all replications.",
    )
