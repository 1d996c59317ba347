"""A cluster's connection as Kafka client properties, in the two halves a flow keeps them in.

What is not sensitive goes into a ConfigMap, credentials stay in Secrets; connectors refer to both by placeholder.
"""

from components.clusters import (
    Authentication,
    Cluster,
    ConfigValue,
    Credential,
    KeystoreTrust,
    PlainAuthentication,
    ScramAuthentication,
    SecretKey,
    TlsAuthentication,
    Trust,
)
from components.naming import Side, secret_name
from components.resolved import ResolvedFlow, bootstrap_address

#: Aliases of the configuration providers in every worker.
CONFIG_MAP_PROVIDER = "cfmap"
SECRET_PROVIDER = "secret"

_LOGIN_MODULES = {
    "plain": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def security_protocol(cluster: Cluster) -> str:
    """Kafka's security.protocol for a cluster."""
    sasl = isinstance(cluster.authentication, PlainAuthentication | ScramAuthentication)
    if cluster.tls is None:
        return "SASL_PLAINTEXT" if sasl else "PLAINTEXT"
    return "SASL_SSL" if sasl else "SSL"


def open_client_properties(cluster: Cluster, truststore_path: str) -> dict[str, str]:
    """Connection properties that are not sensitive.

    `truststore_path` is where a JKS or PKCS#12 truststore is mounted in the worker.
    """
    properties = {
        "bootstrap.servers": bootstrap_address(cluster),
        "security.protocol": security_protocol(cluster),
    }
    if isinstance(cluster.authentication, PlainAuthentication | ScramAuthentication):
        properties["sasl.mechanism"] = cluster.authentication.type.upper()
    if isinstance(cluster.authentication, TlsAuthentication):
        properties["ssl.keystore.type"] = "PEM"
    trust = cluster.tls.trust if cluster.tls else None
    if isinstance(trust, KeystoreTrust):
        properties["ssl.truststore.type"] = trust.format.value
        properties["ssl.truststore.location"] = truststore_path
    elif trust is not None:
        properties["ssl.truststore.type"] = "PEM"
    return properties


def secret_client_properties(resolved: ResolvedFlow, side: Side, namespace: str) -> dict[str, str]:
    """Connection properties whose values are placeholders for keys of Secrets; no value is ever in them."""
    cluster = resolved.cluster(side)
    own = secret_name(resolved.name, side)
    properties: dict[str, str] = {}
    authentication = cluster.authentication
    if isinstance(authentication, PlainAuthentication | ScramAuthentication):
        password = _placeholder(namespace, secret_key(authentication.password, own, "password"))
        properties["sasl.jaas.config"] = (
            f"{_LOGIN_MODULES[authentication.type]} required "
            f'username="{authentication.username}" password="{password}";'
        )
    elif isinstance(authentication, TlsAuthentication):
        for name, key in (("certificate.chain", authentication.certificate), ("key", authentication.key)):
            properties[f"ssl.keystore.{name}"] = _placeholder(
                namespace, SecretKey(secret=authentication.secret, key=key)
            )
    trust = cluster.tls.trust if cluster.tls else None
    if isinstance(trust, KeystoreTrust):
        password = _placeholder(namespace, secret_key(trust.password, own, "truststore.password"))
        properties["ssl.truststore.password"] = password
    elif trust is not None:
        properties["ssl.truststore.certificates"] = _placeholder(namespace, secret_key(trust, own, "ca.crt"))
    return properties


def secret_key(credential: Credential | Trust, own_secret: str, own_key: str) -> SecretKey:
    """Where a credential is found in Kubernetes: the Secret it names, or the one that we make from configuration."""
    if isinstance(credential, ConfigValue):
        return SecretKey(secret=own_secret, key=own_key)
    return SecretKey(secret=credential.secret, key=credential.key)


def secrets_read(resolved: ResolvedFlow, side: Side) -> set[str]:
    """Names of the Secrets that the connectors read for one cluster."""
    cluster = resolved.cluster(side)
    own = secret_name(resolved.name, side)
    names = _authentication_secrets(cluster.authentication, own)
    trust = cluster.tls.trust if cluster.tls else None
    if isinstance(trust, KeystoreTrust):
        # The truststore itself is mounted by the kubelet; only its password goes through the provider.
        names.add(secret_key(trust.password, own, "truststore.password").secret)
    elif trust is not None:
        names.add(secret_key(trust, own, "ca.crt").secret)
    return names


def _authentication_secrets(authentication: Authentication | None, own: str) -> set[str]:
    match authentication:
        case PlainAuthentication() | ScramAuthentication():
            return {secret_key(authentication.password, own, "password").secret}
        case TlsAuthentication():
            return {authentication.secret}
        case None:
            return set()


def _placeholder(namespace: str, reference: SecretKey) -> str:
    return f"${{{SECRET_PROVIDER}:{namespace}/{reference.secret}:{reference.key}}}"


def config_map_placeholder(namespace: str, config_map: str, key: str) -> str:
    """Placeholder that the worker's ConfigMap provider resolves. Source: Strimzi kafka-kubernetes-config-provider."""
    return f"${{{CONFIG_MAP_PROVIDER}:{namespace}/{config_map}:{key}}}"
