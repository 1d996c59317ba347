"""The model of a topology file: every cluster and every replication of one environment.

Frozen pydantic models, camelCase in YAML. Nothing here decides whether a topology works (`checks`) or what it becomes
(`specs`); only its form is held here. Imports `clusters`, `workers` and
`connectors` only.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from components.clusters import Cluster, Model, NonNegativeInt, PositiveInt
from components.connectors import Connectors, MirrorConnectors, PairConnectors, SubName, Transforms
from components.workers import ConnectCluster, NamespaceChoice, Quota

KAFKA_TOPICS_EXCLUDE = (r".*[\-\.]internal", r".*\.replica", "__.*")
KAFKA_GROUPS_EXCLUDE = ("console-consumer-.*", "connect-.*", "__.*")


class Policy(StrEnum):
    """How a topic is named on the target. Source: DefaultReplicationPolicy, IdentityReplicationPolicy."""

    DEFAULT = "default"
    IDENTITY = "identity"


class OffsetSyncsLocation(StrEnum):
    """Cluster that holds the offset-syncs topic. Source: KIP-716."""

    SOURCE = "source"
    TARGET = "target"


class ExactlyOnce(StrEnum):
    """Exactly-once delivery: an existing Connect cluster goes through `preparing` on all workers first.

    Source: KIP-618, worker property exactly.once.source.support.
    """

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"


class StartFrom(StrEnum):
    """Where replication of a partition begins of which no record has been replicated before.

    `latest` is the partition's end when a task first polls it, in every topic and partition, whenever discovered: what
    is produced between its creation and its discovery (`intervals.refreshTopicsSeconds`) is never replicated. Until the
    worker has committed a first offset of a partition (`offset.flush.interval.ms`), a restart begins at the end of that
    time; and where retention on the source overtakes replication, it goes on at the end, not at the oldest record.
    Source: MirrorSourceTask.initializeConsumer, the consumer's `auto.offset.reset`.
    """

    EARLIEST = "earliest"
    LATEST = "latest"


class Preset(StrEnum):
    """Named client settings; `replicate explain` shows each with its reason."""

    DEFAULT = "default"
    THROUGHPUT = "throughput"
    LATENCY = "latency"


class Tuning(Model):
    """Client settings of a flow by preset, and what they are held against: a warning if the rate cannot be reached."""

    preset: Preset = Preset.DEFAULT
    round_trip_milliseconds: PositiveInt | None = Field(default=None, description="Between source and target.")
    acknowledge_milliseconds: PositiveInt | None = Field(
        default=None, description="Until the target acknowledges the workers' batch; else as the round trip."
    )
    bytes_per_second_per_partition: PositiveInt | None = Field(
        default=None, description="Highest rate of the busiest partition."
    )


class OffsetSyncs(Model):
    """Whether and how often upstream offsets are mapped to downstream offsets, and where the mapping is kept."""

    enabled: bool = True
    location: OffsetSyncsLocation = OffsetSyncsLocation.SOURCE
    lag_max: NonNegativeInt = Field(
        default=100, description="Records that may pass before a new mapping; 0 translates exactly."
    )


class Intervals(Model):
    """Intervals of a flow, in seconds. Source: the connectors' configuration, Kafka's own defaults."""

    refresh_topics_seconds: PositiveInt = 600
    refresh_groups_seconds: PositiveInt = 600
    emit_checkpoints_seconds: PositiveInt = 60
    sync_group_offsets_seconds: PositiveInt = 60
    emit_heartbeats_seconds: PositiveInt = 1


class FromSourceToTarget(Model):
    """What replications of topics and groups in one direction have in common."""

    topics_exclude: tuple[str, ...] = Field(default=(), description="Beside Kafka's own exclusions.")
    groups: tuple[str, ...] = Field(
        default=(), description="Consumer groups whose offsets are translated; names or patterns."
    )
    groups_exclude: tuple[str, ...] = Field(default=(), description="Beside Kafka's own exclusions.")
    policy: Policy = Policy.DEFAULT
    separator: str = Field(default=".", min_length=1)
    sync_group_offsets: bool = True
    sync_topic_acls: bool = Field(
        default=False, description="Copy topic ACLs to the target; not where the Strimzi User Operator rules them."
    )
    exactly_once: ExactlyOnce = ExactlyOnce.DISABLED
    start_from: StartFrom = StartFrom.EARLIEST
    tuning: Tuning = Tuning()
    offset_syncs: OffsetSyncs = OffsetSyncs()
    intervals: Intervals = Intervals()


class Flow(FromSourceToTarget):
    """Replication of topics and consumer groups from one source to one target, by one Connect cluster."""

    kind: Literal["flow"]
    source: str
    target: str
    topics: tuple[str, ...] = Field(
        default=(), description="Topic names or patterns; a pattern matches the whole name. Or `connectors.sources`."
    )
    replicate_heartbeats: bool = True
    loop_guard: bool = Field(
        default=False, description="Mark replicated records by a header, and drop those that come from the target."
    )
    transforms: Transforms = Transforms()
    namespace: NamespaceChoice = NamespaceChoice()
    quota: Quota | None = None
    connect: ConnectCluster = ConnectCluster()
    connectors: Connectors = Connectors()


class PrefixlessPair(Model):
    """Two guarded flows with identity policy, one in each direction: active/active under the same topic names.

    Consumer offsets are not translated: a topic holds records of both sides, in another order on each.
    """

    kind: Literal["prefixlessPair"]
    between: tuple[str, str] = Field(description="Aliases of the two clusters.")
    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...] = ()
    separator: str = Field(default=".", min_length=1)
    exactly_once: ExactlyOnce = ExactlyOnce.DISABLED
    start_from: StartFrom = StartFrom.EARLIEST
    tuning: Tuning = Tuning()
    transforms: Transforms = Transforms()
    intervals: Intervals = Intervals()
    create_namespaces: bool = True
    connect: ConnectCluster = ConnectCluster()
    connectors: PairConnectors = PairConnectors()


class SplitPart(Model):
    """One Connect cluster of a split, in a namespace of its own."""

    topics: tuple[str, ...]
    namespace: NamespaceChoice = NamespaceChoice()
    quota: Quota | None = None
    connect: ConnectCluster = ConnectCluster()
    connectors: Connectors = Connectors()


class Split(FromSourceToTarget):
    """One flow's topics over several Connect clusters; the first part has the heartbeats."""

    kind: Literal["split"]
    source: str
    target: str
    parts: Mapping[SubName, SplitPart] = Field(min_length=1)


