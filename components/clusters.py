"""Clusters of a topology file as replications reach them: addresses, trust, authentication, credentials by reference.

Frozen pydantic models, camelCase in YAML. Imports nothing of ours.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError


def _no_boolean(value: Any) -> Any:
    """Python counts true and false as 1 and 0, and YAML reads `yes` and `no` as them."""
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


#: Kubernetes and Kafka hold whole numbers in 32 bits.
_WholeNumber = Annotated[int, BeforeValidator(_no_boolean), Field(le=2**31 - 1)]
NonNegativeInt = Annotated[_WholeNumber, Field(ge=0)]
PositiveInt = Annotated[_WholeNumber, Field(ge=1)]


class Model(BaseModel):
    """Base of every part of the model: immutable, camelCase in YAML, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


#: RFC 1123 subdomain.
SecretName = Annotated[
    str, Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
]
#: Key within a Secret or ConfigMap, which Kubernetes holds to these characters.
DataKey = Annotated[str, Field(max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
#: A Kafka client, worker or connector property's value as YAML gives it.
PropertyValue = str | bool | int | float
Properties = Mapping[str, PropertyValue]


class SecretKey(Model):
    """A key of a Kubernetes Secret that exists in the replication's namespace."""

    secret: SecretName = Field(description="Name of the Secret in the replication's namespace.")
    key: DataKey = Field(description="Key within the Secret.")


class ConfigValue(Model):
    """A value that the stack's configuration holds (`replication:<key>`); a credential is held there as a secret."""

    config: str = Field(min_length=1, description="Key in the stack's configuration, without the project's prefix.")


def _reference_kind(value: Any) -> str:
    return (
        "config" if isinstance(value, ConfigValue) or (isinstance(value, Mapping) and "config" in value) else "secret"
    )


Credential = Annotated[
    Annotated[SecretKey, Tag("secret")] | Annotated[ConfigValue, Tag("config")], Discriminator(_reference_kind)
]


class SecretPattern(Model):
    """Every key of a Kubernetes Secret that a pattern matches. Source: Strimzi CertSecretSource."""

    secret: SecretName = Field(description="Name of the Secret in the replication's namespace.")
    pattern: str = Field(min_length=1, description="Glob over the Secret's keys, such as `*.crt`.")


class KeystoreFormat(StrEnum):
    """Binary truststore formats, mounted into the worker as a file."""

    JKS = "JKS"
    PKCS12 = "PKCS12"


class KeystoreTrust(Model):
    """A truststore file in a Secret, mounted into every worker; only for a cluster that workers do not depend on."""

    format: KeystoreFormat
    secret: SecretName
    key: DataKey
    password: Credential


def _trust_kind(value: Any) -> str:
    if isinstance(value, KeystoreTrust) or (isinstance(value, Mapping) and "format" in value):
        return "keystore"
    if isinstance(value, SecretPattern) or (isinstance(value, Mapping) and "pattern" in value):
        return "pattern"
    return _reference_kind(value)


Trust = Annotated[
    Annotated[SecretKey, Tag("secret")]
    | Annotated[SecretPattern, Tag("pattern")]
    | Annotated[ConfigValue, Tag("config")]
    | Annotated[KeystoreTrust, Tag("keystore")],
    Discriminator(_trust_kind),
]


class Tls(Model):
    """TLS towards a cluster; without `trust` the JVM's own certificate authorities are trusted."""

    trust: Trust | None = None


class PlainAuthentication(Model):
    """SASL PLAIN. Source: KIP-43, Strimzi KafkaClientAuthenticationPlain."""

    type: Literal["plain"]
    username: str = Field(min_length=1)
    password: Credential


class ScramAuthentication(Model):
    """SASL SCRAM. Source: KIP-84, Strimzi KafkaClientAuthenticationScramSha512."""

    type: Literal["scram-sha-512", "scram-sha-256"]
    username: str = Field(min_length=1)
    password: Credential


class TlsAuthentication(Model):
    """Mutual TLS with a PEM certificate chain and a PKCS#8 key in one Secret.

    Source: KIP-651, Strimzi KafkaClientAuthenticationTls, which takes both from the same Secret.
    """

    type: Literal["tls"]
    secret: SecretName
    certificate: DataKey = "user.crt"
    key: DataKey = "user.key"
    principal: str | None = Field(
        default=None,
        min_length=1,
        description="What the cluster calls the certificate's owner, such as `CN=mirror`; ACLs are derived for it.",
    )


class OAuthAuthentication(Model):
    """SASL OAUTHBEARER: an access token as it is, or one that the token endpoint gives.

    Source: KIP-255, Strimzi KafkaClientAuthenticationOAuth; its login callback is in every image of Strimzi.
    """

    type: Literal["oauth"]
    token_endpoint_uri: str | None = Field(default=None, min_length=1)
    client_id: str | None = Field(default=None, min_length=1)
    client_secret: Credential | None = None
    access_token: Credential | None = None
    refresh_token: Credential | None = None
    scope: str | None = Field(default=None, min_length=1)
    audience: str | None = Field(default=None, min_length=1)
    trust: Credential | None = Field(
        default=None, description="PEM certificates that the token endpoint is trusted by; the JVM's own without it."
    )
    principal: str | None = Field(
        default=None, min_length=1, description="What the cluster calls the token's owner; ACLs are derived for it."
    )


class CustomAuthentication(Model):
    """Any mechanism whose classes are in the workers' image, by the client properties that configure it.

    Secret values are placeholders, `${secret:NAME:KEY}` or `${secret:NAMESPACE/NAME:KEY}`. Source: Strimzi
    KafkaClientAuthenticationCustom.
    """

    type: Literal["custom"]
    sasl: bool = True
    config: Mapping[str, str] = Field(description="Client properties that begin with `sasl.` or `ssl.keystore.`.")
    principal: str | None = Field(
        default=None, min_length=1, description="What the cluster calls the user; ACLs are derived for it."
    )


Authentication = Annotated[
    PlainAuthentication | ScramAuthentication | TlsAuthentication | OAuthAuthentication | CustomAuthentication,
    Field(discriminator="type"),
]


def _address_kind(value: Any) -> str:
    return "config" if isinstance(value, ConfigValue | Mapping) else "address"


#: A bootstrap address, or the key of the stack's configuration that holds it.
Address = Annotated[
    Annotated[str, Field(min_length=1), Tag("address")] | Annotated[ConfigValue, Tag("config")],
    Discriminator(_address_kind),
]


class ValidationAccess(Model):
    """What the validation job has instead of what connectors have; it reads topics and describes groups."""

    authentication: (
        Annotated[PlainAuthentication | ScramAuthentication | TlsAuthentication, Field(discriminator="type")] | None
    ) = None
    trust: Credential | None = Field(
        default=None, description="PEM certificates in one key, where the cluster's trust names several."
    )


class KafkaUserDeclaration(Model):
    """A KafkaUser of ours, where Strimzi's User Operator rules the cluster's users and their ACLs."""

    cluster: str = Field(min_length=1, description="Name of the Strimzi `Kafka` that the user belongs to.")
    namespace: str = Field(min_length=1, description="Namespace that its User Operator watches.")
    name: str | None = Field(
        default=None, min_length=1, description="Name of the KafkaUser; the user name or the certificate's owner."
    )
    external_certificate: bool = Field(
        default=False, description="The client certificate is issued by another than the User Operator."
    )


class Cluster(Model):
    """A Kafka cluster as replications reach it."""

    region: str = Field(min_length=1)
    bootstrap_servers: Address
    tls: Tls | None = None
    authentication: Authentication | None = None
    credentials_revision: NonNegativeInt = Field(
        default=0, description="Raise it after rotating a Secret that connectors read: they restart and read it anew."
    )
    validation: ValidationAccess | None = None
    kafka_user: KafkaUserDeclaration | None = Field(
        default=None, description="Declare the replications' user as a KafkaUser, with the ACLs that they need."
    )
