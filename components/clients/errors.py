"""What a cluster's refusal means, in Kafka's terms: an error with its code and remedy. It never holds a credential."""

from collections.abc import Collection
from typing import Any, NamedTuple

from confluent_kafka import KafkaError

from kafka_replication.components.contract.wording import agreeing


class NoAnswerError(Exception):
    """A question got no answer; the message says which, and why.

    `refused` means that the cluster answers, but refuses the login or the right to ask.
    """

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class ClusterError(NoAnswerError):
    """A cluster did not answer or refused: a NoAnswerError with the fields of a CannotRunError.

    The message of the exception is `sentence`, which names the cluster and is short enough for a status.
    """

    def __init__(
        self,
        code: str,
        what: str,
        where: str,
        why: str,
        remedy: str,
        *,
        sentence: str = "",
        refused: bool = False,
        kafka_code: int | None = None,
    ) -> None:
        super().__init__(sentence or what, refused=refused)
        #: The code of librdkafka's error.
        self.kafka_code = kafka_code
        self.code, self.what, self.where, self.why, self.remedy = code, what, where, why, remedy


#: The code of the error for a record that this client cannot show.
HEADER_UNREADABLE = "header-unreadable"


class ErrorMeaning(NamedTuple):
    """Explains an error to somebody who runs a command."""

    code: str
    what: str
    why: str
    remedy: str


_LOGIN_REFUSED = ErrorMeaning(
    "login-refused",
    "the cluster refuses the user name or the password",
    "There is no such user on the cluster, or the user has another password.",
    "correct the username or the credential that the parameter document refers to.",
)
_NO_SUCH_MECHANISM = ErrorMeaning(
    "login-refused",
    "the cluster does not offer this SASL mechanism on this listener",
    "The authentication type belongs to another listener.",
    "set the authentication type that the listener offers.",
)
_UNTRUSTED = ErrorMeaning(
    "tls-untrusted",
    "the TLS handshake failed",
    "The certificate is not signed by a trusted authority, it names another host, or the cluster refuses the client's "
    "certificate.",
    "set trust to the authority that signed this cluster's certificates.",
)
_TOPIC_GONE = ErrorMeaning(
    "topic-gone",
    "a topic or partition no longer exists",
    "Somebody deleted topics while the job was running.",
    "validate again when nobody deletes topics of the flow.",
)
_CONFIGURATION = ErrorMeaning(
    "client-configuration",
    "the client's configuration is not accepted",
    "The address does not resolve, or the certificates or the key are not PEM, or the key is encrypted.",
    "correct bootstrapServers, or store PEM blocks; a private key must be PKCS#8 and not encrypted.",
)
_UNREACHABLE = ErrorMeaning(
    "unreachable",
    "no broker answered in time",
    "No broker of the cluster has answered yet: the address or the security protocol is wrong, the network blocks the "
    "connection, or the brokers are down.",
    "check bootstrapServers, the network, that securityProtocol is that of the listener, and that the brokers run.",
)
_NOT_AS_ADVERTISED = ErrorMeaning(
    "unreachable",
    "a broker answered at bootstrapServers, but none at the addresses that it advertises",
    "Clients use bootstrapServers only to learn the brokers' addresses.",
    "open these addresses to this machine, or correct advertised.listeners of the brokers.",
)
_BUSY = ErrorMeaning(
    "brokers-busy",
    "the brokers did not answer in time",
    "They have answered before, so address and login are right: they are overloaded or restarting, or the connection "
    "broke.",
    "look at the load and the log of the brokers, and validate again; --flow NAME reads one flow at a time.",
)
_UNKNOWN = ErrorMeaning(
    "kafka-error",
    "Kafka's client reports an error that it does not explain",
    "Kafka's client reports an error that the job does not know.",
    "see the broker's log.",
)
_UNREADABLE = ErrorMeaning(
    HEADER_UNREADABLE,
    "a header's name is not UTF-8",
    "The client that reads single records takes names of headers as UTF-8 only.",
    "correct the producer; validate the flow again when retention has removed the record.",
)
_BY_CODE: "dict[int | None, ErrorMeaning]" = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: ErrorMeaning(
        "not-authorized",
        "the user may not describe or read a topic",
        "The job reads the flow's topics, their checkpoints and offset syncs.",
        "grant DESCRIBE, READ and DESCRIBE_CONFIGS on the flow's topics, checkpoints and offset syncs included.",
    ),
    KafkaError.GROUP_AUTHORIZATION_FAILED: ErrorMeaning(
        "not-authorized",
        "the user may not describe a consumer group",
        "The job reads the committed offsets of the flow's groups.",
        "grant DESCRIBE on the flow's groups.",
    ),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: ErrorMeaning(
        "not-authorized",
        "the user may not describe the cluster",
        "Listing ACLs takes that right. Listing groups takes it unless the user may describe the groups.",
        "grant DESCRIBE on the cluster; to list groups, DESCRIBE on the groups that must be seen is enough.",
    ),
    KafkaError.SECURITY_DISABLED: ErrorMeaning(
        "authorizer-off",
        "the cluster has no authorizer",
        "Without an authorizer there are no ACLs to read.",
        "set authorizer.class.name on the brokers.",
    ),
    KafkaError.UNKNOWN_TOPIC_OR_PART: _TOPIC_GONE,
    KafkaError._UNKNOWN_TOPIC: _TOPIC_GONE,
    KafkaError._UNKNOWN_PARTITION: _TOPIC_GONE,
    # None of the partitions that were asked for has a leader.
    KafkaError._NOENT: _TOPIC_GONE,
    KafkaError._INVALID_ARG: _CONFIGURATION,
    KafkaError._AUTHENTICATION: _LOGIN_REFUSED,
    KafkaError._SSL: _UNTRUSTED,
}
#: Errors of every request if the cluster cannot be reached or refuses the login.
NO_ANSWER = frozenset(
    {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError.REQUEST_TIMED_OUT}
)
#: Errors while a partition or a group moves to another broker: the same question gets an answer soon.
PASSING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    }
)
#: Client errors if the broker accepts the connection but refuses the login or the certificate.
_REFUSED_LOGIN = frozenset(
    {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.UNSUPPORTED_SASL_MECHANISM}
)
#: With TLS 1.3 a broker refuses a certificate after the client's handshake: librdkafka then reports an error of the
#: transport.
_TLS_ALERT = "SSL alert number"
#: How librdkafka names the connection to an address of `bootstrap.servers`, until it knows which broker that is.
_BOOTSTRAP = "/bootstrap"


