"""What a cluster's silence or refusal means, and which words of librdkafka say so."""

import pytest
from confluent_kafka import KafkaError

from kafka_replication.components.clients.errors import ClusterError, ClusterErrors

NEVER, ONCE, REACHED = (False, False), (True, False), (True, True)
ADVERTISED = "ssl://10.0.0.5:9093/1: Connect to ipv4#10.0.0.5:9093 failed: Connection refused (after 0ms in state)"
BOOTSTRAP = "ssl://10.0.0.5:9093/bootstrap: Connect to ipv4#10.0.0.5:9093 failed: Connection refused (after 0ms)"


def error(heard: list[KafkaError], asked: int | None, progress: tuple[bool, bool]) -> ClusterError:
    errors = ClusterErrors("useast", "kafka:9093")
    errors.answered, errors.reached = progress
    for report in heard:
        errors.hear(report)
    return errors.error("topics could not be asked", None if asked is None else KafkaError(asked))


@pytest.mark.parametrize(
    ("text", "progress", "code", "words"),
    [
        pytest.param(BOOTSTRAP, NEVER, "unreachable", "No broker of the cluster", id="no broker answered"),
        pytest.param(ADVERTISED, ONCE, "unreachable", "advertised.listeners", id="the advertised address is silent"),
        pytest.param(ADVERTISED, REACHED, "brokers-busy", "answered before", id="a broker that answered is silent"),
        pytest.param(BOOTSTRAP, ONCE, "brokers-busy", "answered before", id="the first address is silent later"),
    ],
)
def test_the_cause_of_silence_shows_how_far_the_client_got(
    text: str, progress: tuple[bool, bool], code: str, words: str
) -> None:
    found = error([KafkaError(KafkaError._TRANSPORT, text)], KafkaError._TIMED_OUT, progress)
    assert (found.code, words in f"{found.why} {found.remedy}", found.refused) == (code, True, False)
    assert "Connection refused" in found.what
    assert str(found).startswith("Kafka cluster useast does not answer: Connect to ipv4")


def test_an_address_that_does_not_resolve_is_a_mistake_in_the_configuration() -> None:
    report = KafkaError(KafkaError._RESOLVE, "kafka.invalid:9093/bootstrap: Failed to resolve 'kafka.invalid:9093'")
    assert error([report], KafkaError._TRANSPORT, NEVER).code == "client-configuration"


@pytest.mark.parametrize(
    ("report", "code", "words"),
    [
        pytest.param(
            KafkaError(KafkaError._AUTHENTICATION, "h:1/1: SASL authentication error: Authentication failed"),
            "login-refused",
            "password",
            id="a wrong password",
        ),
        pytest.param(
            KafkaError(KafkaError._AUTHENTICATION, "h:1/1: Unsupported SASL mechanism: broker supports PLAIN"),
            "login-refused",
            "listener",
            id="a mechanism that the listener does not offer",
        ),
        pytest.param(
            KafkaError(KafkaError._SSL, "h:1/1: SSL handshake failed: certificate verify failed"),
            "tls-untrusted",
            "authority",
            id="an untrusted certificate",
        ),
        pytest.param(
            KafkaError(KafkaError._TRANSPORT, "h:1/1: SSL routines: SSL alert number 45"),
            "tls-untrusted",
            "refuses the client's certificate",
            id="a client certificate that TLS 1.3 refuses late",
        ),
    ],
)
def test_a_refused_login_is_named_even_if_the_request_only_timed_out(report: KafkaError, code: str, words: str) -> None:
    down = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
    found = error([report, down], KafkaError._TRANSPORT, NEVER)
    assert (found.code, words in f"{found.why} {found.remedy}", found.refused) == (code, True, True)
    assert str(found).startswith("Kafka cluster useast refuses the login: ")


@pytest.mark.parametrize(
    ("asked", "code", "refused"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "not-authorized", True),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "not-authorized", True),
        (KafkaError.SECURITY_DISABLED, "authorizer-off", False),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "topic-gone", False),
        (KafkaError._NOENT, "topic-gone", False),
        (KafkaError.INVALID_MSG, "kafka-error", False),
        (None, "brokers-busy", False),
    ],
)
def test_a_broker_that_answers_with_an_error_is_quoted(asked: int | None, code: str, refused: bool) -> None:
    found = error([], asked, REACHED)
    assert (found.code, found.refused, found.where) == (code, refused, "cluster useast (kafka:9093)")
    assert str(found).startswith("Kafka cluster useast: topics could not be asked: ")
