"""The clusters of a topology file, the users that they imply, and names in Kubernetes (RFC 1123)."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic._internal._model_construction import ModelMetaclass  # There is no public name for it.
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

#: Patterns of a whole name, and its greatest length in characters.
LABEL, LABEL_LENGTH = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", 63
#: Pattern of a whole key of labels and annotations. Source: IsQualifiedName in apimachinery.
LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
SUBDOMAIN, SUBDOMAIN_LENGTH = rf"{LABEL}(\.{LABEL})*", 253


def is_label(text: str) -> bool:
    """Return whether a text can be a name without dots, such as that of a namespace."""
    return len(text) <= LABEL_LENGTH and re.fullmatch(LABEL, text) is not None


def is_subdomain(text: str) -> bool:
    """Return whether a text can be a name with dots, such as that of a ConfigMap."""
    return len(text) <= SUBDOMAIN_LENGTH and re.fullmatch(SUBDOMAIN, text) is not None


def _no_boolean(value: Any) -> Any:
    """Refuse true and false, which Python counts as 1 and 0 and YAML reads from `yes` and `no`."""
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


#: Kubernetes and Kafka store whole numbers in 32 bits.
_LARGEST = 2**31 - 1
# The range comes before the validator: only there does pydantic write it into the schema as JSON Schema's `minimum`.
NonNegativeInt = Annotated[int, Field(ge=0, le=_LARGEST), BeforeValidator(_no_boolean)]
PositiveInt = Annotated[int, Field(ge=1, le=_LARGEST), BeforeValidator(_no_boolean)]


def setting(default: Any, description: str, **constraints: Any) -> Any:
    """Return the field of a key that has a default."""
    return Field(default=default, description=description, **constraints)


def optional(description: str, **constraints: Any) -> Any:
    """Return the field of a key that may be left out, which is then None."""
    return setting(None, description, **constraints)


def entries(description: str) -> Any:
    """Return the field of a mapping that may be left out, which is then empty."""
    return Field(default_factory=dict, description=description)


class _ModelType(ModelMetaclass):
    """Reports mistakes in a call of a model, such as `Flow(…)` in a program, as mistakes in a file are reported."""

    if not TYPE_CHECKING:

        def __call__(cls, *args, **values):  # noqa: N805  # the class of a class
            try:
                return super().__call__(*args, **values)
            except ValidationError as error:
                # That module knows all models.
                from kafka_replication.components.topology.parsing import called

                raise called(cls, error, values) from None


class Model(BaseModel, metaclass=_ModelType):
    """Base of every part of the model: immutable, camelCase in YAML, without unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        # A program may pass a password where a reference belongs, and pydantic would print it.
        hide_input_in_errors=True,
    )


