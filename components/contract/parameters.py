"""The parameter document: what the validation job checks on which clusters. The program writes it, the job reads it.

Every class is one object of the JSON document. Credentials are references; the document never holds a value.
May be imported by anything; of ours it imports `components.kafka` only.
"""

import operator
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from components.kafka.replication_policy import Policy, ReplicationPolicy, Side
from components.kafka.rings import Leg, LoopGuard
from components.kafka.selection import Selection

#: A JSON object, as `json.dumps` takes it.
JsonObject: TypeAlias = dict[str, Any]
# A whole number of seconds stays one in JSON.
PositiveSeconds = Annotated[int | float, Field(gt=0)]
Name = Annotated[str, Field(min_length=1)]
Shape: TypeAlias = Literal["flow", "prefixlessPair", "split", "mirrorMaker2"]
SecurityProtocol: TypeAlias = Literal["SASL_SSL", "SSL", "PLAINTEXT", "SASL_PLAINTEXT"]


class Model(BaseModel):
    """Base of the document's parts: immutable, camelCase in JSON, unknown keys refused."""

    # A failed validation must not print its input: a hand-written document may hold a password where a reference
    # belongs.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, hide_input_in_errors=True
    )

    def document(self) -> JsonObject:
        """The JSON form."""
        return self.model_dump(mode="json", by_alias=True)


class SecretReference(Model):
    """A key of a Kubernetes Secret."""

    namespace: Name
    name: Name
    key: Name


class Reference(Model):
    """Where a credential is kept; exactly one of the three."""

    secret: SecretReference | None = None
    file: Path | None = None
    env: Name | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(kind is not None for kind in (self.secret, self.file, self.env)) != 1:
            raise ValueError("a reference needs exactly one of secret, file, env")
        return self

    @model_serializer(mode="wrap")
    def _only_the_kind_in_use(self, serialize: SerializerFunctionWrapHandler) -> JsonObject:
        return {key: value for key, value in serialize(self).items() if value is not None}

    def __str__(self) -> str:
        if self.secret is not None:
            return f"secret {self.secret.namespace}/{self.secret.name} key {self.secret.key}"
        return f"file {self.file}" if self.file is not None else f"environment variable {self.env}"


class Trust(Model):
    """The certificate authorities of a cluster; PKCS12 and JKS need a password.

    `workers_read_others` says that the Connect workers do not read this key.
    """

    format: Literal["PEM", "JKS", "PKCS12"]
    certificates: Reference
    password: Reference | None = None
    workers_read_others: bool = Field(default=False, exclude_if=lambda differ: not differ)

    @model_validator(mode="after")
    def _keystore_has_a_password(self) -> Self:
        if self.format != "PEM" and self.password is None:
            raise ValueError(f"trust of format {self.format} needs a password")
        return self


class PasswordAuthentication(Model):
    """SASL with a user name and a password."""

    type: Literal["plain", "scram-sha-256", "scram-sha-512"]
    username: Name
    password: Reference


class CertificateAuthentication(Model):
    """A client certificate (PEM) and its PKCS#8 key (PEM)."""

    type: Literal["tls"]
    certificate: Reference
    key: Reference


class UnsupportedAuthentication(Model):
    """A login that the connectors can use and the job cannot. The program writes it; the job refuses the document."""

    type: Literal["oauth", "custom"]


Authentication = Annotated[
    PasswordAuthentication | CertificateAuthentication | UnsupportedAuthentication, Field(discriminator="type")
]


class ClusterParameters(Model):
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


class HeartbeatParameters(Model):
    """Heartbeats produced to the source reach the target by replication. Heartbeats produced to the target show only
    that the workers run."""

    enabled: bool
    interval_seconds: PositiveSeconds
    produced_to: Side = "source"
    source_topic: Name
    target_topic: Name


class OffsetSyncParameters(Model):
    """The offset syncs topic and the cluster that holds it; `lag_max` in records. If disabled, there is no topic."""

    enabled: bool = True
    cluster: Side
    topic: Name
    lag_max: Annotated[int, Field(ge=0)]


