"""A cluster's connection as Kafka client properties, with placeholders for everything that is in a Secret."""

from dataclasses import dataclass

from kafka_replication.components.contract.parameters import SecurityProtocol
from kafka_replication.components.flows.expansion import FlowShape
from kafka_replication.components.flows.resolved import ResolvedFlow, bootstrap_address
from kafka_replication.components.kafka.connections import login_module
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.secrets import (
    OPERATOR_SECRET_PROVIDER,
    SECRET_PROVIDER,
    mounted_path,
    names_here,
    references,
    secret_placeholders_for,
)
from kafka_replication.components.topology import clusters
from kafka_replication.components.topology.clusters import credentials, secret_key

#: Alias of the provider that reads the worker's own property file, if that file holds values.
FILE_PROVIDER = "file"

#: Source: Strimzi kafka_connect_run.sh.
WORKER_FILE = "/tmp/strimzi-connect.properties"

#: Source: strimzi-kafka-oauth, which every Strimzi image contains.
_OAUTH_CALLBACK = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"


@dataclass(frozen=True)
class Vault:
    """A cluster's credentials: their provider, our own Secret, and a token endpoint's certificates (a path, or "")."""

    provider: str
    namespace: str
    own_secret: str
    token_trust: str

    def placeholder(self, credential: clusters.Credential, own_key: str) -> str:
        reference = secret_key(credential, self.own_secret, own_key)
        return self.placeholder_of(reference.secret, reference.key)

    def placeholder_of(self, secret: str, key: str) -> str:
        return f"${{{self.provider}:{self.namespace}/{secret}:{key}}}"


def vault(flow: ResolvedFlow, side: Side, provider: str = SECRET_PROVIDER) -> Vault:
    """Return the vault of one of a flow's clusters."""
    return Vault(provider, flow.namespace, flow.own_secret(side), mounted_path(flow, side, "token-trust"))


def security_protocol(cluster: clusters.Cluster, authentication: clusters.Authentication | None) -> SecurityProtocol:
    """Return Kafka's `security.protocol` for a cluster and its login."""
    if isinstance(authentication, clusters.CustomAuthentication):
        sasl = authentication.sasl
    else:
        sasl = not isinstance(authentication, clusters.TlsAuthentication | None)
    if cluster.tls is None:
        return "SASL_PLAINTEXT" if sasl else "PLAINTEXT"
    return "SASL_SSL" if sasl else "SSL"


def connection_properties(flow: ResolvedFlow, side: Side) -> dict[str, str]:
    """Return every client property of a connector's connection to a cluster, never with a value from a Secret."""
    cluster = flow.cluster(side)
    if side == "target" and flow.strimzi.keeps_values:
        return {key: f"${{{FILE_PROVIDER}:{WORKER_FILE}:{key}}}" for key in _worker_file_keys(cluster)}
    properties = {
        "bootstrap.servers": bootstrap_address(cluster),
        "security.protocol": security_protocol(cluster, cluster.authentication),
        **_trust_properties(flow, side),
    }
    if cluster.authentication is not None:
        properties |= login_properties(cluster.authentication, vault(flow, side))
    return properties


def login_properties(authentication: clusters.Authentication, vault: Vault) -> dict[str, str]:
    """Return the client properties of an authentication, with placeholders for secrets."""
    match authentication:
        case clusters.PlainAuthentication() | clusters.ScramAuthentication():
            password = vault.placeholder(authentication.password, "password")
            mechanism = authentication.type.upper()
            login = login_module(mechanism, username=authentication.username, password=password)
            return {"sasl.mechanism": mechanism, "sasl.jaas.config": login}
        case clusters.TlsAuthentication():
            chain, key = (
                vault.placeholder_of(authentication.secret, key)
                for key in (authentication.certificate, authentication.key)
            )
            return {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
        case clusters.OAuthAuthentication():
            return {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": login_module("OAUTHBEARER", **_oauth_options(authentication, vault)),
                "sasl.login.callback.handler.class": _OAUTH_CALLBACK,
            }
        case clusters.CustomAuthentication():
            return {
                key: secret_placeholders_for(value, vault.provider, vault.namespace)
                for key, value in authentication.config.items()
            }


def _oauth_options(authentication: clusters.OAuthAuthentication, vault: Vault) -> dict[str, str]:
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


def _trust_properties(flow: ResolvedFlow, side: Side) -> dict[str, str]:
    tls = flow.cluster(side).tls
    match tls.trust if tls else None:
        case clusters.KeystoreTrust() as trust:
            return {
                "ssl.truststore.type": trust.format.value,
                "ssl.truststore.location": mounted_path(flow, side, "truststore"),
                "ssl.truststore.password": vault(flow, side).placeholder(trust.password, "truststore.password"),
            }
        case clusters.SecretKey() | clusters.ConfigValue() as trust:
            certificates = vault(flow, side).placeholder(trust, "ca.crt")
        case clusters.SecretPattern(secret=secret, key=str() as key):
            certificates = vault(flow, side).placeholder_of(secret, key)
        case clusters.SecretPattern() as trust if flow.expanded.shape is FlowShape.MIRROR_MAKER2:
            # The operator collects the certificates that the pattern matches, and writes this property itself.
            certificates = vault(flow, side, OPERATOR_SECRET_PROVIDER).placeholder_of(trust.secret, trust.pattern)
        case clusters.SecretPattern():
            # `checks.versions` refuses it wherever a connector would read it; a KafkaMirrorMaker2 has a field for it.
            return {"ssl.truststore.type": "PEM"}
        case None:
            return {}
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": certificates}


def _worker_file_keys(cluster: clusters.Cluster) -> list[str]:
    """Return what a worker's file with values has of the target. Source: 0.45 kafka_connect_config_generator.sh."""
    keys = ["bootstrap.servers", "security.protocol"]
    if cluster.tls is not None and cluster.tls.trust is not None:
        keys += [f"ssl.truststore.{key}" for key in ("location", "password", "type")]
    match cluster.authentication:
        case clusters.PlainAuthentication() | clusters.ScramAuthentication():
            keys += ["sasl.mechanism", "sasl.jaas.config"]
        case clusters.OAuthAuthentication():
            keys += ["sasl.mechanism", "sasl.jaas.config", "sasl.login.callback.handler.class"]
        case clusters.TlsAuthentication():
            keys += [f"ssl.keystore.{key}" for key in ("location", "password", "type")]
        case clusters.CustomAuthentication() | None:
            pass
    return keys


def secrets_read(flow: ResolvedFlow, side: Side) -> set[str]:
    """Return the names of the Secrets that connectors read for one cluster."""
    named = [references(value, flow.namespace) for value in connection_properties(flow, side).values()]
    return names_here(set().union(*named), "Secret", flow.namespace)