#: RFC 1123 subdomain.
SecretName = Annotated[str, Field(max_length=SUBDOMAIN_LENGTH, pattern=f"^{SUBDOMAIN}$")]
#: Name of a resource of Strimzi's.
ResourceName = Annotated[str, Field(max_length=SUBDOMAIN_LENGTH, pattern=f"^{SUBDOMAIN}$")]
#: Labels or annotations that other tools need; those that the project sets itself stay as they are.
OwnLabels = Mapping[Annotated[str, Field(pattern=LABEL_KEY)], str]
#: Key in a Secret or ConfigMap; Kubernetes allows only these characters.
DataKey = Annotated[str, Field(max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
#: Value of a client, worker or connector property in YAML.
PropertyValue = str | bool | int | float
Properties = Mapping[str, PropertyValue]


SecretReference = Annotated[SecretName, Field(description="Name of the Secret in the replication's namespace.")]
SecretKeyName = Annotated[DataKey, Field(description="Key in the Secret.")]


class SecretKey(Model):
    """A key of a Kubernetes Secret that exists in the replication's namespace."""

    secret: SecretReference
    key: SecretKeyName


class ConfigValue(Model):
    """A value from the stack's configuration (`replication:<key>`), where a credential is stored as a secret."""

    config: str = Field(min_length=1, description="Key in the stack's configuration, without `replication:`.")


def _reference_kind(value: Any) -> str:
    return (
        "config" if isinstance(value, ConfigValue) or (isinstance(value, Mapping) and "config" in value) else "secret"
    )


Credential = Annotated[
    Annotated[SecretKey, Tag("secret")] | Annotated[ConfigValue, Tag("config")], Discriminator(_reference_kind)
]


class SecretPattern(Model):
    """All keys of a Kubernetes Secret that match a pattern, for workers, and one key for connectors. Workers use only
    the first certificate of each key; connectors use all certificates of one key. Source: Strimzi CertSecretSource.
    """

    secret: SecretReference
    pattern: str = Field(min_length=1, description="Glob that matches keys of the Secret, such as `*.crt`.")
    key: SecretKeyName | None = optional("Key with all of the certificates, for connectors and the validation job.")


class KeystoreFormat(StrEnum):
    """Format of a binary truststore, which workers mount as a file."""

    JKS = "JKS"
    PKCS12 = "PKCS12"


class KeystoreTrust(Model):
    """A truststore file in a Secret that every worker mounts; only for clusters that are not the target of workers."""

    format: KeystoreFormat = Field(description="Format of the truststore.")
    secret: SecretReference
    key: SecretKeyName
    password: Credential = Field(description="Password of the truststore.")


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
    """TLS for the connection to a cluster."""

    trust: Trust | None = optional("Certificates that authenticate the brokers; default: the JVM's own authorities.")


Username = Annotated[str, Field(min_length=1, description="Name of the user.")]
Password = Annotated[Credential, Field(description="Reference to the user's password.")]


class PlainAuthentication(Model):
    """SASL PLAIN. Source: KIP-43, Strimzi KafkaClientAuthenticationPlain."""

    type: Literal["plain"]
    username: Username
    password: Password


class ScramAuthentication(Model):
    """SASL SCRAM. Source: KIP-84, Strimzi KafkaClientAuthenticationScramSha512."""

    type: Literal["scram-sha-512", "scram-sha-256"]
    username: Username
    password: Password


class TlsAuthentication(Model):
    """Mutual TLS with a PEM chain and a PKCS#8 key in one Secret. Source: KIP-651, KafkaClientAuthenticationTls."""

    type: Literal["tls"]
    secret: SecretReference
    certificate: DataKey = setting("user.crt", "Key of the certificate chain in the Secret.")
    key: DataKey = setting("user.key", "Key of the private key in the Secret.")
    principal: str | None = optional(
        "Principal that the cluster derives from the certificate, such as `CN=mirror`; it gets the ACLs.", min_length=1
    )


class OAuthAuthentication(Model):
    """SASL OAUTHBEARER with a fixed access token, or with tokens from a token endpoint.

    Source: KIP-255, Strimzi KafkaClientAuthenticationOAuth; every Strimzi image contains its login callback.
    """

    type: Literal["oauth"]
    token_endpoint_uri: str | None = optional("URI of the token endpoint.", min_length=1)
    client_id: str | None = optional("Client id at the token endpoint.", min_length=1)
    client_secret: Credential | None = optional("Reference to the client's secret.")
    access_token: Credential | None = optional("Reference to a fixed access token.")
    refresh_token: Credential | None = optional("Reference to a refresh token.")
    scope: str | None = optional("Scope to request with the token.", min_length=1)
    audience: str | None = optional("Audience to request with the token.", min_length=1)
    trust: Credential | None = optional("PEM certificates that authenticate the token endpoint; default: the JVM's.")
    principal: str | None = optional("Principal that the cluster takes from the token; it gets the ACLs.", min_length=1)


class CustomAuthentication(Model):
    """Any mechanism whose classes are in the workers' image, configured by client properties.

    Secret values are placeholders: `${secret:NAME:KEY}` or `${secret:NAMESPACE/NAME:KEY}`. Source: Strimzi
    KafkaClientAuthenticationCustom.
    """

    type: Literal["custom"]
    sasl: bool = setting(True, "Whether the mechanism uses SASL.")
    config: Mapping[str, str] = Field(description="Client properties that begin with `sasl.` or `ssl.keystore.`.")
    principal: str | None = optional("Principal of the user in the cluster; it gets the ACLs.", min_length=1)


Authentication = Annotated[
    PlainAuthentication | ScramAuthentication | TlsAuthentication | OAuthAuthentication | CustomAuthentication,
    Field(discriminator="type"),
]


#: A bootstrap address, or the key of the stack's configuration that holds it.
Address = Annotated[
    Annotated[str, Field(min_length=1), Tag("address")] | Annotated[ConfigValue, Tag("config")],
    Discriminator(lambda value: "config" if isinstance(value, ConfigValue | Mapping) else "address"),
]


#: Logins that the clients of the job and of the commands know.
ClientAuthentication = Annotated[
    PlainAuthentication | ScramAuthentication | TlsAuthentication, Field(discriminator="type")
]


class ValidationAccess(Model):
    """Login and trust of the validation job, where they differ from the connectors'."""

    authentication: ClientAuthentication | None = optional("Login of the validation job; default: the connectors'.")
    trust: Credential | None = optional("All PEM certificates in one key, if the cluster's trust names several keys.")


class KeeperAccess(Model):
    """Login of `replicate keep`, which reads a source with it, and reads and writes a target."""

    authentication: ClientAuthentication = Field(description="Login of the keeper.")


class KafkaUserDeclaration(Model):
    """A KafkaUser to create, for a cluster whose users and ACLs Strimzi's User Operator manages."""

    cluster: str = Field(min_length=1, description="Name of the Strimzi `Kafka` that the user belongs to.")
    namespace: str = Field(min_length=1, description="Namespace that its User Operator watches.")
    name: str | None = optional("Name of the KafkaUser; default: the user or the certificate's owner.", min_length=1)
    external_certificate: bool = setting(
        False, "Whether someone other than the User Operator issues the client certificate."
    )


class Cluster(Model):
    """A Kafka cluster and how to connect to it."""

    region: str = Field(min_length=1, description="Region of the cluster; stacks deploy the flows into their region.")
    bootstrap_servers: Address = Field(description="Address, or the key of the stack's configuration that holds it.")
    tls: Tls | None = optional("TLS; connections are not encrypted without it.")
    authentication: Authentication | None = optional("How workers and connectors log in.")
    credentials_revision: NonNegativeInt = setting(
        0, "Raise it after a Secret is rotated: connectors then restart and read the new value."
    )
    validation: ValidationAccess | None = optional("The validation job's login and trust, if not the connectors'.")
    keeper: KeeperAccess | None = optional(
        "The keeper's own login; by default it reads with the validation job's and writes with the connectors'."
    )
    kafka_user: KafkaUserDeclaration | None = optional("Create the user as a KafkaUser, with the ACLs that it needs.")


#: Key of a token endpoint's certificates in a Secret that this project creates.
TOKEN_TRUST_KEY = "token-endpoint.crt"


def credentials(authentication: Authentication | None) -> dict[str, Credential]:
    """Return the credentials of a login, by their keys in a Secret that this project creates."""
    match authentication:
        case PlainAuthentication() | ScramAuthentication():
            return {"password": authentication.password}
        case OAuthAuthentication():
            given = {
                "client.secret": authentication.client_secret,
                "refresh.token": authentication.refresh_token,
                "access.token": authentication.access_token,
            }
            return {key: credential for key, credential in given.items() if credential is not None}
        case TlsAuthentication() | CustomAuthentication() | None:
            return {}


def secret_key(credential: Credential, own_secret: str, own_key: str) -> SecretKey:
    """Return where a credential is: in the Secret that it names, or in our own for a configuration value."""
    if not isinstance(credential, ConfigValue):
        return credential
    # Our Secret is named after the replication. A name that Kubernetes refuses is a problem that `checks.names` reports
    # together with all others; validating it here would end the check with a trace.
    return SecretKey.model_construct(secret=own_secret, key=own_key)


_COMMON_NAME = "CN="
_USER = "User:"


def kafka_principal(cluster: Cluster) -> str | None:
    """Return the principal of the connectors' user, such as `User:mirror`, or None if only the cluster knows it.

    Source: KIP-11, ssl.principal.mapping.rules, Strimzi KafkaUserModel.getUserName.
    """
    return _principal(_known_name(cluster))


def validation_principal(cluster: Cluster) -> str | None:
    """Return the principal of the validation job's own login, or None if it has none or only the cluster knows it."""
    validation = cluster.validation
    return _principal(_name_in(validation.authentication)) if validation is not None else None


def keeper_principal(cluster: Cluster) -> str | None:
    """Return the principal of the keeper's own login, or None if it has none or only the cluster knows it."""
    return _principal(_name_in(cluster.keeper.authentication)) if cluster.keeper is not None else None


def kafka_user_name(cluster: Cluster) -> str | None:
    """Return the name of the user's KafkaUser: the one given, or else the one that its credentials imply."""
    if cluster.kafka_user is None:
        return None
    if cluster.kafka_user.name is not None:
        return cluster.kafka_user.name
    authentication = cluster.authentication
    if isinstance(authentication, TlsAuthentication):
        # The User Operator keeps a user's certificate in a Secret with the user's name.
        return (authentication.principal or authentication.secret).removeprefix(_USER).removeprefix(_COMMON_NAME)
    return _known_name(cluster)


def _known_name(cluster: Cluster) -> str | None:
    authentication = cluster.authentication
    if cluster.kafka_user is not None and isinstance(authentication, TlsAuthentication):
        return _name_in(authentication) or f"{_COMMON_NAME}{kafka_user_name(cluster)}"
    return _name_in(authentication)


def _name_in(authentication: Authentication | None) -> str | None:
    if isinstance(authentication, PlainAuthentication | ScramAuthentication):
        return authentication.username
    if authentication is None:
        return None
    # Kafka prints a principal with its type, and clients only have the type `User`.
    return authentication.principal and authentication.principal.removeprefix(_USER)


def _principal(name: str | None) -> str | None:
    return None if name is None else f"{_USER}{name}"
