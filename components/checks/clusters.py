"""Clusters: the operator's version, the trust of targets, and complete, supported logins."""

from collections.abc import Iterator, Mapping

from components.checks.property_values import is_open_credential, open_credential
from components.contract.problems import Problem, Severity
from components.flows.expansion import expand
from components.flows.operators import strimzi
from components.topology.clusters import (
    Authentication,
    Cluster,
    CustomAuthentication,
    KeystoreTrust,
    OAuthAuthentication,
    PlainAuthentication,
    ScramAuthentication,
    SecretPattern,
    TlsAuthentication,
)
from components.topology.model import Topology

#: The oldest operator whose resource definitions the rendered objects are tested against.
OLDEST_STRIMZI = "0.45"
#: Source: Strimzi KafkaClientAuthenticationCustom.ALLOWED_PREFIXES.
_CUSTOM_PREFIXES = ("sasl.", "ssl.keystore.")
_GUESSED = "Whoever can read the connection can guess passwords offline from what SCRAM sends."
#: What a login reveals on a connection that is not encrypted. Source: RFC 4616, RFC 5802 (9), RFC 7628 (4).
_READABLE = {
    "plain": "PLAIN sends the password itself, so whoever can read the connection has it.",
    "scram-sha-256": _GUESSED,
    "scram-sha-512": _GUESSED,
    "oauth": "The token is sent in plain text, so whoever can read the connection can use it.",
}


def check_operator(topology: Topology) -> Problem | None:
    """The problem of an operator that is too old for whatever is rendered, or None."""
    operator, oldest = strimzi(topology.strimzi).version, strimzi(OLDEST_STRIMZI).version
    if operator is None or oldest is None or operator >= oldest:
        return None
    return Problem(
        "strimzi",
        "unsupported-strimzi",
        f"Strimzi {topology.strimzi} is older than {OLDEST_STRIMZI}",
        "The rendered objects are tested against the resource definitions of 0.45 and 1.2, not those of older "
        "operators.",
        f"upgrade the operator and set `strimzi: '{OLDEST_STRIMZI}'` or later.",
    )


def check_clusters(topology: Topology) -> Iterator[Problem]:
    """Every cluster can be connected to."""
    for alias, cluster in topology.clusters.items():
        yield from check_logins(alias, cluster)
    yield from _check_target_trust(topology)


def _check_target_trust(topology: Topology) -> Iterator[Problem]:
    """Workers can trust their target."""
    for alias in sorted({flow.settings.target for flow in expand(topology)} & set(topology.clusters)):
        tls = topology.clusters[alias].tls
        if tls is not None and isinstance(tls.trust, KeystoreTrust):
            yield Problem(
                f"clusters.{alias}.tls.trust.format",
                "keystore-trust-on-target",
                f"the trust of the target `{alias}` is a {tls.trust.format} file",
                "The workers connect to the target by KafkaConnect's trustedCertificates, which accept only PEM.",
                "set `trust: {secret: NAME, key: ca.crt}` with the certificate authority as PEM.",
            )


def check_logins(alias: str, cluster: Cluster) -> Iterator[Problem]:
    """A cluster's logins are complete: that of the connectors and that of the validation job."""
    where = f"clusters.{alias}"
    authentication = cluster.authentication
    if isinstance(authentication, TlsAuthentication) and cluster.tls is None:
        yield Problem(
            f"{where}.authentication",
            "certificate-without-tls",
            "the cluster has a client certificate but no `tls`",
            "Without TLS the client never presents its certificate, and the broker sees an anonymous client.",
            "add `tls: {}` or `tls: {trust: …}`.",
        )
    if cluster.tls is None and authentication is not None and authentication.type in _READABLE:
        yield Problem(
            f"{where}.authentication",
            "login-without-tls",
            f"the login by {authentication.type} has no `tls`",
            f"{_READABLE[authentication.type]} Records are also readable there.",
            "add `tls: {trust: {secret: NAME, key: ca.crt}}`, or `tls: {}` if a public authority signed the brokers' "
            "certificates.",
            Severity.WARNING,
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
    """Text in quotation marks in a login module's options does not contain a character that ends them."""
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
                f"`{key}` contains a quotation mark or a backslash",
                "sasl.jaas.config puts the text in quotation marks, and its parser would end the text at this "
                "character.",
                f"use a `{key}` without these characters.",
            )


def _check_oauth(where: str, login: OAuthAuthentication) -> Iterator[Problem]:
    """An OAuth login has an access token, or everything that it needs to request one.

    Source: Strimzi AuthenticationUtils.validateClientAuthenticationOAuth.
    """
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
            "A client either has an access token or requests one from the token endpoint with its own credentials.",
            f"set `{'`, `'.join(missing)}`, or `accessToken`.",
        )


def _check_custom(where: str, config: Mapping[str, str]) -> Iterator[Problem]:
    """A custom login has only properties that Strimzi passes on, and no plain-text credential."""
    for key, value in config.items():
        if not key.startswith(_CUSTOM_PREFIXES):
            yield Problem(
                f"{where}.{key}",
                "custom-property-ignored",
                f"`{key}` is not a property of a login",
                f"Strimzi accepts only properties that begin with `{'` or `'.join(_CUSTOM_PREFIXES)}` here. It drops "
                "others and only logs that.",
                "remove it; set the cluster's `tls` for its trust, and `connect.config` for properties of the workers.",
            )
        elif is_open_credential(key, value):
            yield open_credential(f"{where}.{key}", key, "set it to a placeholder such as `${secret:NAME:KEY}`.")


def _check_validation(where: str, cluster: Cluster) -> Iterator[Problem]:
    """The validation job has credentials that it can use."""
    given = cluster.validation
    login = isinstance(cluster.authentication, OAuthAuthentication | CustomAuthentication)
    missing = {
        "authentication": login and (given is None or given.authentication is None),
        "trust": cluster.tls is not None
        and isinstance(cluster.tls.trust, SecretPattern)
        and cluster.tls.trust.key is None
        and (given is None or given.trust is None),
    }
    for key, needed in missing.items():
        if needed:
            yield Problem(
                f"{where}.validation.{key}",
                "validation-needs-credentials",
                f"the validation job has no `{key}` for this cluster",
                "The job logs in by PLAIN, SCRAM or a client certificate, and reads trusted certificates from one "
                "key of a Secret. It cannot use the connectors' login here, so it refuses to start.",
                f"set `{where}.validation.{key}`, or do not validate flows with this cluster.",
                Severity.WARNING,
            )
