"""Where the credentials of a cluster are kept: references only, never a value."""

from collections.abc import Iterator

from components.flows.naming import validation_secret_name
from components.flows.resolved import ResolvedFlow
from components.kafka.replication_policy import Side
from components.topology.clusters import (
    Authentication,
    ConfigValue,
    CustomAuthentication,
    KeystoreTrust,
    SecretKey,
    SecretPattern,
    TlsAuthentication,
    Trust,
    credentials,
)


def connector_places(flow: ResolvedFlow, side: Side) -> tuple[str, ...]:
    """Where the connectors' credentials for a cluster are, as Markdown."""
    cluster, alias = flow.cluster(side), flow.alias(side)
    trust = cluster.tls.trust if cluster.tls else None
    kept = [*_login(flow, alias, cluster.authentication, flow.own_secret(side))]
    return tuple(kept + _trust(flow, trust, flow.own_secret(side)))


def validation_places(flow: ResolvedFlow, side: Side) -> tuple[str, ...]:
    """Where the validation job's credentials are, as Markdown; empty if it logs in as the connectors do."""
    access = flow.cluster(side).validation
    if access is None:
        return ()
    own = validation_secret_name(flow.secrets_owner(side), side)
    kept = [*_login(flow, flow.alias(side), access.authentication, own)]
    return tuple(kept + _trust(flow, access.trust, own))


def _login(flow: ResolvedFlow, alias: str, login: Authentication | None, own: str) -> Iterator[str]:
    if isinstance(login, TlsAuthentication):
        for key in (login.certificate, login.key):
            yield _key(flow, SecretKey(secret=login.secret, key=key))
    if isinstance(login, CustomAuthentication):
        yield f"the Secrets that `clusters.{alias}.authentication.config` names"
    for key, credential in credentials(login).items():
        yield _kept(flow, credential, own, key)


def _trust(flow: ResolvedFlow, trust: Trust | None, own: str) -> list[str]:
    match trust:
        case KeystoreTrust():
            password = _kept(flow, trust.password, own, "truststore.password")
            return [_key(flow, SecretKey(secret=trust.secret, key=trust.key)), password]
        case SecretPattern():
            return [f"Secret `{flow.namespace}/{trust.secret}`, keys `{trust.pattern}`"]
        case SecretKey() | ConfigValue():
            return [_kept(flow, trust, own, "ca.crt")]
        case None:
            return []


def _kept(flow: ResolvedFlow, credential: SecretKey | ConfigValue, own: str, own_key: str) -> str:
    if isinstance(credential, ConfigValue):
        rendered = _key(flow, SecretKey.model_construct(secret=own, key=own_key))
        return f"configuration key `replication:{credential.config}`, which becomes {rendered}"
    return _key(flow, credential)


def _key(flow: ResolvedFlow, kept: SecretKey) -> str:
    return f"Secret `{flow.namespace}/{kept.secret}` key `{kept.key}`"
