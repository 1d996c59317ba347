"""A cluster's connection as Kafka client properties: plain values, and placeholders for everything in a Secret.

Connectors read what is not sensitive from a ConfigMap, credentials from Secrets, or both from the worker's own file.
"""

import re
from dataclasses import dataclass

from components.clusters import (
    Authentication,
    Cluster,
    ConfigValue,
    Credential,
    CustomAuthentication,
    KeystoreTrust,
    OAuthAuthentication,
    PlainAuthentication,
    ScramAuthentication,
    SecretKey,
    SecretPattern,
    TlsAuthentication,
)
from components.credentials import credentials, secret_key
from components.expansion import Shape
from components.naming import Side, namespace_name, secret_name
from components.resolved import ResolvedFlow, bootstrap_address
from components.specs.mounts import token_trust_path, truststore_path

#: Aliases of the configuration providers in every worker.
CONFIG_MAP_PROVIDER = "cfmap"
SECRET_PROVIDER = "secret"
#: Alias of the provider that reads the worker's own property file, where it holds values.
FILE_PROVIDER = "file"
#: Alias of the provider that the operator gives every worker whose file holds placeholders.
#: Source: Strimzi KafkaConnectConfigurationBuilder.printConfigProviders.
OPERATOR_SECRET_PROVIDER = "strimzisecrets"

#: Source: Strimzi kafka_connect_run.sh.
WORKER_FILE = "/tmp/strimzi-connect.properties"

