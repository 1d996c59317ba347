"""Every kind of login as a topology declares it, and a flow whose clusters both use it."""

from typing import Any

from kafka_replication.components.flows.resolved import ResolvedFlow
from tests.builders import a_cluster, a_resolved_flow

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
CALLBACK = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule required;"

TRUST = {"secret": "ca", "key": "ca.crt"}
PASSWORD = {"secret": "login", "key": "password"}

OAUTH = {
    "type": "oauth",
    "tokenEndpointUri": "https://auth.example.com/token",
    "clientId": "mirror",
    "clientSecret": {"secret": "login", "key": "client"},
    "scope": "kafka",
    "audience": "brokers",
    "trust": {"secret": "auth-ca", "key": "auth.crt"},
}
TOKEN = {"type": "oauth", "accessToken": {"config": "token"}}
CUSTOM = {
    "type": "custom",
    "config": {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} required username="m" password="${{secret:login:password}}";',
    },
}
AWS = {"type": "custom", "config": {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": IAM}}


def password_login(kind: str) -> dict[str, Any]:
    return {"type": kind, "username": "m", "password": PASSWORD}


def oauth_jaas(provider: str, side: str) -> str:
    return (
        f'{BEARER} required oauth.client.id="mirror" oauth.token.endpoint.uri="https://auth.example.com/token" '
        f'oauth.scope="kafka" oauth.audience="brokers" '
        f'oauth.client.secret="${{{provider}:mirror-orders/login:client}}" '
        f'oauth.ssl.truststore.location="/mnt/{side}-token-trust/auth.crt" oauth.ssl.truststore.type="PEM";'
    )


def with_login(authentication: dict[str, Any] | None, strimzi: str) -> ResolvedFlow:
    """A flow whose clusters both use the same login."""
    cluster = a_cluster(tls={"trust": TRUST}, authentication=authentication)
    return a_resolved_flow({"useast": cluster, "uswest": {**cluster, "region": "us-west-2"}}, strimzi=strimzi)
