"""The form of a topology file, as frozen models whose descriptions editors show; `checks` decides what works."""

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from kafka_replication.components.kafka.replication_policy import Policy
from kafka_replication.components.topology.clusters import (
    Cluster,
    Model,
    NonNegativeInt,
    OwnLabels,
    PositiveInt,
    SecretName,
    entries,
    optional,
    setting,
)
from kafka_replication.components.topology.connectors import (
    Connectors,
    MirrorConnectors,
    OwnTransforms,
    PairConnectors,
    StartFrom,
    SubName,
    Transforms,
)
from kafka_replication.components.topology.editor_schema import editor_schema
from kafka_replication.components.topology.workers import ConnectCluster, NamespaceChoice, Quota

#: Keys that several kinds of replication share.
Topics = Annotated[
    tuple[str, ...], Field(description="Names or patterns of the topics to replicate; a pattern matches whole names.")
]
TopicsExclude = Annotated[
    tuple[str, ...],
    Field(description="Names or patterns of topics that are not replicated, in addition to Kafka's own exclusions."),
]
Groups = Annotated[
    tuple[str, ...], Field(description="Names or patterns of the consumer groups whose offsets are translated.")
]
GroupsExclude = Annotated[
    tuple[str, ...],
    Field(description="Names or patterns of groups that are not translated, in addition to Kafka's own exclusions."),
]
ClassName = Annotated[str | None, Field(min_length=1)]
Separator = Annotated[
    str, Field(min_length=1, description="Separates the source's alias from the topic in names that contain both.")
]
Source = Annotated[str, Field(description="Alias of the cluster that is replicated.")]
Target = Annotated[str, Field(description="Alias of the cluster that receives the records; Connect runs next to it.")]


class OffsetSyncsLocation(StrEnum):
    """Cluster that holds the offset-syncs topic. Source: KIP-716."""

    SOURCE = "source"
    TARGET = "target"


class ExactlyOnce(StrEnum):
    """Exactly-once delivery; all running workers must be `preparing` before they are `enabled`. Source: KIP-618."""

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"


class Preset(StrEnum):
    """Named client settings; `replicate explain` shows each with its reason."""

    DEFAULT = "default"
    THROUGHPUT = "throughput"
    LATENCY = "latency"


class Tuning(Model):
    """Client settings by preset, and the rate that they must reach: a warning says if they cannot."""

    preset: Preset = setting(Preset.DEFAULT, "Client settings to use for the flow.")
    round_trip_milliseconds: PositiveInt | None = optional("Round trip between source and target.")
    acknowledge_milliseconds: PositiveInt | None = optional(
        "Time until the target acknowledges a batch from the workers; default: round trip."
    )
    bytes_per_second_per_partition: PositiveInt | None = optional("Highest rate of the busiest partition.")


class OffsetSyncs(Model):
    """How offsets on the source are mapped to offsets on the target."""

    enabled: bool = setting(True, "Record which offset on the target belongs to one on the source.")
    location: OffsetSyncsLocation = setting(OffsetSyncsLocation.SOURCE, "Cluster with the offset-syncs topic.")
    lag_max: NonNegativeInt = setting(100, "Most records of a partition between two syncs; 0 is exact.")


class Intervals(Model):
    """Intervals of a flow in seconds, with Kafka's own defaults. Source: the connectors' configuration."""

    refresh_topics_seconds: PositiveInt = setting(600, "Time between searches for new topics.")
    refresh_groups_seconds: PositiveInt = setting(600, "Time between searches for new groups.")
    emit_checkpoints_seconds: PositiveInt = setting(60, "Time between checkpoints of a group.")
    sync_group_offsets_seconds: PositiveInt = setting(60, "Time between commits of translated offsets.")
    emit_heartbeats_seconds: PositiveInt = setting(1, "Time between heartbeats.")


class AcceptedFinding(Model):
    """A finding of the validation job that something could not be judged, and why that is accepted."""

    finding: str = Field(description="Code of the finding, as the job reports it.")
    reason: str = Field(description="Why it is accepted; reports, published verdicts and evidence show it.")


