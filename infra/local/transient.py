"""Repeats calls to Kafka that fail only because a broker, a leader or a coordinator is still starting."""

from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from infra.machine.waiting import DeadlineError, NotYetError, wait_for

T = TypeVar("T")

REQUEST_SECONDS = 60.0
"""How long Kafka may take to answer one request."""

DEADLINE_SECONDS = 60.0
"""How long a transient error may last."""

TRANSIENT = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_CONTROLLER,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._WAIT_COORD,
}
"""Codes of errors that go away by themselves. A broker answers UNKNOWN_TOPIC_OR_PART for a topic that it has just
created. All of them are safe to repeat: a request with such an answer had no effect.
"""


def retried(call: Callable[[], T], deadline_seconds: float = DEADLINE_SECONDS) -> T:
    """Return the answer of `call`, repeating it as long as it raises a transient KafkaException.

    Raises any other KafkaException at once, and the last transient one after `deadline_seconds`.
    """
    seen: list[KafkaException] = []

    def probe() -> T:
        try:
            return call()
        except KafkaException as error:
            if error.args[0].code() not in TRANSIENT:
                raise
            seen.append(error)
            raise NotYetError(str(error)) from error

    try:
        return wait_for("Kafka", probe, deadline_seconds)
    except DeadlineError as late:
        raise seen[-1] from late
