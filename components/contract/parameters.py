"""The parameter document: what the validation job checks, and how it reaches the clusters. Credentials are references,
never values. The program writes the document, the job reads it.

Every class is one object of the JSON document. May be imported by anything; of ours it imports `components.kafka` only.
"""

import operator
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from kafka_replication.components.kafka.connectors import ConnectorRole
from kafka_replication.components.kafka.cycles import Leg, LoopGuard
from kafka_replication.components.kafka.patterns import Selection, pattern_error
from kafka_replication.components.kafka.replication_policy import Policy, ReplicationPolicy, Side
from kafka_replication.components.kafka.transform_chains import DropsBy

#: A JSON object, as `json.dumps` takes it.
JsonObject: TypeAlias = dict[str, Any]
Name = Annotated[str, Field(min_length=1)]
SecurityProtocol: TypeAlias = Literal["SASL_SSL", "SSL", "PLAINTEXT", "SASL_PLAINTEXT"]


class DocumentPart(BaseModel):
    """Base of the document's parts: immutable, camelCase in JSON, unknown keys refused."""

    # A failed validation must not print its input: a hand-written document may hold a password in place of a reference.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, hide_input_in_errors=True
    )

    def document(self) -> JsonObject:
        """Return the JSON form."""
        return self.model_dump(mode="json", by_alias=True)


class SecretReference(DocumentPart):
    """A key of a Kubernetes Secret."""

    namespace: Name
    name: Name
    key: Name


class CredentialReference(DocumentPart):
    """Where a credential is stored: exactly one of the three."""

    secret: Annotated[SecretReference | None, Field(exclude_if=operator.not_)] = None
    file: Annotated[Path | None, Field(exclude_if=operator.not_)] = None
    env: Annotated[Name | None, Field(exclude_if=operator.not_)] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(kind is not None for kind in (self.secret, self.file, self.env)) != 1:
            raise ValueError("a reference needs exactly one of secret, file, env")
        return self

    def __str__(self) -> str:
        if self.secret is not None:
            return f"secret {self.secret.namespace}/{self.secret.name} key {self.secret.key}"
        return f"file {self.file}" if self.file is not None else f"environment variable {self.env}"


class Trust(DocumentPart):
    """The certificate authorities of a cluster; PKCS12 and JKS need a password.

    `workers_read_others` means that the Connect workers read other certificates than this key.
    """

    format: Literal["PEM", "JKS", "PKCS12"]
    certificates: CredentialReference
    password: CredentialReference | None = None
    workers_read_others: bool = Field(default=False, exclude_if=lambda differ: not differ)

    @model_validator(mode="after")
    def _keystore_has_a_password(self) -> Self:
        if self.format != "PEM" and self.password is None:
            raise ValueError(f"trust of format {self.format} needs a password")
        return self


class PasswordAuthentication(DocumentPart):
    """SASL with a user name and a password."""

    type: Literal["plain", "scram-sha-256", "scram-sha-512"]
    username: Name
    password: CredentialReference


class CertificateAuthentication(DocumentPart):
    """A client certificate (PEM) and its PKCS#8 key (PEM)."""

    type: Literal["tls"]
    certificate: CredentialReference
    key: CredentialReference


class UnsupportedAuthentication(DocumentPart):
    """A login that the connectors can use but the job cannot. The program writes it; the job refuses the document."""

    type: Literal["oauth", "custom"]


Authentication = Annotated[
    PasswordAuthentication | CertificateAuthentication | UnsupportedAuthentication, Field(discriminator="type")
]


class ClusterParameters(DocumentPart):
    """How the job reaches one Kafka cluster."""

    alias: Name
    bootstrap_servers: Name
    security_protocol: SecurityProtocol
    trust: Trust | None = None
    authentication: Authentication | None = None

    @model_validator(mode="after")
    def _login_fits_the_protocol(self) -> Self:
        if isinstance(self.authentication, UnsupportedAuthentication):
            return self
        sasl = isinstance(self.authentication, PasswordAuthentication)
        if sasl != self.security_protocol.startswith("SASL_"):
            given = self.authentication.type if self.authentication else "none"
            raise ValueError(f"securityProtocol {self.security_protocol} does not fit authentication {given}")
        return self


# A whole number of seconds stays one in JSON.
PositiveSeconds = Annotated[int | float, Field(gt=0)]
Shape: TypeAlias = Literal["flow", "prefixlessPair", "split", "mirrorMaker2"]
STALE_INTERVALS, STALE_FLOOR_SECONDS = 10, 10


