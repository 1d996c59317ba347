"""What the API versions of Strimzi's resources say in different ways, each in one function."""

from collections.abc import Mapping

from components.clusters import (
    Authentication,
    Cluster,
    ConfigValue,
    Credential,
    CustomAuthentication,
    KeystoreTrust,
    OAuthAuthentication,
    PlainAuthentication,
    PropertyValue,
    ScramAuthentication,
    SecretKey,
    SecretPattern,
    TlsAuthentication,
)
from components.credentials import TOKEN_TRUST_KEY, credentials, secret_key
from components.naming import Side, group_id, secret_name, storage_topic_name
from components.resolved import ResolvedFlow, StrimziApi
from components.specs.clients import OPERATOR_SECRET_PROVIDER, login_properties, vault
from components.specs.planned import Manifest

#: Where a worker group's names stand: properties of the worker in `v1beta2`, fields of the resource in `v1`.
#: Source: Strimzi KafkaConnectSpec, KafkaMirrorMaker2TargetClusterSpec.
_GROUP_FIELDS = {
    "group.id": "groupId",
    "config.storage.topic": "configStorageTopic",
    "offset.storage.topic": "offsetStorageTopic",
    "status.storage.topic": "statusStorageTopic",
}

#: Fields of KafkaClientAuthenticationOAuth, by the key that `credentials` gives each.
_OAUTH_CREDENTIALS = {"client.secret": "clientSecret", "refresh.token": "refreshToken", "access.token": "accessToken"}


def strimzi_api_version(resolved: ResolvedFlow) -> str:
    """`apiVersion` of a flow's Strimzi resources."""
    return f"kafka.strimzi.io/{resolved.api}"


def group_fields(resolved: ResolvedFlow, config: Mapping[str, PropertyValue]) -> Manifest:
    """A worker group's identity and storage topics with its `config`."""
    names: dict[str, PropertyValue] = {
        "group.id": group_id(resolved.workers),
        "config.storage.topic": storage_topic_name(resolved.workers, "configs"),
        "offset.storage.topic": storage_topic_name(resolved.workers, "offsets"),
        "status.storage.topic": storage_topic_name(resolved.workers, "status"),
    }
    match resolved.api:
        case StrimziApi.V1:
            return {**{_GROUP_FIELDS[key]: value for key, value in names.items()}, "config": dict(config)}
        case StrimziApi.V1BETA2:
            return {"config": {**names, **config}}


def security_fields(resolved: ResolvedFlow, side: Side) -> Manifest:
    """`tls` and `authentication` towards one of a flow's clusters.

    Under `v1` token-based and custom logins name Secrets by placeholders, which the workers' own Role must allow, and
    the certificates of a token endpoint by a path, which `mounts` provides. Source: Strimzi ClientTls,
    KafkaClientAuthentication.
    """
    cluster = resolved.cluster(side)
    fields = {} if cluster.tls is None else {"tls": {"trustedCertificates": _trusted(resolved, side, cluster)}}
    if cluster.authentication is not None:
        fields["authentication"] = _authentication(resolved, side, cluster.authentication)
    return fields


def _trusted(resolved: ResolvedFlow, side: Side, cluster: Cluster) -> list[Manifest]:
    match cluster.tls.trust if cluster.tls else None:
        case SecretPattern() as trust:
            return [{"secretName": trust.secret, "pattern": trust.pattern}]
        case SecretKey() | ConfigValue() as trust:
            return [_certificate(secret_key(trust, secret_name(resolved.secrets_owner(side), side), "ca.crt"))]
        case KeystoreTrust() | None:
            return []


def _certificate(reference: SecretKey) -> Manifest:
    return {"secretName": reference.secret, "certificate": reference.key}


def _authentication(resolved: ResolvedFlow, side: Side, authentication: Authentication) -> Manifest:
    match authentication:
        case PlainAuthentication() | ScramAuthentication():
            reference = secret_key(authentication.password, secret_name(resolved.secrets_owner(side), side), "password")
            return {
                "type": authentication.type,
                "username": authentication.username,
                "passwordSecret": {"secretName": reference.secret, "password": reference.key},
            }
        case TlsAuthentication():
            return {
                "type": "tls",
                "certificateAndKey": {
                    "secretName": authentication.secret,
                    "certificate": authentication.certificate,
                    "key": authentication.key,
                },
            }
        case OAuthAuthentication() if resolved.api is StrimziApi.V1BETA2:
            return _oauth(authentication, secret_name(resolved.secrets_owner(side), side))
        case OAuthAuthentication() | CustomAuthentication():
            login = login_properties(authentication, vault(resolved, side, OPERATOR_SECRET_PROVIDER))
            sasl = authentication.sasl if isinstance(authentication, CustomAuthentication) else True
            return {"type": "custom", "sasl": sasl, "config": login}


def _oauth(authentication: OAuthAuthentication, own: str) -> Manifest:
    """Source: Strimzi KafkaClientAuthenticationOAuth."""

    def reference(credential: Credential, own_key: str) -> SecretKey:
        return secret_key(credential, own, own_key)

    plain = {
        "clientId": authentication.client_id,
        "tokenEndpointUri": authentication.token_endpoint_uri,
        "scope": authentication.scope,
        "audience": authentication.audience,
    }
    fields: Manifest = {"type": "oauth", **{key: value for key, value in plain.items() if value is not None}}
    for own_key, credential in credentials(authentication).items():
        held = reference(credential, own_key)
        fields[_OAUTH_CREDENTIALS[own_key]] = {"secretName": held.secret, "key": held.key}
    if authentication.trust is not None:
        fields["tlsTrustedCertificates"] = [_certificate(reference(authentication.trust, TOKEN_TRUST_KEY))]
    return fields
