"""The model of a topology file: every cluster and every replication of one environment.

Frozen pydantic models, camelCase in YAML. Nothing here decides whether a topology works (`checks`) or what it becomes
(`specs`); only its form is held here. Imports `clusters` only.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from components.clusters import Cluster, Model, NonNegativeInt

#: A Kafka client, worker or connector property's value as YAML gives it.
PropertyValue = str | bool | int | float
Properties = Mapping[str, PropertyValue]
#: A fragment of a Kubernetes object that is passed through as it is written.
JsonObject = Mapping[str, Any]

#: Name of a part of a replication; it becomes a part of Kubernetes names.
SubName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
PositiveInt = Annotated[int, Field(ge=1)]

KAFKA_TOPICS_EXCLUDE = (r".*[\-\.]internal", r".*\.replica", "__.*")
KAFKA_GROUPS_EXCLUDE = ("console-consumer-.*", "connect-.*", "__.*")


class Policy(StrEnum):
    """How a topic is named on the target. Source: DefaultReplicationPolicy, IdentityReplicationPolicy."""

    DEFAULT = "default"
    IDENTITY = "identity"


class ConnectorState(StrEnum):
    """Desired state of a connector. Source: Strimzi KafkaConnector `spec.state`, KIP-875."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class OffsetSyncsLocation(StrEnum):
    """Cluster that holds the offset-syncs topic. Source: KIP-716."""

    SOURCE = "source"
    TARGET = "target"


class NamespaceChoice(Model):
    """Namespace of a replication's objects; `name` is `mirror-<replication>` unless given."""

    name: str | None = None
    create: bool = True


class AutoRestart(Model):
    """Restart of a failed connector or task by the operator; without `maxRestarts` it never gives up."""

    enabled: bool = True
    max_restarts: PositiveInt | None = None


class ConnectCluster(Model):
    """The Kafka Connect cluster of a replication: it depends on the target cluster."""

    replicas: PositiveInt = 3
    version: str | None = Field(default=None, description="Kafka version; the operator's default unless given.")
    image: str | None = None
    image_pull_secret: str | None = Field(default=None, description="Secret with the registry's credentials.")
    resources: JsonObject | None = Field(default=None, description="Kubernetes resource requests and limits.")
    jvm_options: JsonObject | None = Field(default=None, description="Strimzi jvmOptions, such as -Xmx.")
    config: Properties = Field(default_factory=dict, description="Further worker properties.")


class Connector(Model):
    """One connector of a flow."""

    tasks_max: PositiveInt = 1
    state: ConnectorState = ConnectorState.RUNNING
    auto_restart: AutoRestart = AutoRestart()
    config: Properties = Field(default_factory=dict, description="Further connector properties, over the model's.")


class SourceConnector(Connector):
    """MirrorSourceConnector."""

    tasks_max: PositiveInt = 3


class OptionalConnector(Connector):
    """MirrorCheckpointConnector or MirrorHeartbeatConnector."""

    enabled: bool = True


class SourcePart(SourceConnector):
    """One of several source connectors of a flow; the topics of two never overlap."""

    topics: tuple[str, ...] = Field(description="Topic names or patterns of this connector alone.")


class Connectors(Model):
    """The connectors of a flow; `sources`, where given, divides its topics between several source connectors.

    `source` then holds what they have in common. The first of `sources` replicates heartbeats.
    """

    source: SourceConnector = SourceConnector()
    sources: Mapping[SubName, SourcePart] = Field(default_factory=dict)
    checkpoint: OptionalConnector = OptionalConnector()
    heartbeat: OptionalConnector = OptionalConnector()


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


class Predicate(Model):
    """Condition of a transform. Source: KIP-585."""

    type: str = Field(min_length=1, description="Class of the predicate.")
    config: Properties = Field(default_factory=dict)


class Transform(Model):
    """One Single Message Transform of the user, and the predicate that selects its records, if any."""

    type: str = Field(min_length=1, description="Class of the transform.")
    config: Properties = Field(default_factory=dict)
    predicate: Predicate | None = None
    negate: bool = False


class Transforms(Model):
    """The user's transforms of replicated records, by name, before and after the loop guard."""

    before: Mapping[str, Transform] = Field(default_factory=dict)
    after: Mapping[str, Transform] = Field(default_factory=dict)


class Quota(Model):
    """ResourceQuota of a namespace, and LimitRange for containers that say nothing themselves."""

    hard: Mapping[str, str | int] = Field(description="ResourceQuota `hard`, such as `limits.memory: 8Gi`, `pods: 4`.")
    default_limits: Mapping[str, str] = Field(default_factory=dict, description="LimitRange default limits.")
    default_requests: Mapping[str, str] = Field(default_factory=dict, description="LimitRange default requests.")


class Flow(Model):
    """Replication of topics and consumer groups from one source to one target, by one Connect cluster."""

    kind: Literal["flow"]
    source: str
    target: str
    topics: tuple[str, ...] = Field(
        default=(), description="Topic names or patterns; a pattern matches the whole name. Or `connectors.sources`."
    )
    topics_exclude: tuple[str, ...] = Field(default=(), description="Beside Kafka's own exclusions.")
    groups: tuple[str, ...] = Field(
        default=(), description="Consumer groups whose offsets are translated; names or patterns."
    )
    groups_exclude: tuple[str, ...] = Field(default=(), description="Beside Kafka's own exclusions.")
    policy: Policy = Policy.DEFAULT
    separator: str = Field(default=".", min_length=1)
    sync_group_offsets: bool = True
    replicate_heartbeats: bool = True
    loop_guard: bool = Field(
        default=False, description="Mark replicated records by a header, and drop those that come from the target."
    )
    transforms: Transforms = Transforms()
    offset_syncs: OffsetSyncs = OffsetSyncs()
    intervals: Intervals = Intervals()
    namespace: NamespaceChoice = NamespaceChoice()
    quota: Quota | None = None
    connect: ConnectCluster = ConnectCluster()
    connectors: Connectors = Connectors()


class PairConnectors(Model):
    """The connectors of each half of a pair."""

    source: SourceConnector = SourceConnector()
    heartbeat: OptionalConnector = OptionalConnector()


class PrefixlessPair(Model):
    """Two guarded flows with identity policy, one in each direction: active/active under the same topic names.

    Consumer offsets are not translated: a topic holds records of both sides, in another order on each.
    """

    kind: Literal["prefixlessPair"]
    between: tuple[str, str] = Field(description="Aliases of the two clusters.")
    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...] = ()
    separator: str = Field(default=".", min_length=1)
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


class Split(Model):
    """One flow's topics over several Connect clusters; the first part has the heartbeats."""

    kind: Literal["split"]
    source: str
    target: str
    parts: Mapping[SubName, SplitPart]
    topics_exclude: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    groups_exclude: tuple[str, ...] = ()
    policy: Policy = Policy.DEFAULT
    separator: str = Field(default=".", min_length=1)
    sync_group_offsets: bool = True
    offset_syncs: OffsetSyncs = OffsetSyncs()
    intervals: Intervals = Intervals()


Replication = Annotated[Flow | PrefixlessPair | Split, Field(discriminator="kind")]


class Topology(Model):
    """Every cluster and every replication of one environment."""

    strimzi: str = Field(pattern=r"^\d+\.\d+(\.\d+)?$", description="Version of the Strimzi operator, such as '1.2'.")
    clusters: Mapping[str, Cluster]
    replications: Mapping[str, Replication]
