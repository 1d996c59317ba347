"""Logins to clusters: what they need to be whole, what breaks their configuration, and who the validation job is."""

import re
from collections.abc import Iterator, Mapping

from components.clusters import (
    Authentication,
    Cluster,
    CustomAuthentication,
    OAuthAuthentication,
    PlainAuthentication,
    ScramAuthentication,
    SecretPattern,
    TlsAuthentication,
)
from components.problems import Problem, Severity

#: Source: Strimzi KafkaClientAuthenticationCustom.ALLOWED_PREFIXES.
_CUSTOM_PREFIXES = ("sasl.", "ssl.keystore.")
#: A credential in a login module's options, or a property that is one, that no placeholder stands for.
TEXT_OPTION = re.compile(
    r"\b[\w.]*(password|secret|token|key)\s*=\s*\"?(?!\"?\$\{|\"?(true|false)\b)[^\s;\"]", re.IGNORECASE
)
_CREDENTIAL_KEY = re.compile(r"password$|secret$|ssl\.keystore\.key$")


def check_logins(alias: str, cluster: Cluster) -> Iterator[Problem]:
    """Problems of a cluster's authentication, the connectors' and the validation job's."""
    where = f"clusters.{alias}"
    authentication = cluster.authentication
    if isinstance(authentication, TlsAuthentication) and cluster.tls is None:
        yield Problem(
            f"{where}.authentication",
            "certificate-without-tls",
            "a client certificate is given for a cluster without `tls`",
            "Without TLS no certificate is ever presented; the broker sees an anonymous client.",
            "add `tls: {}` or `tls: {trust: …}`.",
        )
    if isinstance(authentication, OAuthAuthentication):
        yield from _check_oauth(f"{where}.authentication", authentication)
    if isinstance(authentication, CustomAuthentication):
        yield from _check_custom(f"{where}.authentication.config", authentication.config)
    yield from _check_text(f"{where}.authentication", authentication)
    if cluster.validation is not None:
        yield from _check_text(f"{where}.validation.authentication", cluster.validation.authentication)
    yield from _check_validation(where, cluster)


def _check_text(where: str, authentication: Authentication | None) -> Iterator[Problem]:
    """Text that stands in quotation marks in a login module's options."""
    quoted: Mapping[str, str | None] = {}
    if isinstance(authentication, PlainAuthentication | ScramAuthentication):
        quoted = {"username": authentication.username}
    elif isinstance(authentication, OAuthAuthentication):
        quoted = {
            "clientId": authentication.client_id,
            "tokenEndpointUri": authentication.token_endpoint_uri,
            "scope": authentication.scope,
            "audience": authentication.audience,
        }
    for key, value in quoted.items():
        if set(value or "") & set('"\\'):
            yield Problem(
                f"{where}.{key}",
                "username-breaks-jaas",
                f"`{key}` holds a quotation mark or a backslash",
                "It stands in quotation marks in sasl.jaas.config, whose parser would end there.",
                f"use a `{key}` without these characters.",
            )


def _check_oauth(where: str, login: OAuthAuthentication) -> Iterator[Problem]:
    """Source: Strimzi AuthenticationUtils.validateClientAuthenticationOAuth."""
    needed = {
        "tokenEndpointUri": login.token_endpoint_uri,
        "clientId": login.client_id,
        "clientSecret` or `refreshToken": login.client_secret or login.refresh_token,
    }
    missing = [key for key, value in needed.items() if value is None]
    if login.access_token is None and missing:
        yield Problem(
            where,
            "oauth-incomplete",
            f"`{'`, `'.join(missing)}` and `accessToken` are missing",
            "A client has its access token, or asks the token endpoint for one in its own name.",
            f"set `{'`, `'.join(missing)}`, or `accessToken`.",
        )


def _check_custom(where: str, config: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in config.items():
        if not key.startswith(_CUSTOM_PREFIXES):
            yield Problem(
                f"{where}.{key}",
                "custom-property-ignored",
                f"`{key}` is given for a login",
                f"Strimzi takes properties that begin with `{'` or `'.join(_CUSTOM_PREFIXES)}` there, and drops others "
                "with a line in its log only.",
                "remove it; `tls` of the cluster says what it is trusted by, `connect.config` holds worker properties.",
            )
        elif TEXT_OPTION.search(value) or (_CREDENTIAL_KEY.search(key) and "${" not in value):
            yield Problem(
                f"{where}.{key}",
                "plain-text-credential",
                f"`{key}` holds a credential as text",
                "It would stand in the topology file, the custom resource and Connect's REST API.",
                "set a placeholder such as `${secret:NAME:KEY}` in its place.",
            )


def _check_validation(where: str, cluster: Cluster) -> Iterator[Problem]:
    given = cluster.validation
    login = isinstance(cluster.authentication, OAuthAuthentication | CustomAuthentication)
    missing = {
        "authentication": login and (given is None or given.authentication is None),
        "trust": cluster.tls is not None
        and isinstance(cluster.tls.trust, SecretPattern)
        and (given is None or given.trust is None),
    }
    for key, needed in missing.items():
        if needed:
            yield Problem(
                f"{where}.validation.{key}",
                "validation-needs-credentials",
                f"the validation job has no `{key}` of its own for this cluster",
                "It logs in by PLAIN, SCRAM or a client certificate, and reads certificates from one key of a Secret; "
                "it can use none of what is given to the connectors here, and refuses to start.",
                f"set `{where}.validation.{key}`, or leave out the validation of flows with this cluster.",
                Severity.WARNING,
            )