class Validation(Model):
    """Findings that the validation job accepts."""

    accept: tuple[AcceptedFinding, ...] = setting((), "Findings that prevent no pass, each with a reason.")


class Objectives(Model):
    """What a replication must achieve; alerts fire when it does not."""

    lag_seconds: PositiveInt | None = optional("Longest time from a record's timestamp until it must be on the target.")
    read_again: PositiveInt | None = optional(
        "Most records that a group may read again on the target; needs `monitoring.exporter`."
    )


class Delivery(Model):
    """What every kind of replication can set about its records."""

    separator: Separator = "."
    exactly_once: ExactlyOnce = setting(ExactlyOnce.DISABLED, "Write records and offsets in one transaction.")
    start_from: StartFrom = setting(StartFrom.EARLIEST, "Where to start a partition never replicated before.")
    transforms: Transforms = setting(Transforms(), "Transforms of the replicated records.")
    tuning: Tuning = setting(Tuning(), "Client settings, and the rate that they must reach.")
    intervals: Intervals = setting(Intervals(), "How often connectors look, sync and report.")
    validation: Validation = setting(Validation(), "Findings that the validation job accepts.")
    objectives: Objectives = setting(Objectives(), "Objectives that alerts check.")


class FromSourceToTarget(Delivery):
    """What kinds of replication with one direction have in common."""

    on_loss: Literal["stop"] | None = optional(
        "`stop`: if the source has deleted records before they crossed, stop replicating that partition. Without it, "
        "the flow passes over them. `replicate keep` must run."
    )
    topics_exclude: TopicsExclude = ()
    groups: Groups = ()
    groups_exclude: GroupsExclude = ()
    default_groups_exclude: bool | None = optional(
        "`false` lifts Kafka's own exclusions of groups, such as `connect-.*`, the groups of sink connectors."
    )
    policy: Policy = setting(Policy.DEFAULT, "How topics are named on the target.")
    policy_class: ClassName = optional("Replication policy of your own that names topics as `policy` does.")
    topic_filter_class: ClassName = optional("Topic filter of your own.")
    group_filter_class: ClassName = optional("Group filter of your own.")
    sync_group_offsets: bool = setting(
        True, "Commit translated offsets on the target for groups that have no active member there."
    )
    sync_topic_acls: bool = setting(
        False, "Copy topic ACLs to the target; not possible if the Strimzi User Operator manages them."
    )
    offset_syncs: OffsetSyncs = setting(OffsetSyncs(), "How source offsets are mapped to target offsets.")


class OnKubernetes(Model):
    """Where a replication runs, and with which workers."""

    namespace: NamespaceChoice = setting(NamespaceChoice(), "Kubernetes namespace of the objects.")
    quota: Quota | None = optional("ResourceQuota and LimitRange of the namespace.")
    connect: ConnectCluster = setting(ConnectCluster(), "Connect workers.")


class Flow(FromSourceToTarget, OnKubernetes):
    """Replication of topics and consumer groups from one source to one target by one Connect cluster."""

    kind: Literal["flow"] = "flow"
    source: Source
    target: Target
    topics: Topics = ()
    replicate_heartbeats: bool = setting(True, "Replicate the heartbeats of the source.")
    loop_guard: bool = setting(False, "Mark replicated records by a header, and drop those from the target.")
    connectors: Connectors = setting(Connectors(), "Connectors; `sources` divides the topics.")


class PrefixlessPair(Delivery):
    """Two guarded flows, one each way, under the same topic names; consumer offsets are not translated."""

    kind: Literal["prefixlessPair"] = "prefixlessPair"
    between: tuple[str, str] = Field(description="Aliases of the two clusters.")
    topics: Topics
    topics_exclude: TopicsExclude = ()
    offset_syncs: OffsetSyncs = setting(
        OffsetSyncs(enabled=False), "How each half maps offsets; `replicate keep` needs it."
    )
    create_namespaces: bool = setting(True, "Create the namespaces of both halves.")
    namespace_labels: OwnLabels = entries("More labels of both namespaces.")
    namespace_annotations: OwnLabels = entries("More annotations of both namespaces.")
    connect: ConnectCluster = setting(ConnectCluster(), "Connect workers of each half.")
    connectors: PairConnectors = setting(PairConnectors(), "Connectors of each half.")


