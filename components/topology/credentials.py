"""References to a cluster's credentials: which ones an authentication has, and where each is in Kubernetes.

Imports `clusters` only.
"""

from components.topology.clusters import (
    Authentication,
    ConfigValue,
    Credential,
    CustomAuthentication,
    OAuthAuthentication,
    PlainAuthentication,
    ScramAuthentication,
    SecretKey,
    TlsAuthentication,
)

#: Key of a token endpoint's certificates in a Secret that this project creates.
TOKEN_TRUST_KEY = "token-endpoint.crt"


def credentials(authentication: Authentication | None) -> dict[str, Credential]:
    """Return the credentials of a login, by their keys in a Secret that this project creates."""
    match authentication:
        case PlainAuthentication() | ScramAuthentication():
            return {"password": authentication.password}
        case OAuthAuthentication():
            found = {
                "client.secret": authentication.client_secret,
                "refresh.token": authentication.refresh_token,
                "access.token": authentication.access_token,
            }
            return {key: credential for key, credential in found.items() if credential is not None}
        case TlsAuthentication() | CustomAuthentication() | None:
            return {}


def secret_key(credential: Credential, own_secret: str, own_key: str) -> SecretKey:
    """Return where a credential is in Kubernetes: in the Secret that it names, or in our own if it is a configuration
    value.
    """
    if not isinstance(credential, ConfigValue):
        return credential
    # Our Secret is named after the replication. A name that Kubernetes refuses is a problem that `checks.names` reports
    # together with all others; validating it here would end the check with a trace.
    return SecretKey.model_construct(secret=own_secret, key=own_key)
