"""The parameter document: what to check on which clusters, as the program exports it. Pure."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from spark.errors import ParametersError

PositiveSeconds = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(min_length=1)]


class Model(BaseModel):
    """Base of the document's parts: immutable, camelCase in JSON, unknown keys refused."""

    # A failed validation must not print its input: a document written by hand may hold a password where a reference
    # belongs.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, hide_input_in_errors=True
    )


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

    def __str__(self) -> str:
        if self.secret is not None:
            return f"secret {self.secret.namespace}/{self.secret.name} key {self.secret.key}"
        return f"file {self.file}" if self.file is not None else f"environment variable {self.env}"


class Trust(Model):
    """The certificate authorities of a cluster; PKCS12 and JKS need a password."""

    format: Literal["PEM", "JKS", "PKCS12"]
    certificates: Reference
    password: Reference | None = None

    @model_validator(mode="after")
    def _password_of_a_keystore(self) -> Self:
        if self.format != "PEM" and self.password is None:
            raise ValueError(f"trust of format {self.format} needs a password")
        return self


class PasswordAuthentication(Model):
    """SASL with a user name and a password."""

    type: Literal["plain", "scram-sha-256", "scram-sha-512"]
    username: Name
    password: Reference


class TlsAuthentication(Model):
    """A client certificate (PEM) and its PKCS#8 key (PEM)."""

    type: Literal["tls"]
    certificate: Reference
    key: Reference


Authentication = Annotated[PasswordAuthentication | TlsAuthentication, Field(discriminator="type")]


class ClusterParameters(Model):
    """How one Kafka cluster is reached."""

    alias: Name
    bootstrap_servers: Name
    security_protocol: Literal["SASL_SSL", "SSL", "PLAINTEXT", "SASL_PLAINTEXT"]
    trust: Trust | None = None
    authentication: Authentication | None = None

    @model_validator(mode="after")
    def _login_fits_the_protocol(self) -> Self:
        sasl = isinstance(self.authentication, PasswordAuthentication)
        if sasl != self.security_protocol.startswith("SASL_"):
            given = self.authentication.type if self.authentication else "none"
            raise ValueError(f"securityProtocol {self.security_protocol} does not fit authentication {given}")
        return self


class HeartbeatParameters(Model):
    """Heartbeats that are produced to the source come to the target by replication; others prove the workers only."""

    enabled: bool
    produced_to: Literal["source", "target"] = "source"
    interval_seconds: PositiveSeconds
    source_topic: Name
    target_topic: Name


class OffsetSyncParameters(Model):
    """The offset syncs topic and the cluster that holds it; `lag_max` in records. Disabled: there is no such topic."""

    enabled: bool = True
    cluster: Literal["source", "target"]
    topic: Name
    lag_max: Annotated[int, Field(ge=0)]


class CheckpointParameters(Model):
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
    """The loop guard of a source connector: it leaves out records with header `filter`, and appends to every other
    record a header `mark` without a value."""

    filter: Name
    mark: Name

    @model_validator(mode="after")
    def _a_record_goes_through_once(self) -> Self:
        if self.filter == self.mark:
            raise ValueError("filter and mark are the same header")
        return self


class PartParameters(Model):
    """One of several source connectors of a flow, and the topics that it alone replicates."""

    name: Name
    connector: Name
    topics: Annotated[Patterns, Field(min_length=1)]


class AclParameters(Model):
    """What the user of the flow's connectors must be allowed on one of its clusters, in Kafka's words."""

    cluster: Literal["source", "target"]
    principal: Name
    resource: Literal["topic", "group", "transactional_id", "cluster"]
    pattern: Literal["literal", "prefixed"]
    name: Name
    operations: Annotated[tuple[Name, ...], Field(min_length=1)]


def _name(given: dict[str, Any]) -> str:
    return str(given.get("name", ""))


class FlowParameters(Model):
    """One source, one target, and what is replicated between them. Patterns match whole names, as MirrorMaker's do.

    `replication` is what the topology calls the whole of which this flow is one direction or one part; `transformed`
    says that the user's own transforms may change or drop records. `acls` are None in a document that tells none.
    `start_from` is where the connectors begin in a partition of which they have replicated nothing.
    """

    name: Name
    replication: Name = Field(default_factory=_name)
    shape: Literal["flow", "prefixlessPair", "split", "mirrorMaker2"] = "flow"
    namespace: Name
    digest: Name
    policy: Literal["default", "identity"]
    separator: Name = "."
    start_from: Literal["earliest", "latest"] = "earliest"
    source: ClusterParameters
    target: ClusterParameters
    topics: Annotated[Patterns, Field(min_length=1)]
    topics_exclude: Patterns = ()
    groups: Patterns = ()
    groups_exclude: Patterns = ()
    parts: tuple[PartParameters, ...] = ()
    acls: tuple[AclParameters, ...] | None = None
    guard: GuardParameters | None = None
    transformed: bool = False
    heartbeats: HeartbeatParameters
    offset_syncs: OffsetSyncParameters
    checkpoints: CheckpointParameters
    refresh_topics_seconds: PositiveSeconds
    refresh_groups_seconds: PositiveSeconds

    @model_validator(mode="after")
    def _translation_has_what_it_needs(self) -> Self:
        if self.checkpoints.enabled and not self.offset_syncs.enabled:
            raise ValueError("checkpoints are enabled, but offset syncs, of which they are made, are not")
        return self

    @model_validator(mode="after")
    def _parts_are_told_apart(self) -> Self:
        if len({part.name for part in self.parts}) < len(self.parts):
            raise ValueError("two parts have the same name")
        return self


class Parameters(Model):
    """The whole document, schema version 1."""

    schema_version: Literal[1]
    stack: Name
    flows: Annotated[tuple[FlowParameters, ...], Field(min_length=1)]

    _whole: tuple[FlowParameters, ...] = PrivateAttr(default=())

    @property
    def whole(self) -> tuple[FlowParameters, ...]:
        """Every flow of the document, of which `flows` may be a choice: a loop leads through flows beside that one."""
        return self._whole or self.flows

    def only(self, name: str | None) -> "Parameters":
        """The document with the flow of that name, or every flow of that replication; all of it when `name` is None.

        Raises ParametersError when unknown.
        """
        if name is None:
            return self
        chosen = tuple(each for each in self.flows if name in (each.name, each.replication))
        if not chosen:
            known = ", ".join(each.name for each in self.flows)
            raise ParametersError("unknown-flow", f"no flow is named {name!r}", "--flow", f"name one of: {known}")
        choice = self.model_copy(update={"flows": chosen})
        choice._whole = self.whole
        return choice


def parse(text: str, where: str) -> Parameters:
    """The document in `text`; raises ParametersError that names every key which is wrong, but no value."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ParametersError(
            "parameters-not-json",
            f"line {error.lineno} is not JSON: {error.msg}",
            where,
            "write the document with `replicate` or take it from the stack's outputs",
        ) from None
    try:
        return Parameters.model_validate(document)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in each['loc']) or 'document'}: {each['msg']}" for each in error.errors()
        )
        raise ParametersError(
            "parameters-invalid", wrong, where, "correct the named keys; the schema is version 1"
        ) from None


def load(path: Path) -> Parameters:
    """Read and parse the document; raises ParametersError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "the file is not UTF-8 text"
        raise ParametersError(
            "parameters-unreadable", f"{what}", str(path), "give --parameters the path of the document"
        ) from None
    return parse(text, str(path))