class MirrorSource(Model):
    """What one of several sources of a KafkaMirrorMaker2 gives to the target."""

    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...] = Field(default=(), description="Beside Kafka's own exclusions.")
    groups: tuple[str, ...] = ()
    groups_exclude: tuple[str, ...] = Field(default=(), description="Beside Kafka's own exclusions.")
    connectors: MirrorConnectors = MirrorConnectors()


class MirrorMaker2(FromSourceToTarget):
    """Replication declared as Strimzi's KafkaMirrorMaker2, one resource beside each target.

    Active/passive: `source` and `target`. Active/active: `between`. Several sources of one target: `sources` with what
    each gives, and `target`.
    """

    kind: Literal["mirrorMaker2"]
    source: str | None = None
    target: str | None = None
    between: tuple[str, str] | None = Field(default=None, description="Aliases of two clusters: active/active.")
    sources: Mapping[str, MirrorSource] = Field(default_factory=dict, description="Several sources, by alias.")
    topics: tuple[str, ...] = Field(default=(), description="Topic names or patterns; or those of each of `sources`.")
    namespace: NamespaceChoice = NamespaceChoice()
    quota: Quota | None = None
    connect: ConnectCluster = ConnectCluster()
    connectors: MirrorConnectors = MirrorConnectors()


Replication = Annotated[Flow | PrefixlessPair | Split | MirrorMaker2, Field(discriminator="kind")]


class Topology(Model):
    """Every cluster and every replication of one environment."""

    strimzi: str = Field(
        pattern=r"^(v1|v1beta2|\d+\.\d+(\.\d+)?)$",
        description="Version of the Strimzi operator, such as '1.2', or the API version that it takes.",
    )
    clusters: Mapping[str, Cluster]
    replications: Mapping[str, Replication]