def meaning_of(code: int | None) -> ErrorMeaning:
    """Return the meaning of a code of librdkafka for a cluster that has answered before."""
    return _BUSY if code in NO_ANSWER else _BY_CODE.get(code, _UNKNOWN)


class ClusterErrors:
    """Turns what librdkafka says of one cluster into errors. It remembers why the last connection failed.

    It refers to no client, so that a client that nobody uses any more is closed at once.
    """

    def __init__(self, alias: str, bootstrap_servers: str) -> None:
        self.alias, self.where = alias, f"cluster {alias} ({bootstrap_servers})"
        #: Whether any broker has answered, and whether one has at the address that it advertises.
        self.answered = self.reached = False
        self._broken, self._refusal = "", ""
        self._refused: ErrorMeaning = _LOGIN_REFUSED
        self._advertised_fails = self._unresolved = False

    def hear(self, error: KafkaError) -> None:
        """Take what librdkafka reports between the answers (its `error_cb`)."""
        text, code = error.str(), error.code()
        if code == KafkaError._SSL or _TLS_ALERT in text:
            # A broker that refuses is more informative than one that is down.
            self._refusal, self._refused = _short(text), _UNTRUSTED
        elif code in _REFUSED_LOGIN:
            self._refusal = _short(text)
            self._refused = _NO_SUCH_MECHANISM if "mechanism" in text.lower() else _LOGIN_REFUSED
        elif code != KafkaError._ALL_BROKERS_DOWN:
            self._broken, self._unresolved = _short(text), code == KafkaError._RESOLVE
            self._advertised_fails = _BOOTSTRAP not in text.partition(": ")[0]

    def forget(self) -> None:
        """Forget why connections failed."""
        self._broken = self._refusal = ""

    def error(self, what: str, error: Any) -> ClusterError:
        """Return the error for a question, in Kafka's words; None means that no answer came in time.

        A cluster that cannot be reached gives the same reason for every question.
        """
        code = error.code() if isinstance(error, KafkaError) else None
        if code in NO_ANSWER:
            if self._refusal:
                return self._error(self._refused, self._refusal, f" refuses the login: {self._refusal}", refused=True)
            meaning = self._silence()
            return self._error(meaning, self._broken, f" does not answer: {self._broken or meaning.what}")
        told = error.str() if isinstance(error, KafkaError) else str(error or "no answer in time")
        meaning = _BUSY if error is None else meaning_of(code)
        refused = meaning.code == "not-authorized"
        return self._error(meaning, f"{what}: {told}", f": {what}: {told}", refused=refused, kafka_code=code)

    def silent(self, partitions: str, what: str, seconds: float) -> ClusterError:
        """Return the error for a cluster that answers, but delivers no further record."""
        sentence = f"no further record of {partitions} arrived for {seconds:g} s, while {what} were read"
        return self._error(_BUSY._replace(what=sentence))

    def gone(self, topics: Collection[str]) -> ClusterError:
        """Return the error for topics that no longer exist: a consumer waits for them silently."""
        exist = agreeing(len(topics), "[exists|exist]")
        sentence = f"{agreeing(len(topics), 'topic[|s]')} {', '.join(sorted(topics))} no longer {exist}"
        return self._error(_TOPIC_GONE._replace(what=sentence))

    def unreadable_header(self, record: str) -> ClusterError:
        """Return the error for a record that Kafka's own client can read, but librdkafka's Python client cannot."""
        return self._error(_UNREADABLE._replace(what=f"the record {record} has a header whose name is not UTF-8"))

    def _silence(self) -> ErrorMeaning:
        if not self.answered:
            return _CONFIGURATION if self._unresolved else _UNREACHABLE
        return _NOT_AS_ADVERTISED if self._advertised_fails and not self.reached else _BUSY

    def _error(
        self,
        meaning: ErrorMeaning,
        told: str = "",
        sentence: str = "",
        *,
        refused: bool = False,
        kafka_code: int | None = None,
    ) -> ClusterError:
        return ClusterError(
            meaning.code,
            f"{meaning.what} ({told})" if told else meaning.what,
            self.where,
            meaning.why,
            meaning.remedy,
            sentence=f"Kafka cluster {self.alias}{sentence or f': {meaning.what}'}",
            refused=refused,
            kafka_code=kafka_code,
        )


def _short(text: str) -> str:
    """Return librdkafka's sentence without the broker's connection and the age of the state, which differ each time."""
    return text.partition(": ")[2].partition(" (after ")[0] or text
