"""All components of a topology. Each raises ReplicationError with every problem before it registers anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any

import pulumi

from kafka_replication.components.checks import check_topology
from kafka_replication.components.contract.problems import ReplicationError, raise_errors
from kafka_replication.components.contract.spark_conf import NO_SETTINGS, SparkSettings
from kafka_replication.components.flows.resolved import ResolvedFlow, missing_config
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.render.planned_objects import ObjectRole, PlannedObject
from kafka_replication.components.render.validation_jobs import RUNS_ONCE, validation_objects
from kafka_replication.components.resources.registration import known_output, register_in_order, unknown_keys
from kafka_replication.components.resources.replications import (
    BidirectionalPrefixlessPair,
    BidirectionalPrefixlessPairArgs,
    ConnectClusterSplit,
    ConnectClusterSplitArgs,
    KafkaMirrorMaker2,
    KafkaMirrorMaker2Args,
    ReplicationFlow,
    ReplicationFlowArgs,
)
from kafka_replication.components.topology.in_cluster import InCluster
from kafka_replication.components.topology.model import Flow, MirrorMaker2, PrefixlessPair, Split, Topology


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """The whole topology, and the stack that alerts name in their commands. `region` selects flows (all without it)."""

    topology: Topology
    stack: str
    region: str | None = None


class Monitoring(pulumi.ComponentResource):
    """PodMonitors, PrometheusRules and a Grafana dashboard for a stack's flows. `outputs` lists the objects' names."""

    outputs: pulumi.Output[list[str]]

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        raise_errors(check_topology(args.topology))
        super().__init__("replication:kafka:Monitoring", name, None, opts)
        objects = monitoring_objects(args.topology, args.stack, args.region)
        register_in_order(name, objects, {}, self)
        names = [planned.name for planned in objects]
        self.outputs = known_output(names)
        self.register_outputs({"objects": names})


@dataclass(frozen=True, kw_only=True)
class KafkaUsersArgs:
    """The whole topology, as every flow adds ACLs; its `region` (None: all); whether the stack runs the `keeper`;
    `secrets` by their configuration key.
    """

    topology: Topology
    region: str | None = None
    keeper: bool = False
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)


class KafkaUsers(pulumi.ComponentResource):
    """KafkaUsers with the minimal ACLs of all flows. `outputs` maps each cluster's alias to the name of its user."""

    outputs: pulumi.Output[dict[str, str]]

    def __init__(self, name: str, args: KafkaUsersArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        raise_errors((*check_topology(args.topology), *unknown_keys(args.topology, secrets=args.secrets)))
        objects = kafka_user_objects(args.topology, args.region, keeper=args.keeper)
        missing = {key for planned in objects for key in planned.secret_values.values()} - set(args.secrets)
        if missing:
            raise ReplicationError(missing_config("clusters", key, secret=True) for key in missing)
        super().__init__("replication:kafka:Users", name, None, opts)
        for _, own in groupby(objects, key=attrgetter("part")):
            register_in_order(name, own, args.secrets, self)
        users = {planned.part: planned.name for planned in objects if planned.role is ObjectRole.KAFKA_USER}
        self.outputs = known_output(users)
        self.register_outputs({"users": users})


#: The provider would wait until the Job has ended or the exporter is ready. Neither may fail a deployment.
_NO_WAITING = {"pulumi.com/skipAwait": "true"}


@dataclass(frozen=True, kw_only=True)
class WholeTopologyArgs:
    """A checked topology, its deployed flows, the stack that alerts name, how to validate `in_cluster`, and the objects
    of the stack's `exporter`.
    """

    topology: Topology
    flows: Sequence[ResolvedFlow]
    stack: str
    region: str | None = None
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)
    in_cluster: InCluster | None = None
    spark: SparkSettings = NO_SETTINGS
    exporter: Sequence[PlannedObject] = ()


class ValidationJobs(pulumi.ComponentResource):
    """A Job or SparkApplication after each deployment, and a scheduled one. They begin `after` the replications."""

    def __init__(
        self,
        name: str,
        args: WholeTopologyArgs,
        after: Mapping[str, pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("replication:kafka:ValidationJobs", name, None, opts)
        planned = validation_objects(args.flows, args.stack, args.in_cluster, args.spark)
        # A verdict from before the last change in its namespace is too old, so a Job waits for all flows there.
        beside: dict[str, dict[str, pulumi.Resource]] = {}
        for flow in args.flows:
            beside.setdefault(flow.namespace, {})[flow.expanded.replication] = after[flow.expanded.replication]
        namespaces = {flow.name: flow.namespace for flow in args.flows}
        jobs = {member.part: member.name for member in planned if member.kind in RUNS_ONCE}
        for name_of_flow, members in groupby(planned, key=attrgetter("part")):
            own = (member.annotated(_NO_WAITING) if member.kind in RUNS_ONCE else member for member in members)
            register_in_order(name, own, {}, self, after=beside[namespaces[name_of_flow]].values())
        self.register_outputs({"jobs": jobs})


class ExporterDeployment(pulumi.ComponentResource):
    """The Deployment that serves to Prometheus what `replicate exporter` sees of a stack, and what it may read."""

    def __init__(
        self,
        name: str,
        objects: Sequence[PlannedObject],
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        # The type is part of the URNs in every stack's state, so it does not follow the name of the class.
        super().__init__("replication:kafka:Exporter", name, None, opts)
        awaited = (ObjectRole.EXPORTER, ObjectRole.EXPORTER_SERVICE)
        shown = (planned.annotated(_NO_WAITING) if planned.role in awaited else planned for planned in objects)
        # Replications create the namespaces of the Roles.
        register_in_order(name, shown, {}, self, after=after)
        self.register_outputs({})


def register_topology(args: WholeTopologyArgs, parent: pulumi.Resource | None = None) -> None:
    """Register the components of a topology, under `parent` if there is one."""
    options = pulumi.ResourceOptions(parent=parent)
    names = dict.fromkeys(flow.expanded.replication for flow in args.flows)
    replications = {name: _replication(name, args, options) for name in names}
    if kafka_user_objects(args.topology, args.region):
        keeps = args.in_cluster is not None and args.in_cluster.keeps
        users = KafkaUsersArgs(topology=args.topology, region=args.region, keeper=keeps, secrets=args.secrets)
        KafkaUsers("kafka-users", users, options)
    if monitoring_objects(args.topology, args.stack, args.region):
        watched = MonitoringArgs(topology=args.topology, stack=args.stack, region=args.region)
        Monitoring("monitoring", watched, options)
    if args.in_cluster is not None and args.flows:
        ValidationJobs("validation", args, replications, options)
    if args.exporter:
        ExporterDeployment("exporter", args.exporter, [*replications.values()], options)


def _replication(name: str, args: WholeTopologyArgs, options: pulumi.ResourceOptions) -> pulumi.ComponentResource:
    around: dict[str, Any] = {
        "clusters": args.topology.clusters,
        "strimzi": args.topology.strimzi,
        "secrets": args.secrets,
        "flows": tuple(flow for flow in args.flows if flow.expanded.replication == name),
    }
    targets = frozenset(flow.settings.target for flow in around["flows"])
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
