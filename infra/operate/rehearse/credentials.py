"""Where the credentials of a stack's clusters are kept: references for the runbook, never a value."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from components.flows.naming import validation_secret_name
from components.flows.resolved import ResolvedFlow, config_values
from components.kafka.replication_policy import SIDES, Side
from components.topology.clusters import (
    Authentication,
    Cluster,
    ConfigValue,
    CustomAuthentication,
    KeystoreTrust,
    SecretKey,
    SecretPattern,
    TlsAuthentication,
    Trust,
    credentials,
    kafka_principal,
    validation_principal,
)


class CredentialPlace(NamedTuple):
    """A place with a credential of a cluster, and who logs in with it: a flow's connectors, or the commands for it.

    `user` is empty if only the cluster knows it. `place` is Markdown.
    """

    cluster: str
    by_connectors: bool
    flow: str
    user: str
    place: str


def credential_places(flows: Iterable[ResolvedFlow]) -> list[CredentialPlace]:
    """Return where the credentials of all flows are, in the order of the clusters."""
    return sorted({place for flow in flows for side in SIDES for place in _places(flow, side)})


def _places(flow: ResolvedFlow, side: Side) -> Iterator[CredentialPlace]:
    cluster, alias = flow.cluster(side), flow.alias(side)
    user = kafka_principal(cluster) or ""
    own_secret = flow.own_secret(side)
    trust = cluster.tls.trust if cluster.tls else None
    for place in (*_login(flow, alias, cluster.authentication, own_secret), *_trust(flow, trust, own_secret)):
        yield CredentialPlace(alias, True, flow.name, user, place)
    if (access := cluster.validation) is None:
        return
    user = validation_principal(cluster) or user
    own_secret = validation_secret_name(flow.secrets_owner(side), side)
    for place in (*_login(flow, alias, access.authentication, own_secret), *_trust(flow, access.trust, own_secret)):
        yield CredentialPlace(alias, False, flow.name, user, place)


def _login(flow: ResolvedFlow, alias: str, login: Authentication | None, own_secret: str) -> Iterator[str]:
    if isinstance(login, TlsAuthentication):
        for key in (login.certificate, login.key):
            yield _in_secret(flow, login.secret, key)
    if isinstance(login, CustomAuthentication):
        yield f"the Secrets that `clusters.{alias}.authentication.config` names"
    for key, credential in credentials(login).items():
        yield _place(flow, credential, own_secret, key)


def _trust(flow: ResolvedFlow, trust: Trust | None, own_secret: str) -> Iterator[str]:
    match trust:
        case KeystoreTrust():
            yield _in_secret(flow, trust.secret, trust.key)
            yield _place(flow, trust.password, own_secret, "truststore.password")
        case SecretPattern():
            yield f"Secret `{flow.namespace}/{trust.secret}`, keys `{trust.pattern}`"
        case SecretKey() | ConfigValue():
            yield _place(flow, trust, own_secret, "ca.crt")


def _place(flow: ResolvedFlow, credential: SecretKey | ConfigValue, own_secret: str, own_key: str) -> str:
    if isinstance(credential, ConfigValue):
        rendered = _in_secret(flow, own_secret, own_key)
        return f"configuration key `replication:{credential.config}`, which becomes {rendered}"
    return _in_secret(flow, credential.secret, credential.key)


def _in_secret(flow: ResolvedFlow, secret: str, key: str) -> str:
    return f"Secret `{flow.namespace}/{secret}` key `{key}`"


def configured_credentials(cluster: Cluster) -> list[str]:
    """Return the configuration keys of the cluster's credentials."""
    address = cluster.bootstrap_servers
    keys = {value.config for value in config_values(cluster)}
    return sorted(keys - ({address.config} if isinstance(address, ConfigValue) else set()))


def has_own_secrets(cluster: Cluster) -> bool:
    """Return whether a credential is in a Secret that the stack does not make."""
    return '"secret":' in cluster.model_dump_json()