class CheckpointParameters(Model):
    """The checkpoints topic, which is on the target, and how often MirrorMaker writes to it and to the groups."""

    enabled: bool
    topic: Name
    interval_seconds: PositiveSeconds
    sync_group_offsets: bool
    sync_interval_seconds: PositiveSeconds


def _compiled(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"pattern {pattern!r} does not compile: {error}") from error
    return patterns


Patterns = Annotated[tuple[Name, ...], AfterValidator(_compiled)]


class GuardParameters(Model):
    """The loop guard of a source connector. It drops records that have the header `filter`, and appends to every other
    record a header `mark` without a value."""

    filter: Name
    mark: Name

    @model_validator(mode="after")
    def _records_pass_once(self) -> Self:
        if self.filter == self.mark:
            raise ValueError("filter and mark are the same header")
        return self


class PartParameters(Model):
    """One of several source connectors of a flow, and the topics that only this connector replicates."""

    name: Name
    connector: Name
    topics: Annotated[Patterns, Field(min_length=1)]
    #: What it leaves out beside the flow's exclusions; not written while it is empty.
    topics_exclude: Annotated[Patterns, Field(exclude_if=operator.not_)] = ()


class AclParameters(Model):
    """What the flow's Kafka user must be allowed to do on one of its clusters, in Kafka's words."""

    cluster: Side
    principal: Name
    resource: Literal["topic", "group", "transactional_id", "cluster"]
    pattern: Literal["literal", "prefixed"]
    name: Name
    operations: Annotated[tuple[Name, ...], Field(min_length=1)]


def _name(given: JsonObject) -> str:
    return str(given.get("name", ""))


class FlowParameters(Model):
    """One source, one target, and what is replicated between them. Patterns match whole names, as MirrorMaker's do.

    - `replication` names the topology's replication that this flow is one direction or one part of.
    - `transformed` means that the user's own transforms may change or drop records.
    - `acls` is None if the document does not list any.
    - `start_from` is where the connectors start in a partition that they have never replicated.
    """

    name: Name
    replication: Name = Field(default_factory=_name)
    shape: Shape = "flow"
    namespace: Name
    digest: Name
    policy: Policy
    start_from: Literal["earliest", "latest"] = "earliest"
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
    guard: GuardParameters | None = None
    transformed: bool = False
    parts: tuple[PartParameters, ...] = ()
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
    def replication_policy(self) -> ReplicationPolicy:
        """How the flow names topics on the target."""
        return ReplicationPolicy(self.policy, self.separator, self.source.alias, self.target.alias)

    @property
    def topic_selection(self) -> Selection:
        """The topics that are replicated because they are selected; heartbeats are not among them.

        What only a part leaves out is among them; see `replicated`.
        """
        return Selection(self.topics, (*self.topics_exclude, *self.replication_policy.never_selected))

    def part_selection(self, part: PartParameters) -> Selection:
        """The topics that one source connector of the flow replicates."""
        flow = self.topic_selection
        return Selection(part.topics, (*flow.excluded, *part.topics_exclude))

    def replicated(self, topics: Iterable[str]) -> list[str]:
        """Those of the source's topics that some source connector of the flow replicates, sorted."""
        selections = [self.part_selection(part) for part in self.parts] or [self.topic_selection]
        return sorted(topic for topic in topics if any(topic in selection for selection in selections))

    @property
    def group_selection(self) -> Selection:
        """The groups whose offsets are translated."""
        return Selection(self.groups, self.groups_exclude)

    @property
    def leg(self) -> Leg:
        """The flow as one leg of a ring."""
        guard = LoopGuard(drops=self.guard.filter, adds=self.guard.mark) if self.guard is not None else None
        return Leg(self.name, self.replication_policy, self.topic_selection, guard)


class Parameters(Model):
    """The whole document, schema version 1. A stack without a flow in its region has no `flows`."""

    schema_version: Literal[1]
    stack: Name
    flows: tuple[FlowParameters, ...]
