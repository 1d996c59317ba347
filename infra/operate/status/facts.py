"""What was seen about one flow, as plain values. What could not be asked is a `NoAnswer`, never a guess."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.readiness import Readiness
from kafka_replication.components.contract.report import TopicIds, Verdict
from kafka_replication.components.contract.temporary_states import TemporaryState
from kafka_replication.components.kafka.connectors import ConnectorRole, Failure
from kafka_replication.components.kafka.losses import Deletion, Gap, Replaced, Stop
from kafka_replication.components.kafka.positions import TopicPartition


@dataclass(frozen=True)
class ConnectorFacts:
    """What the operator last reported of one connector.

    `wanted` is the state in the resource's spec; `state` is Connect's word, or "" if the operator reports none.
    `tasks` are the states of its tasks. `problem` says why the resource is not ready, and is "" if it is ready or
    `failures` already explain that. `temporary` is what was announced about the state.
    """

    name: str
    role: ConnectorRole
    resource: str
    wanted: str
    state: str
    tasks: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    problem: str = ""
    temporary: TemporaryState | None = None

    @property
    def running_tasks(self) -> int:
        return self.tasks.count("RUNNING")

    @property
    def runs(self) -> bool:
        """Return whether the connector runs with all its tasks."""
        return self.state == "RUNNING" and self.running_tasks == len(self.tasks)

    def settled(self, state: str) -> bool:
        """Return whether the connector is in this state, and its tasks, unless one has failed, run only if it does."""
        if state == "RUNNING":
            return self.runs or (self.state == state and bool(self.failures))
        return self.state == state and not self.running_tasks

    @property
    def text(self) -> str:
        failed = "".join(f"; {failure.reason}" for failure in self.failures)
        starting = self.state == "RUNNING" and not self.tasks
        tasks = "no task has started yet" if starting else f"{self.running_tasks} of {len(self.tasks)} tasks run"
        return f"{self.name} is {self.state or 'not reported'}, {tasks}{failed}"


@dataclass(frozen=True)
class PartitionLag:
    """An upper bound of the records above `position`, which may not be on the target, and the oldest one's time."""

    partition: TopicPartition
    records: int
    oldest_ms: int | None = None
    position: int = 0


@dataclass(frozen=True)
class Lag:
    """The lag of each partition that has one, the sum of all `ends`, and the remote topics that are missing."""

    partitions: int
    behind: tuple[PartitionLag, ...] = ()
    missing_topics: tuple[str, ...] = ()
    ends: int = 0


@dataclass(frozen=True)
class Losses:
    """When the source deletes what has not crossed, and what it has deleted already, by partition of the source; and
    what was replaced, by cluster. `stopped` and `unstarted` are partitions of connectors that stop at a gap.
    """

    deletions: Mapping[TopicPartition, Deletion] = field(default_factory=dict)
    gaps: Mapping[TopicPartition, Gap] = field(default_factory=dict)
    replaced: Mapping[str, Replaced] = field(default_factory=dict)
    stopped: Mapping[TopicPartition, Stop] = field(default_factory=dict)
    unstarted: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True)
class GroupFacts:
    """What a group would read again at most, by source partition; None where it has no position on the target."""

    name: str
    again: Mapping[TopicPartition, int | None]

    @property
    def at_most(self) -> int:
        return sum(count or 0 for count in self.again.values())

    @property
    def without_position(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted(partition for partition, count in self.again.items() if count is None))


@dataclass(frozen=True)
class VerdictFacts:
    """The newest published verdict; `current` if it judged the declared model and accepted nothing else than now.
    `topic_ids` are those of the topics that it judged.
    """

    verdict: Verdict
    at: datetime
    current: bool
    failed_checks: tuple[str, ...] = ()
    topic_ids: TopicIds = field(default_factory=dict)


@dataclass(frozen=True)
class CertificateFacts:
    """The first certificate to expire in a key of a Secret (namespace and name); `expires` is in ISO 8601."""

    secret: str
    key: str
    expires: str


@dataclass(frozen=True)
class LoginFacts:
    """Whether a cluster accepts the connectors' login (None: not known), why not or what is unknown, and its
    certificates.
    """

    cluster: str
    accepted: bool | None
    why: str = ""
    certificates: tuple[CertificateFacts, ...] = ()


@dataclass(frozen=True)
class FlowFacts:
    """What was seen of a flow at `now_ms` (this machine's clock); `heartbeat_ms` is None without a heartbeat, and
    `kept_ms`, when a keeper last looked, if none ever did or the target does not answer. `applications` were judged at
    `judged_ms`; None if nobody asked for that.
    """

    now_ms: int
    connectors: tuple[ConnectorFacts, ...] | NoAnswer
    heartbeat_ms: int | NoAnswer | None
    lag: Lag | NoAnswer
    groups: tuple[GroupFacts, ...] | NoAnswer
    verdict: VerdictFacts | NoAnswer | None
    losses: Losses | NoAnswer = Losses()
    logins: tuple[LoginFacts, ...] = ()
    kept_ms: int | None = None
    applications: Readiness | None = None
    judged_ms: int = 0
