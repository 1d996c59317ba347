"""What a deployment makes Connect run: workers, connectors, and the configuration that they read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from components.kafka.patterns import alternatives
from components.kafka.replication_policy import Policy, ReplicationPolicy
from components.render.connector_config import GUARD_FILTER
from components.render.planned_objects import Manifest


@dataclass(frozen=True)
class DeployedWorkers:
    """The workers of one KafkaConnect or KafkaMirrorMaker2.

    `group` is the Connect group, `offsets_topic` is the topic with its source offsets, and `target_address` is the
    bootstrap address of the cluster that holds them. `config` leaves out the names of the group and its topics. `pods`
    holds everything in the spec whose change restarts the pods. `names_group`: whether the group has its own fields,
    which the API `v1` requires.
    """

    kind: str
    api_version: str
    name: str
    namespace: str
    group: str
    offsets_topic: str
    target_address: str
    replicas: int
    config: Mapping[str, Any]
    pods: Mapping[str, Any]
    logging: Any = None
    names_group: bool = True


@dataclass(frozen=True)
class DeployedConnector:
    """A connector as Connect runs it.

    `role` is "source", "checkpoint" or "heartbeat"; `part` distinguishes several source connectors of a flow. `config`
    is the configuration with values in place of placeholders, `submitted` what the operator compares and sends to
    Connect.
    """

    flow: str
    role: str
    part: str
    name: str
    workers: DeployedWorkers
    state: str
    config: Mapping[str, str]
    submitted: Mapping[str, Any]

    @property
    def source_alias(self) -> str:
        return self.config.get("source.cluster.alias", "")

    @property
    def target_alias(self) -> str:
        return self.config.get("target.cluster.alias", "")

    @property
    def source_address(self) -> str:
        return self.config.get("source.cluster.bootstrap.servers", "")

    @cached_property
    def topics(self) -> tuple[str, ...]:
        return self.names("topics")

    def names(self, key: str) -> tuple[str, ...]:
        """Return the names or patterns that a property lists; `a|b` is one entry that lists two."""
        entries = (entry for entry in self.config.get(key, "").split(",") if entry)
        return tuple(dict.fromkeys(name for entry in entries for name in alternatives(entry)))

    @property
    def topics_key(self) -> str:
        """Key of the flow that selects the topics of a source connector."""
        return f"connectors.sources.{self.part}.topics" if self.part else "topics"

    @property
    def guarded(self) -> bool:
        """Whether the loop guard is among the transforms."""
        return GUARD_FILTER in self.names("transforms")

    @property
    def beside_source(self) -> bool:
        """Whether a heartbeat connector runs on its source's workers; it always writes to `target.cluster.`."""
        return self.workers.target_address == self.config.get("target.cluster.bootstrap.servers")

    @property
    def emits(self) -> bool:
        """Whether a checkpoint or heartbeat connector has a task. Source: MirrorCheckpointConnector.taskConfigs."""
        return self.is_on(f"emit.{self.role}s.enabled")

    def is_on(self, switch: str) -> bool:
        """Return whether a property that is on by default has not been switched off."""
        return self.config.get(switch, "true").lower() != "false"

    @property
    def identity_policy(self) -> bool:
        return self.config.get("replication.policy.class", "").endswith("IdentityReplicationPolicy")

    @property
    def policy(self) -> ReplicationPolicy:
        kind = Policy.IDENTITY if self.identity_policy else Policy.DEFAULT
        separator = self.config.get("replication.policy.separator", ".")
        return ReplicationPolicy(kind, separator, self.source_alias, self.target_alias)

    @property
    def start_from(self) -> str:
        """`earliest` or `latest`: where a partition without an offset in Connect starts."""
        return self.config.get("source.consumer.auto.offset.reset", "earliest")


@dataclass(frozen=True)
class DeploymentState:
    """Everything in a deployment from which the effects of a change are derived."""

    name: str
    workers: tuple[DeployedWorkers, ...] = ()
    connectors: tuple[DeployedConnector, ...] = ()
    namespaces: frozenset[str] = frozenset()
    quotas: Mapping[str, Manifest] = field(default_factory=dict)
    users: Mapping[str, Manifest] = field(default_factory=dict)
    monitoring: Mapping[tuple[str, str], Manifest] = field(default_factory=dict)
    validation: Mapping[tuple[str, str], Manifest] = field(default_factory=dict)

    @property
    def first_flow(self) -> str:
        """Name of the flow under which effects on the whole deployment are reported."""
        return next((connector.flow for connector in self.connectors), self.name)