class SplitPart(OnKubernetes):
    """One Connect cluster of a split, in a namespace of its own."""

    topics: Topics
    transforms: OwnTransforms = None
    connectors: Connectors = setting(Connectors(), "Connectors; `sources` divides the topics.")


class Split(FromSourceToTarget):
    """The topics of one flow over several Connect clusters; the first part has the heartbeats."""

    kind: Literal["split"] = "split"
    source: Source
    target: Target
    parts: Mapping[SubName, SplitPart] = Field(min_length=1, description="Connect clusters, by name.")


class MirrorSource(Model):
    """What a KafkaMirrorMaker2 replicates from one of several sources."""

    topics: Topics
    topics_exclude: TopicsExclude = ()
    groups: Groups = ()
    groups_exclude: GroupsExclude = ()
    transforms: OwnTransforms = None
    connectors: MirrorConnectors = setting(MirrorConnectors(), "Connectors of this source's mirror.")


class MirrorMaker2(FromSourceToTarget, OnKubernetes):
    """Replication declared as Strimzi's KafkaMirrorMaker2, one resource next to each target.

    Active/passive: `source` and `target`. Active/active: `between`. Several sources of one target: `sources`, with the
    settings of each, and `target`.
    """

    kind: Literal["mirrorMaker2"] = "mirrorMaker2"
    source: str | None = optional("Alias of the cluster that is replicated.")
    target: str | None = optional("Alias of the cluster that receives the records; Connect runs next to it.")
    between: tuple[str, str] | None = optional("Aliases of two clusters that replicate to each other.")
    sources: Mapping[str, MirrorSource] = entries("Several sources, by alias.")
    topics: Topics = ()
    connectors: MirrorConnectors = setting(MirrorConnectors(), "Connectors of each mirror.")


Replication = Annotated[Flow | PrefixlessPair | Split | MirrorMaker2, Field(discriminator="kind")]


class MonitoringSettings(Model):
    """Objects for the Prometheus operator and Grafana: scraping of the workers, alerts, and a dashboard."""

    namespace: SecretName = Field(description="Existing namespace for these objects, such as Prometheus' own.")
    labels: OwnLabels = entries("More labels of PodMonitors and PrometheusRules, by which Prometheus selects them.")
    dashboard_labels: OwnLabels = setting(
        {"grafana_dashboard": "1"}, "Labels of the dashboard's ConfigMap, by which Grafana's sidecar finds it."
    )
    runbooks: str | None = optional(
        "Address of a page with a section for each alert, to which alerts link.", pattern=r"^https?://\S+$"
    )
    exporter: bool = setting(
        False,
        "Add the alerts and panels on the series of `replicate exporter`; a stack can run it: `inCluster.exporter`.",
    )


class Topology(Model):
    """Every cluster and every replication of one environment."""

    strimzi: str = Field(
        pattern=r"^(v1|v1beta2|\d+\.\d+(\.\d+)?|0\.(49|50|51)(\.\d+)?/v1beta2)$",
        description="Version of the Strimzi operator, such as '1.2', or the API version of its resources.",
    )
    clusters: Mapping[str, Cluster] = Field(description="Kafka clusters, by alias.")
    replications: Mapping[str, Replication] = Field(description="Replications, by name.")
    monitoring: MonitoringSettings | None = optional("Scraping, alerts and a dashboard of each stack.")


def topology_schema() -> str:
    """Return the schema of topology files as text."""
    return schema_text(Topology)


@cache
def schema_text(model: type[Model]) -> str:
    """Return the schema of a model's files as text."""
    return json.dumps(editor_schema(model), indent=2, sort_keys=True) + "\n"
