"""What differs between the API versions of Strimzi's resources, and which workers cannot switch in one step."""

from collections.abc import Mapping
from typing import Any

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.naming import group_id, storage_topic_name
from kafka_replication.components.flows.operators import StrimziApi
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.connections import login_properties, vault
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.components.render.secrets import OPERATOR_SECRET_PROVIDER
from kafka_replication.components.topology import clusters
from kafka_replication.components.topology.clusters import TOKEN_TRUST_KEY, credentials, secret_key

#: The names of a Connect group and its topics: worker properties in `v1beta2`, fields of the resource in `v1`.
#: Source: Strimzi KafkaConnectSpec, KafkaMirrorMaker2TargetClusterSpec.
GROUP_FIELDS = {
    "group.id": "groupId",
    "config.storage.topic": "configStorageTopic",
    "offset.storage.topic": "offsetStorageTopic",
    "status.storage.topic": "statusStorageTopic",
}

#: Fields of KafkaClientAuthenticationOAuth, by the keys that `credentials` returns.
_OAUTH_CREDENTIALS = {"client.secret": "clientSecret", "refresh.token": "refreshToken", "access.token": "accessToken"}


def group_names(flow: ResolvedFlow) -> dict[str, clusters.PropertyValue]:
    """Return the group id and storage topics of a flow's workers by worker property."""
    return {
        "group.id": group_id(flow.workers, flow.settings),
        "config.storage.topic": storage_topic_name(flow.workers, flow.settings, "configs"),
        "offset.storage.topic": storage_topic_name(flow.workers, flow.settings, "offsets"),
        "status.storage.topic": storage_topic_name(flow.workers, flow.settings, "status"),
    }


def group_fields(flow: ResolvedFlow, config: Mapping[str, clusters.PropertyValue]) -> Manifest:
    """Return the group id and storage topics of a flow's workers together with their `config`."""
    names = group_names(flow)
    match flow.api:
        case StrimziApi.V1:
            return {**{GROUP_FIELDS[key]: value for key, value in names.items()}, "config": dict(config)}
        case StrimziApi.V1BETA2:
            return {"config": {**names, **config}}


def security_fields(flow: ResolvedFlow, side: Side) -> Manifest:
    """Return `tls` and `authentication` for the connection to one of a flow's clusters.

    Under `v1`, OAuth and custom logins refer to Secrets by placeholders, which the workers' own Role must allow, and to
    the certificates of a token endpoint by a path, which `secrets.mounts` provides. Source: Strimzi ClientTls,
    KafkaClientAuthentication.
    """
    authentication = flow.cluster(side).authentication
    login = {} if authentication is None else {"authentication": _authentication(flow, side, authentication)}
    return {**trust_fields(flow, side), **login}


def trust_fields(flow: ResolvedFlow, side: Side) -> Manifest:
    """Return `tls` for the connection to one of a flow's clusters; {} without TLS."""
    tls = flow.cluster(side).tls
    if tls is None:
        return {}
    trusted: list[Manifest] = []
    match tls.trust:
        case clusters.SecretPattern() as trust:
            trusted = [{"secretName": trust.secret, "pattern": trust.pattern}]
        case clusters.SecretKey() | clusters.ConfigValue() as trust:
            trusted = [_certificate(secret_key(trust, flow.own_secret(side), "ca.crt"))]
    return {"tls": {"trustedCertificates": trusted}}


def _certificate(reference: clusters.SecretKey) -> Manifest:
    return {"secretName": reference.secret, "certificate": reference.key}


def _authentication(flow: ResolvedFlow, side: Side, authentication: clusters.Authentication) -> Manifest:
    match authentication:
        case clusters.PlainAuthentication() | clusters.ScramAuthentication():
            reference = secret_key(authentication.password, flow.own_secret(side), "password")
            return {
                "type": authentication.type,
                "username": authentication.username,
                "passwordSecret": {"secretName": reference.secret, "password": reference.key},
            }
        case clusters.TlsAuthentication():
            return {
                "type": "tls",
                "certificateAndKey": {
                    "secretName": authentication.secret,
                    "certificate": authentication.certificate,
                    "key": authentication.key,
                },
            }
        case clusters.OAuthAuthentication() if flow.api is StrimziApi.V1BETA2:
            return _oauth(authentication, flow.own_secret(side))
        case clusters.OAuthAuthentication() | clusters.CustomAuthentication():
            login = login_properties(authentication, vault(flow, side, OPERATOR_SECRET_PROVIDER))
            sasl = authentication.sasl if isinstance(authentication, clusters.CustomAuthentication) else True
            return {"type": "custom", "sasl": sasl, "config": login}


def _oauth(authentication: clusters.OAuthAuthentication, own: str) -> Manifest:
    """Source: Strimzi KafkaClientAuthenticationOAuth."""
    plain = {
        "clientId": authentication.client_id,
        "tokenEndpointUri": authentication.token_endpoint_uri,
        "scope": authentication.scope,
        "audience": authentication.audience,
    }
    fields: Manifest = {"type": "oauth", **{key: value for key, value in plain.items() if value is not None}}
    for own_key, credential in credentials(authentication).items():
        reference = secret_key(credential, own, own_key)
        fields[_OAUTH_CREDENTIALS[own_key]] = {"secretName": reference.secret, "key": reference.key}
    if authentication.trust is not None:
        fields["tlsTrustedCertificates"] = [_certificate(secret_key(authentication.trust, own, TOKEN_TRUST_KEY))]
    return fields


#: A field of each kind that `v1` requires and older objects lack. Source: Strimzi 0.49 custom resource definitions.
REQUIRED = {"KafkaConnect": "groupId", "KafkaMirrorMaker2": "target"}
WHY = (
    "Before it applies the change, Pulumi's Kubernetes provider rewrites the stored object through the new API "
    "version, which refuses objects without its required fields. The stack would be left half switched."
)


def lacks_fields_of_v1(workers: Mapping[str, Any]) -> bool:
    """Return whether workers, as they are stored or were deployed, lack a field that `v1` requires."""
    return REQUIRED[workers["kind"]] not in workers["spec"]


def refused_switch(workers: str) -> CannotRunError:
    """Return the error for workers that a deployment would switch in one step."""
    return CannotRunError(
        "api-switch-in-one-step",
        f"{workers} cannot change from the API `v1beta2` to `v1` in one step",
        "`strimzi` in the topology",
        WHY,
        "while an operator from 0.49 to 0.51 runs, set `strimzi: '0.51/v1beta2'` (use the operator's version) and "
        "deploy. Then restore the value that you have now, and deploy again.",
    )
