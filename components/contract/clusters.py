"""How the validation job reaches a Kafka cluster: address, trust and login. Credentials are references, never values.

May be imported by anything; imports nothing of ours.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic.alias_generators import to_camel

#: A JSON object, as `json.dumps` takes it.
JsonObject: TypeAlias = dict[str, Any]
Name = Annotated[str, Field(min_length=1)]
SecurityProtocol: TypeAlias = Literal["SASL_SSL", "SSL", "PLAINTEXT", "SASL_PLAINTEXT"]


class Model(BaseModel):
    """Base of the document's parts: immutable, camelCase in JSON, unknown keys refused."""

    # A failed validation must not print its input: a hand-written document may hold a password in place of a reference.
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
    """Where a credential is stored: exactly one of the three."""

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

    `workers_read_others` means that the Connect workers read other certificates than this key.
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
    """A login that the connectors can use but the job cannot. The program writes it; the job refuses the document."""

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
