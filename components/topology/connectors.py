"""The connectors of a topology file, their transforms and converters: frozen models, camelCase in YAML."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from kafka_replication.components.kafka.plugins import full_class_name
from kafka_replication.components.topology.clusters import (
    LABEL,
    Model,
    NonNegativeInt,
    OwnLabels,
    PositiveInt,
    Properties,
    ResourceName,
    entries,
    optional,
    setting,
)

#: The full name of a class, even if the short name of one of Kafka's classes is given.
PluginClass = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(full_class_name)]


class TransformPredicate(Model):
    """Condition under which a transform is applied to a record. Source: KIP-585."""

    type: PluginClass = Field(description="Java class of the predicate.")
    config: Properties = entries("Properties of the predicate.")


class Transform(Model):
    """A Single Message Transform of the user's own."""

    type: PluginClass = Field(description="Java class of the transform.")
    config: Properties = entries("Properties of the transform.")
    predicate: TransformPredicate | None = optional("Transform only records that meet this condition.")
    negate: bool = setting(False, "Transform only records that do not meet the condition.")


class Converter(Model):
    """How Connect writes keys, values or headers after the last transform."""

    type: PluginClass = Field(description="Java class of the converter.")
    config: Properties = entries("Properties of the converter.")


class Converters(Model):
    """Converters for what transforms leave if it is not bytes."""

    key: Converter | None = optional("Writes keys; default: unchanged bytes.")
    value: Converter | None = optional("Writes values; default: unchanged bytes.")
    header: Converter | None = optional("Writes headers; default: unchanged bytes.")


class Transforms(Model):
    """The user's transforms of replicated records."""

    before: Mapping[str, Transform] = entries("Transforms before the loop guard, by name, in their order.")
    after: Mapping[str, Transform] = entries("Transforms after the loop guard, by name, in their order.")
    converters: Converters | None = optional("Converters for what the transforms leave; default: unchanged bytes.")

    @property
    def change_records(self) -> bool:
        """Whether replicated records may differ from their originals."""
        return bool(self.before or self.after) or self.converters is not None

    def in_order(self) -> Iterator[tuple[str, str, Transform]]:
        """Yield each transform with its place, `before` or `after` the loop guard, and its name."""
        for place, chain in (("before", self.before), ("after", self.after)):
            for name, transform in chain.items():
                yield place, name, transform


OwnTransforms = Annotated[
    Transforms | None, Field(description="Transforms of these records instead of those of the whole replication.")
]


#: Name of a part of a replication; it becomes a part of Kubernetes names.
SubName = Annotated[str, Field(pattern=f"^{LABEL}$")]


TasksMax = Annotated[PositiveInt, Field(description="Maximum number of tasks of the connector.")]


class ConnectorState(StrEnum):
    """Desired state of a connector. Source: Strimzi KafkaConnector `spec.state`, KIP-875."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class AutoRestart(Model):
    """Whether the operator restarts a failed connector or task. Source: Strimzi AutoRestart."""

    enabled: bool = setting(True, "Restart a connector or task that fails.")
    max_restarts: PositiveInt | None = optional("Restarts after which the operator gives up; by default it never does.")


class Connector(Model):
    """One connector of a flow."""

    name: ResourceName | None = optional(
        "Name of the connector; default: derived from the replication's. Set it only for a connector that "
        "already runs under another name."
    )
    labels: OwnLabels = entries("More labels of the KafkaConnector.")
    annotations: OwnLabels = entries("More annotations of the KafkaConnector.")
    tasks_max: TasksMax = 1
    state: ConnectorState = setting(ConnectorState.RUNNING, "Whether the connector runs.")
    auto_restart: AutoRestart = setting(AutoRestart(), "Restarts of a failed connector or task.")
    plugin_version: str | None = optional(
        "Version of the connector's plugin, or a range such as `[4.2,5)`; default: the newest.",
        alias="version",
        min_length=1,
    )
    config: Properties = entries(
        "More properties of the connector; `replicate check` refuses those that the model sets."
    )


class SourceConnector(Connector):
    """MirrorSourceConnector."""

    tasks_max: TasksMax = 3


class OptionalConnector(Connector):
    """MirrorCheckpointConnector or MirrorHeartbeatConnector."""

    enabled: bool = setting(True, "Run this connector.")

    def emits(self, switch: str) -> bool:
        """Return whether the connector runs and the property `switch` does not make it idle."""
        return self.enabled and str(self.config.get(switch, True)).lower() != "false"


class StartFrom(StrEnum):
    """Where to start a partition that has never been replicated.

    `latest` is the partition's end when a task first polls it, for every topic and partition and whenever it is
    discovered: records produced between its creation and its discovery (`intervals.refreshTopicsSeconds`) are never
    replicated. A restart before the worker commits the partition's first offset (`offset.flush.interval.ms`) starts at
    the end again. If retention on the source overtakes replication, `latest` also continues at the end, not at the
    oldest record. Source: MirrorSourceTask.initializeConsumer, the consumer's `auto.offset.reset`.
    """

    EARLIEST = "earliest"
    LATEST = "latest"


class PartOffsetSyncs(Model):
    """How often one of several source connectors writes offset syncs."""

    lag_max: NonNegativeInt = Field(description="Most records of a partition between two syncs; 0 is exact.")


class SourcePart(SourceConnector):
    """One of several source connectors, each with its own topics. Keys that are not set are as in the flow."""

    topics: tuple[str, ...] = Field(description="Names or patterns of the topics that this connector replicates.")
    topics_exclude: tuple[str, ...] | None = optional("Names or patterns of topics that this connector leaves out.")
    start_from: StartFrom | None = optional("Where this connector starts a partition that has never been replicated.")
    offset_syncs: PartOffsetSyncs | None = optional("How often this connector writes offset syncs.")
    transforms: OwnTransforms = None


Source = Annotated[SourceConnector, Field(description="Source connector, which replicates records.")]
Checkpoint = Annotated[OptionalConnector, Field(description="Checkpoint connector, which translates group offsets.")]
Heartbeat = Annotated[OptionalConnector, Field(description="Heartbeat connector, which shows that the flow works.")]


class PairConnectors(Model):
    """The connectors of each half of a pair."""

    source: Source = SourceConnector()
    heartbeat: Heartbeat = OptionalConnector()


class MirrorConnectors(PairConnectors):
    """The connectors of one mirror of a KafkaMirrorMaker2."""

    checkpoint: Checkpoint = OptionalConnector()


class Connectors(MirrorConnectors):
    """The connectors of a flow. With several `sources`, `source` is what they share; the first has the heartbeats."""

    sources: Mapping[SubName, SourcePart] = entries("Several source connectors, by name, each with topics of its own.")
