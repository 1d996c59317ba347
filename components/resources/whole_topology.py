"""All components of a topology: one for each replication, and those for users, monitoring and validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

from components.contract.problems import Problem
from components.contract.spark_conf import NO_SETTINGS, SparkSettings
from components.flows.resolved import ResolvedFlow
from components.render.kafka_users import kafka_user_objects
from components.render.monitoring import monitoring_objects
from components.resources.kafka_users import KafkaUsers, KafkaUsersArgs
from components.resources.monitoring import Monitoring, MonitoringArgs
from components.resources.replications import (
    BidirectionalPrefixlessPair,
    BidirectionalPrefixlessPairArgs,
    ConnectClusterSplit,
    ConnectClusterSplitArgs,
    KafkaMirrorMaker2,
    KafkaMirrorMaker2Args,
    ReplicationFlow,
    ReplicationFlowArgs,
)
from components.resources.validation_jobs import ValidationJobs, ValidationJobsArgs
from components.topology.in_cluster import InCluster
from components.topology.model import Flow, MirrorMaker2, PrefixlessPair, Split, Topology


@dataclass(frozen=True, kw_only=True)
class WholeTopologyArgs:
    """A checked topology with its deployed flows, and the stack that alerts name in their commands.

    `region`, `secrets`, `addresses` and `warned` are as in the components. With `in_cluster`, the flows are validated
    in the cluster; `spark` are that job's settings of Spark.
    """

    topology: Topology
    flows: Sequence[ResolvedFlow]
    stack: str
    region: str | None = None
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)
    addresses: Mapping[str, str] = field(default_factory=dict)
    warned: set[Problem] = field(default_factory=set, repr=False, compare=False)
    in_cluster: InCluster | None = None
    spark: SparkSettings = NO_SETTINGS


def register_topology(args: WholeTopologyArgs, parent: pulumi.Resource | None = None) -> None:
    """Register the components of a topology, under `parent` if there is one."""
    options = pulumi.ResourceOptions(parent=parent)
    names = dict.fromkeys(flow.expanded.replication for flow in args.flows)
    replications = {name: _replication(name, args, options) for name in names}
    if kafka_user_objects(args.topology, args.region):
        users = KafkaUsersArgs(topology=args.topology, region=args.region, secrets=args.secrets)
        KafkaUsers("kafka-users", users, options)
    if monitoring_objects(args.topology, args.stack, args.region):
        watched = MonitoringArgs(topology=args.topology, stack=args.stack, region=args.region)
        Monitoring("monitoring", watched, options)
    if args.in_cluster is not None and args.flows:
        validated = ValidationJobsArgs(
            flows=args.flows, stack=args.stack, in_cluster=args.in_cluster, spark=args.spark, after=replications
        )
        ValidationJobs("validation", validated, options)


def _replication(name: str, args: WholeTopologyArgs, options: pulumi.ResourceOptions) -> pulumi.ComponentResource:
    around: dict[str, Any] = {
        "clusters": args.topology.clusters,
        "strimzi": args.topology.strimzi,
        "secrets": args.secrets,
        "addresses": args.addresses,
        "warned": args.warned,
    }
    targets = frozenset(flow.settings.target for flow in args.flows if flow.expanded.replication == name)
    match args.topology.replications[name]:
        case Flow() as flow:
            return ReplicationFlow(name, ReplicationFlowArgs(flow=flow, **around), options)
        case PrefixlessPair() as pair:
            pair_args = BidirectionalPrefixlessPairArgs(pair=pair, targets=targets, **around)
            return BidirectionalPrefixlessPair(name, pair_args, options)
        case Split() as split:
            return ConnectClusterSplit(name, ConnectClusterSplitArgs(split=split, **around), options)
        case MirrorMaker2() as mirrors:
            mirror_args = KafkaMirrorMaker2Args(mirrors=mirrors, targets=targets, **around)
            return KafkaMirrorMaker2(name, mirror_args, options)
