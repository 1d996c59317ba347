"""Translates exceptions of Kafka's client and of the JVM into a ClusterError. The text never holds a credential."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from py4j.protocol import Py4JJavaError as JavaError  # type: ignore[import-untyped]

from components.contract.problems import CannotRunError

__all__ = ["ClusterError", "JavaError", "JavaObject", "causes", "translated"]

#: An object in Spark's JVM, as py4j shows it.
JavaObject: TypeAlias = Any


class ClusterError(CannotRunError):
    """A Kafka cluster did not answer, refused the login or refused the request. No field may hold a credential."""


class _Meaning(NamedTuple):
    code: str
    what: str
    why: str
    remedy: str


_UNTRUSTED = _Meaning(
    "tls-untrusted",
    "the TLS handshake failed",
    "The certificate is not signed by a trusted authority, it names another host, or the cluster refuses the client's "
    "certificate.",
    "set trust to the authority that signed this cluster's certificates.",
)
#: By Java class. The first one that occurs among the causes counts: a failed login often causes a timeout.
_MEANINGS = {
    "SaslAuthenticationException": _Meaning(
        "login-refused",
        "the cluster refuses the user name or the password",
        "There is no such user on the cluster, or the user has another password.",
        "correct the username or the credential that the parameter document refers to.",
    ),
    "UnsupportedSaslMechanismException": _Meaning(
        "login-refused",
        "the cluster does not offer this SASL mechanism on this listener",
        "The authentication type belongs to another listener.",
        "set the authentication type that the listener offers.",
    ),
    "SslAuthenticationException": _UNTRUSTED,
    "SSLHandshakeException": _UNTRUSTED,
    "TopicAuthorizationException": _Meaning(
        "not-authorized",
        "the user may not describe or read a topic",
        "The job reads the flow's topics, their checkpoints and offset syncs.",
        "grant DESCRIBE, READ and DESCRIBE_CONFIGS on the flow's topics, checkpoints and offset syncs included.",
    ),
    "GroupAuthorizationException": _Meaning(
        "not-authorized",
        "the user may not describe a consumer group",
        "The job reads the committed offsets of the flow's groups.",
        "grant DESCRIBE on the flow's groups.",
    ),
    "ClusterAuthorizationException": _Meaning(
        "not-authorized",
        "the user may not describe the cluster",
        "The job lists consumer groups.",
        "grant DESCRIBE on the groups that the job must see.",
    ),
    "SecurityDisabledException": _Meaning(
        "authorizer-off",
        "the cluster has no authorizer",
        "Without an authorizer there are no ACLs to read.",
        "set authorizer.class.name on the brokers.",
    ),
    "InvalidConfigurationException": _Meaning(
        "client-configuration",
        "Kafka's client does not accept the certificates or keys",
        "They are not PEM, or the key is encrypted.",
        "store PEM blocks; a private key must be PKCS#8 and not encrypted.",
    ),
    "ConfigException": _Meaning(
        "client-configuration",
        "Kafka's client does not accept its configuration",
        "The address does not resolve, or the trust is not PEM.",
        "correct bootstrapServers or trust.",
    ),
    "UnknownTopicOrPartitionException": _Meaning(
        "topic-gone",
        "a topic or partition no longer exists",
        "Somebody deleted it while the job was running.",
        "validate again when nobody deletes topics of the flow.",
    ),
    "TimeoutException": _Meaning(
        "unreachable",
        "no broker answered in time",
        "The address or the security protocol may be wrong, or the network blocks the connection.",
        "check bootstrapServers, the network, and that securityProtocol is that of the listener.",
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
    """The ClusterError for a Java exception that was raised while `doing` something with the cluster at `where`."""
    chain = list(causes(error))
    names = {name for name, _ in chain}
    for name, (code, what, why, remedy) in _MEANINGS.items():
        if name in names:
            return ClusterError(code, f"{what}, while {doing}", where, why, remedy)
    # The class name only: the message of an unknown exception may quote a configuration value.
    return ClusterError(
        "kafka-error",
        f"{chain[-1][0] if chain else 'unknown error'}, while {doing}",
        where,
        "Kafka's client raised an exception that the job does not know.",
        "see the broker's log.",
    )