_LOGIN_MODULES = {
    "plain": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "oauth": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
#: Source: strimzi-kafka-oauth, which every image of Strimzi has.
_OAUTH_CALLBACK = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"

_SECRET_PLACEHOLDER = re.compile(
    rf"\$\{{(?:{SECRET_PROVIDER}|{OPERATOR_SECRET_PROVIDER}):"
    r"(?:(?P<namespace>[^/:}]+)/)?(?P<secret>[^/:}]+):(?P<key>[^}]+)\}"
)


@dataclass(frozen=True)
class Vault:
    """Where the credentials of one cluster are found, and the provider that reads them.

    `own_secret` is the Secret of our making; `token_trust` the path of the certificates of its token endpoint.
    """

    provider: str
    namespace: str
    own_secret: str
    token_trust: str

    def placeholder(self, credential: Credential, own_key: str) -> str:
        reference = secret_key(credential, self.own_secret, own_key)
        return self.placeholder_of(reference.secret, reference.key)

    def placeholder_of(self, secret: str, key: str) -> str:
        return f"${{{self.provider}:{self.namespace}/{secret}:{key}}}"


def vault(resolved: ResolvedFlow, side: Side, provider: str = SECRET_PROVIDER) -> Vault:
    """The vault of one of a flow's clusters."""
    return Vault(
        provider,
        namespace_name(resolved.workers, resolved.flow),
        secret_name(resolved.secrets_owner(side), side),
        token_trust_path(resolved, side),
    )


def security_protocol(cluster: Cluster, authentication: Authentication | None) -> str:
    """Kafka's security.protocol for a cluster and who logs in to it."""
    match authentication:
        case PlainAuthentication() | ScramAuthentication() | OAuthAuthentication():
            sasl = True
        case CustomAuthentication():
            sasl = authentication.sasl
        case TlsAuthentication() | None:
            sasl = False
    if cluster.tls is None:
        return "SASL_PLAINTEXT" if sasl else "PLAINTEXT"
    return "SASL_SSL" if sasl else "SSL"


def connection_properties(resolved: ResolvedFlow, side: Side) -> dict[str, str]:
    """Every client property of a connector's connection to a cluster; no value of a Secret is ever in them."""
    cluster = resolved.cluster(side)
    if side == "target" and resolved.strimzi.keeps_values:
        return {key: f"${{{FILE_PROVIDER}:{WORKER_FILE}:{key}}}" for key in _worker_file_keys(cluster)}
    properties = {
        "bootstrap.servers": bootstrap_address(cluster),
        "security.protocol": security_protocol(cluster, cluster.authentication),
        **_trust_properties(resolved, side),
    }
    if cluster.authentication is not None:
        properties |= login_properties(cluster.authentication, vault(resolved, side))
    return properties


def open_properties(resolved: ResolvedFlow, side: Side) -> dict[str, str]:
    """Those properties of a connection that are plain values."""
    return {key: value for key, value in connection_properties(resolved, side).items() if "${" not in value}


def login_properties(authentication: Authentication, vault: Vault) -> dict[str, str]:
    """Client properties of an authentication, its secrets as placeholders."""
    match authentication:
        case PlainAuthentication() | ScramAuthentication():
            password = vault.placeholder(authentication.password, "password")
            return {
                "sasl.mechanism": authentication.type.upper(),
                "sasl.jaas.config": _jaas(authentication, username=authentication.username, password=password),
            }
        case TlsAuthentication():
            chain, key = (
                vault.placeholder_of(authentication.secret, key)
                for key in (authentication.certificate, authentication.key)
            )
            return {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": chain,
                "ssl.keystore.key": key,
            }
        case OAuthAuthentication():
            return {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": _jaas(authentication, **_oauth_options(authentication, vault)),
                "sasl.login.callback.handler.class": _OAUTH_CALLBACK,
            }
        case CustomAuthentication():
            return {key: _read_by(vault, value) for key, value in authentication.config.items()}


def _read_by(vault: Vault, value: str) -> str:
    """A user's property whose placeholders of Secrets are read by the vault's provider, in its namespace if in none."""

    def placeholder(found: re.Match[str]) -> str:
        namespace = found["namespace"] or vault.namespace
        return f"${{{vault.provider}:{namespace}/{found['secret']}:{found['key']}}}"

    return _SECRET_PLACEHOLDER.sub(placeholder, value)


def _oauth_options(authentication: OAuthAuthentication, vault: Vault) -> dict[str, str]:
    """Source: strimzi-kafka-oauth, ClientConfig."""
    options = {
        "oauth.client.id": authentication.client_id,
        "oauth.token.endpoint.uri": authentication.token_endpoint_uri,
        "oauth.scope": authentication.scope,
        "oauth.audience": authentication.audience,
        **{
            f"oauth.{key}": vault.placeholder(credential, key)
            for key, credential in credentials(authentication).items()
        },
        "oauth.ssl.truststore.location": vault.token_trust,
        "oauth.ssl.truststore.type": "PEM" if vault.token_trust else None,
    }
    return {key: value for key, value in options.items() if value}


def _jaas(authentication: Authentication, **options: str) -> str:
    given = " ".join(f'{key}="{value}"' for key, value in options.items())
    return f"{_LOGIN_MODULES[authentication.type]} required {given};"


def _trust_properties(resolved: ResolvedFlow, side: Side) -> dict[str, str]:
    tls = resolved.cluster(side).tls
    match tls.trust if tls else None:
        case KeystoreTrust() as trust:
            return {
                "ssl.truststore.type": trust.format.value,
                "ssl.truststore.location": truststore_path(resolved, side),
                "ssl.truststore.password": vault(resolved, side).placeholder(trust.password, "truststore.password"),
            }
        case SecretKey() | ConfigValue() as trust:
            certificates = vault(resolved, side).placeholder(trust, "ca.crt")
            return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": certificates}
        case SecretPattern() as trust if resolved.named.shape is Shape.MIRROR_MAKER2:
            # The operator collects what the pattern matches, and writes this itself.
            every = vault(resolved, side, OPERATOR_SECRET_PROVIDER)
            certificates = every.placeholder_of(trust.secret, trust.pattern)
            return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": certificates}
        case SecretPattern():
            # `checks.versions` refuses it wherever a connector would read it; a KafkaMirrorMaker2 has a field for it.
            return {"ssl.truststore.type": "PEM"}
        case None:
            return {}


def _worker_file_keys(cluster: Cluster) -> list[str]:
    """Client properties of the target in a worker's file that holds values.

    Source: Strimzi 0.45 kafka_connect_config_generator.sh.
    """
    keys = ["bootstrap.servers", "security.protocol"]
    if cluster.tls is not None and cluster.tls.trust is not None:
        keys += [f"ssl.truststore.{key}" for key in ("location", "password", "type")]
    match cluster.authentication:
        case PlainAuthentication() | ScramAuthentication():
            keys += ["sasl.mechanism", "sasl.jaas.config"]
        case OAuthAuthentication():
            keys += ["sasl.mechanism", "sasl.jaas.config", "sasl.login.callback.handler.class"]
        case TlsAuthentication():
            keys += [f"ssl.keystore.{key}" for key in ("location", "password", "type")]
        case CustomAuthentication() | None:
            pass
    return keys


def secrets_read(resolved: ResolvedFlow, side: Side) -> set[str]:
    """Names of the Secrets that connectors, or the worker through its own configuration, read for one cluster."""
    here = namespace_name(resolved.workers, resolved.flow)
    values = connection_properties(resolved, side).values()
    return {secret for value in values for _, secret in placeholder_secrets(value, here)}


def secrets_in_properties(resolved: ResolvedFlow) -> set[str]:
    """Names of the Secrets, in the workers' namespace, that properties of the workers and connectors refer to."""
    here, connectors = namespace_name(resolved.workers, resolved.flow), resolved.flow.connectors
    configs = [
        resolved.flow.connect.config,
        *(each.config for each in (connectors.source, connectors.checkpoint, connectors.heartbeat)),
        *(each.config for each in connectors.sources.values()),
    ]
    named = {pair for config in configs for value in config.values() for pair in placeholder_secrets(str(value), here)}
    return {secret for namespace, secret in named if namespace == here}


def placeholder_secrets(value: str, namespace: str) -> set[tuple[str, str]]:
    """Namespace and name of every Secret that placeholders in a property refer to; `namespace` is that of the workers.

    Source: Strimzi kafka-kubernetes-config-provider.
    """
    return {(found["namespace"] or namespace, found["secret"]) for found in _SECRET_PLACEHOLDER.finditer(value)}


def config_map_placeholder(namespace: str, config_map: str, key: str) -> str:
    """Placeholder that the worker's ConfigMap provider resolves. Source: Strimzi kafka-kubernetes-config-provider."""
    return f"${{{CONFIG_MAP_PROVIDER}:{namespace}/{config_map}:{key}}}"
