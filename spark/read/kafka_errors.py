"""Translates exceptions of Kafka's client and of the JVM into a ClusterError. The text never holds a credential."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, TypeAlias

from py4j.protocol import Py4JJavaError as JavaError  # type: ignore[import-untyped]

from components.contract.problems import CannotRunError
from components.contract.wording import agreeing

__all__ = ["ClusterError", "JavaError", "JavaObject", "causes", "silent", "translated"]

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
        "Somebody deleted topics while the job was running.",
        "validate again when nobody deletes topics of the flow.",
    ),
}
_UNREACHABLE = _Meaning(
    "unreachable",
    "no broker answered in time",
    "No broker of the cluster has answered yet: the address or the security protocol is wrong, the network blocks the "
    "connection, or the brokers are down.",
    "check bootstrapServers, the network, that securityProtocol is that of the listener, and that the brokers run.",
)
_NOT_AS_ADVERTISED = _Meaning(
    "unreachable",
    "a broker answered at bootstrapServers, but none at the addresses that it advertises",
    "Clients use bootstrapServers only to learn the brokers' addresses.",
    "open these addresses to this machine, or correct advertised.listeners of the brokers.",
)
_BUSY = _Meaning(
    "brokers-busy",
    "the brokers did not answer in time",
    "They have answered before, so address and login are right: they are overloaded or restarting, or the connection "
    "broke.",
    "look at the load and the log of the brokers, and validate again; --flow NAME reads one flow at a time.",
)


def causes(error: JavaError) -> Iterator[tuple[str, str]]:
    """(simple class name, message) of a Java exception and of its causes, outermost first."""
    throwable: JavaObject = error.java_exception
    for _ in range(12):
        if throwable is None:
            return
        yield throwable.getClass().getSimpleName(), str(throwable.getMessage() or "")
        throwable = throwable.getCause()


def translated(error: JavaError, where: str, doing: str, *, answered: bool = False) -> ClusterError:
    """The ClusterError for a Java exception that was raised while `doing` something with the cluster at `where`.

    `answered`: the cluster has answered an earlier request of the job.
    """
    chain = list(causes(error))
    names = {name for name, _ in chain}
    known = next((meaning for name, meaning in _MEANINGS.items() if name in names), None)
    if known is None and "TimeoutException" in names:
        known = _timeout(" ".join(message for _, message in chain), names, answered=answered)
    if known is not None:
        return ClusterError(known.code, f"{known.what}, while {doing}", where, known.why, known.remedy)
    # The class name only: the message of an unknown exception may quote a configuration value.
    return ClusterError(
        "kafka-error",
        f"{chain[-1][0] if chain else 'unknown error'}, while {doing}",
        where,
        "Kafka's client raised an exception that the job does not know.",
        "see the broker's log.",
    )


def silent(partitions: str, where: str, doing: str, seconds: float) -> ClusterError:
    """The ClusterError for a cluster that answers, but delivered no record of `partitions` for this many seconds."""
    what = f"no further record of {partitions} arrived for {seconds:g} s, while {doing}"
    return ClusterError(_BUSY.code, what, where, _BUSY.why, _BUSY.remedy)


def gone(topics: Collection[str], where: str, doing: str) -> ClusterError:
    """The ClusterError for topics that no longer exist: a consumer waits for them silently."""
    meaning = _MEANINGS["UnknownTopicOrPartitionException"]
    named, exist = ", ".join(sorted(topics)), agreeing(len(topics), "[exists|exist]")
    what = f"{agreeing(len(topics), 'topic[|s]')} {named} no longer {exist}, while {doing}"
    return ClusterError(meaning.code, what, where, meaning.why, meaning.remedy)


def _timeout(message: str, names: set[str], *, answered: bool) -> _Meaning:
    """What a timeout means. A request is sent once the client knows the brokers, so if that was the last step, at
    least one of them has answered. Source: KafkaAdminClient.AdminClientRunnable."""
    if answered or "DisconnectException" in names:
        return _BUSY
    return _NOT_AS_ADVERTISED if "waiting to send the call" in message else _UNREACHABLE
