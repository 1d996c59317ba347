"""The connectors of a replication as a topology declares them, and the transforms of replicated records.

Frozen pydantic models, camelCase in YAML. Imports `clusters` only.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from components.clusters import Model, PositiveInt, Properties

#: Name of a part of a replication; it becomes a part of Kubernetes names.
SubName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]


class ConnectorState(StrEnum):
    """Desired state of a connector. Source: Strimzi KafkaConnector `spec.state`, KIP-875."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class AutoRestart(Model):
    """Restart of a failed connector or task by the operator; without `maxRestarts` it never gives up."""

    enabled: bool = True
    max_restarts: PositiveInt | None = None


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


class PairConnectors(Model):
    """The connectors of each half of a pair."""

    source: SourceConnector = SourceConnector()
    heartbeat: OptionalConnector = OptionalConnector()


class MirrorConnectors(Model):
    """The connectors of one mirror of a KafkaMirrorMaker2."""

    source: SourceConnector = SourceConnector()
    checkpoint: OptionalConnector = OptionalConnector()
    heartbeat: OptionalConnector = OptionalConnector()


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
