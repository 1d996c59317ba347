"""Kafka's and the JVM's exceptions in words: which cluster, what it said, what to change. Never a credential."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from py4j.protocol import Py4JJavaError as JavaError  # type: ignore[import-untyped]

from spark.errors import ClusterError

__all__ = ["JavaError", "JavaObject", "causes", "translated"]

#: An object in Spark's JVM, as py4j shows it.
JavaObject: TypeAlias = Any

#: Java class -> (code, what, remedy), the most telling first: a failed login is often the cause of a timeout.
_MEANINGS = {
    "SaslAuthenticationException": (
        "login-refused",
        "the cluster refuses the user name or the password",
        "correct the username or the credential that the parameter document refers to",
    ),
    "UnsupportedSaslMechanismException": (
        "login-refused",
        "the cluster does not offer this SASL mechanism on this listener",
        "set the authentication type that the listener offers",
    ),
    "SslAuthenticationException": (
        "tls-untrusted",
        "the TLS handshake failed: the certificate is not signed by a trusted authority, names another host, or the "
        "client's own certificate is refused",
        "set trust to the authority that signed this cluster's certificates",
    ),
    "SSLHandshakeException": (
        "tls-untrusted",
        "the TLS handshake failed",
        "set trust to the authority that signed this cluster's certificates",
    ),
    "TopicAuthorizationException": (
        "not-authorized",
        "the user may not describe or read a topic",
        "grant DESCRIBE, READ and DESCRIBE_CONFIGS on the flow's topics, checkpoints and offset syncs included",
    ),
    "GroupAuthorizationException": (
        "not-authorized",
        "the user may not describe a consumer group",
        "grant DESCRIBE on the flow's groups",
    ),
    "ClusterAuthorizationException": (
        "not-authorized",
        "the user may not describe the cluster",
        "grant DESCRIBE on the groups to be seen",
    ),
    "SecurityDisabledException": (
        "authorizer-off",
        "the cluster has no authorizer",
        "set authorizer.class.name on the brokers",
    ),
    "InvalidConfigurationException": (
        "client-configuration",
        "Kafka's client does not accept the certificates or keys",
        "store PEM blocks; a private key must be PKCS#8 and not encrypted",
    ),
    "ConfigException": (
        "client-configuration",
        "Kafka's client does not accept its configuration: an address that does not resolve, or trust that is not PEM",
        "correct bootstrapServers or trust",
    ),
    "UnknownTopicOrPartitionException": (
        "topic-gone",
        "a topic or partition does not exist any more",
        "validate again when nobody deletes topics of the flow",
    ),
    "TimeoutException": (
        "unreachable",
        "no broker answered in time",
        "check bootstrapServers, the network and that securityProtocol is the listener's",
    ),
}


def causes(error: JavaError) -> Iterator[tuple[str, str]]:
    """(simple class name, message) of a Java exception and of its causes, outermost first."""
    throwable: JavaObject = error.java_exception
    for _ in range(12):
        if throwable is None:
            return
        yield throwable.getClass().getSimpleName(), str(throwable.getMessage() or "")
        throwable = throwable.getCause()


def translated(error: JavaError, where: str, doing: str) -> ClusterError:
    """The ClusterError for a Java exception raised while `doing` something with the cluster at `where`."""
    chain = list(causes(error))
    names = {name for name, _ in chain}
    for name, (code, what, remedy) in _MEANINGS.items():
        if name in names:
            return ClusterError(code, f"{what}, while {doing}", where, remedy)
    # The class alone: messages of unknown exceptions may quote a configuration value.
    return ClusterError(
        "kafka-error", f"{chain[-1][0] if chain else 'unknown error'}, while {doing}", where, "see the broker's log"
    )