class HeartbeatParameters(DocumentPart):
    """Heartbeats produced to the source reach the target by replication. Heartbeats produced to the target show only
    that the workers run."""

    enabled: bool
    interval_seconds: PositiveSeconds
    produced_to: Side = "source"
    source_topic: Name
    target_topic: Name

    @property
    def stale_seconds(self) -> float:
        """The age of the newest heartbeat at which heartbeats count as stopped."""
        return max(STALE_INTERVALS * self.interval_seconds, STALE_FLOOR_SECONDS)


class OffsetSyncParameters(DocumentPart):
    """The offset syncs topic and the cluster that holds it; `lag_max` in records. If disabled, there is no topic."""

    enabled: bool = True
    cluster: Side
    topic: Name
    lag_max: Annotated[int, Field(ge=0)]


class CheckpointParameters(DocumentPart):
    """The checkpoints topic, which is on the target, and how often MirrorMaker writes to it and to the groups."""

    enabled: bool
    topic: Name
    interval_seconds: PositiveSeconds
    sync_group_offsets: bool
    sync_interval_seconds: PositiveSeconds


def _compiled(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        error = pattern_error(pattern)
        if error is not None and error.refused:
            raise ValueError(f"pattern {pattern!r}: {error.reason}")
    return patterns


Patterns = Annotated[tuple[Name, ...], AfterValidator(_compiled)]


class GuardParameters(DocumentPart):
    """The loop guard of a source connector. It drops records that have the header `filter`, and appends to every other
    record a header `mark` without a value."""

    filter: Name
    mark: Name

    @model_validator(mode="after")
    def _records_pass_once(self) -> Self:
        if self.filter == self.mark:
            raise ValueError("filter and mark are the same header")
        return self


class DropsParameters(DocumentPart):
    """The records that a filter among the user's own transforms drops; see `Drops` of `components.kafka`.

    `value` is the name of a header, or a pattern of topics as they are named on the target; empty for tombstones.
    """

    by: DropsBy
    value: str = ""
    negate: bool = False


class TopicSyncParameters(DocumentPart):
    """What the source connectors copy to remote topics besides records. `configs_exclude` has patterns of the
    properties that they leave out; None if they copy no configuration, or if it is not known what they copy.
    """

    configs_exclude: Patterns | None
    acls: bool


class PartParameters(DocumentPart):
    """One of several source connectors of a flow, and the topics that only this connector replicates."""

    name: Name
    connector: Name
    topics: Annotated[Patterns, Field(min_length=1)]
    #: Its exclusions in addition to the flow's; not written while empty.
    topics_exclude: Annotated[Patterns, Field(exclude_if=operator.not_)] = ()


class AclParameters(DocumentPart):
    """What the flow's Kafka user must be allowed to do on one of its clusters, in Kafka's words."""

    cluster: Side
    principal: Name
    resource: Literal["topic", "group", "transactional_id", "cluster"]
    pattern: Literal["literal", "prefixed"]
    name: Name
    operations: Annotated[tuple[Name, ...], Field(min_length=1)]


class ConnectorParameters(DocumentPart):
    """One of the flow's connectors: its name in Connect, and the object in the flow's namespace that runs it.

    A KafkaMirrorMaker2 runs several.
    """

    role: ConnectorRole
    connector: Name
    api_version: Name
    kind: Literal["KafkaConnector", "KafkaMirrorMaker2"]
    object_name: Name


class AcceptanceParameters(DocumentPart):
    """A finding that something could not be judged, which the topology accepts, and the reason."""

    finding: Name
    reason: Name


def _name(given: JsonObject) -> str:
    return str(given.get("name", ""))


class FlowParameters(DocumentPart):
    """One source, one target, and what is replicated between them. Patterns match whole names, as MirrorMaker's do.

    - `replication` names the topology's replication that this flow is one direction or one part of.
    - `transformed` means that the user's own transforms may change or drop records.
    - `changed_headers` are the headers that these transforms insert or remove, if they do nothing else; not written
      while empty. `drops` are the records that filters among them drop, if the transforms do nothing else.
    - `exactly_once` is written only where it is true.
    - `acls`, `own_principals` and `connectors` are None if the document does not list any. `own_principals` are the
      users of the connectors, the keeper and the job on both clusters, which are no applications.
    - `connector_offsets_topic` is where the workers keep their connectors' offsets, on the target; None if the document
      does not say.
    - `start_from` is where the connectors start in a partition that they have never replicated. `starts_group` is the
      group on the source whose offsets say so if the connectors stop at a gap; not written if they skip gaps.
    - `topic_sync` is None if the document does not say what the connectors copy besides records.
    - `accepted` are findings that do not prevent a pass; not written while empty.
    """

    name: Name
    replication: Name = Field(default_factory=_name)
    shape: Shape = "flow"
    namespace: Name
    digest: Name
    policy: Policy
    start_from: Literal["earliest", "latest"] = "earliest"
    starts_group: Annotated[Name | None, Field(exclude_if=operator.not_)] = None
    separator: Name = "."
    source: ClusterParameters
    target: ClusterParameters
    topics: Annotated[Patterns, Field(min_length=1)]
    topics_exclude: Patterns = ()
    groups: Patterns = ()
    groups_exclude: Patterns = ()
    heartbeats: HeartbeatParameters
    offset_syncs: OffsetSyncParameters
    checkpoints: CheckpointParameters
    acls: tuple[AclParameters, ...] | None = None
    own_principals: tuple[Name, ...] | None = None
    guard: GuardParameters | None = None
    transformed: bool = False
    changed_headers: Annotated[tuple[Name, ...], Field(exclude_if=operator.not_)] = ()
    drops: Annotated[tuple[DropsParameters, ...], Field(exclude_if=operator.not_)] = ()
    exactly_once: Annotated[bool, Field(exclude_if=operator.not_)] = False
    parts: tuple[PartParameters, ...] = ()
    topic_sync: TopicSyncParameters | None = None
    accepted: Annotated[tuple[AcceptanceParameters, ...], Field(exclude_if=operator.not_)] = ()
    connectors: tuple[ConnectorParameters, ...] | None = None
    connector_offsets_topic: Name | None = None
    refresh_topics_seconds: PositiveSeconds
    refresh_groups_seconds: PositiveSeconds

    @model_validator(mode="after")
    def _checkpoints_have_offset_syncs(self) -> Self:
        if self.checkpoints.enabled and not self.offset_syncs.enabled:
            raise ValueError("checkpoints are enabled, but the offset syncs that they are made from are not")
        return self

    @model_validator(mode="after")
    def _part_names_are_unique(self) -> Self:
        if len({part.name for part in self.parts}) < len(self.parts):
            raise ValueError("two parts have the same name")
        return self

    @property
    def comparable(self) -> bool:
        """Whether each source record that no filter `drops` must have an equal on the target, apart from the
        `changed_headers`.
        """
        return not self.transformed or bool(self.changed_headers or self.drops)

    @property
    def may_drop(self) -> bool:
        """Whether the user's own transforms drop records, or may do so."""
        return bool(self.drops) or not self.comparable

    @property
    def patterns(self) -> tuple[str, ...]:
        """Every name and pattern of the flow, each once."""
        of_parts = (pattern for part in self.parts for pattern in (*part.topics, *part.topics_exclude))
        lists = (*self.topics, *self.topics_exclude, *self.groups, *self.groups_exclude)
        return tuple(dict.fromkeys((*lists, *of_parts)))

    @property
    def replication_policy(self) -> ReplicationPolicy:
        """How the flow names topics on the target."""
        return ReplicationPolicy(self.policy, self.separator, self.source.alias, self.target.alias)

    @property
    def topic_selection(self) -> Selection:
        """The topics that are replicated because they are selected, without heartbeats. It includes topics that only a
        part excludes; see `replicated`.
        """
        return Selection(self.topics, (*self.topics_exclude, *self.replication_policy.never_selected))

    def part_selection(self, part: PartParameters) -> Selection:
        """Return the topics that one source connector of the flow replicates."""
        flow = self.topic_selection
        return Selection(part.topics, (*flow.excluded, *part.topics_exclude))

    def replicated(self, topics: Iterable[str]) -> list[str]:
        """Return the source topics that some source connector of the flow replicates, sorted."""
        selections = [self.part_selection(part) for part in self.parts] or [self.topic_selection]
        return sorted(topic for topic in topics if any(topic in selection for selection in selections))

    @property
    def group_selection(self) -> Selection:
        """The groups whose offsets are translated."""
        return Selection(self.groups, self.groups_exclude)

    def applications(self, groups: Iterable[str]) -> list[str]:
        """Return the groups to move: the selected ones, or all but the group of the starts if none are selected."""
        if self.groups:
            return self.group_selection.of(groups)
        return [group for group in groups if group != self.starts_group]

    @property
    def leg(self) -> Leg:
        """The flow as one leg of a ring."""
        guard = LoopGuard(drops=self.guard.filter, adds=self.guard.mark) if self.guard is not None else None
        return Leg(self.name, self.replication_policy, self.topic_selection, guard)


class Parameters(DocumentPart):
    """The whole document, schema version 1. A stack without a flow in its region has no `flows`.

    `topology` is the file that is validated without a stack, and not written for one; `stack` is then only a name for
    the report.
    """

    schema_version: Literal[1]
    stack: Name
    topology: Annotated[Name | None, Field(exclude_if=operator.not_)] = None
    flows: tuple[FlowParameters, ...]
