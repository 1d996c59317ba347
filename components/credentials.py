"""Credentials of a cluster by reference: which ones an authentication has, and where each is found in Kubernetes.

Imports `clusters` only.
"""

from components.clusters import (
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

#: Key, in a Secret of our making, of the certificates that a token endpoint is trusted by.
TOKEN_TRUST_KEY = "token-endpoint.crt"


def credentials(authentication: Authentication) -> dict[str, Credential]:
    """Credentials of a login, each by its key in a Secret of our making."""
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
        case TlsAuthentication() | CustomAuthentication():
            return {}


def secret_key(credential: Credential, own_secret: str, own_key: str) -> SecretKey:
    """Where a credential is found in Kubernetes: the Secret it names, or the one that we make from configuration."""
    return SecretKey(secret=own_secret, key=own_key) if isinstance(credential, ConfigValue) else credential
