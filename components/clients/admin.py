"""Asks one Kafka cluster: with a deadline, once more where a broker fails for a moment, with errors that explain."""

import threading
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # not in its stubs

from kafka_replication.components.clients.errors import PASSING, ClusterError, ClusterErrors
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.kafka.positions import TopicPartition

#: Seconds for one request.
REQUEST_SECONDS = 5.0
#: How long an answer about topics counts, and how long a cluster that did not answer is not asked for them again.
TOPICS_SECONDS, SILENCE_SECONDS = 2.0, 10.0
#: How long to wait before a question is asked again.
AGAIN_SECONDS = 0.2
#: Source: org.apache.kafka.common.internals.Topic.
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

T = TypeVar("T")
K = TypeVar("K")


class ClusterAdmin:
    """Asks the cluster `alias`. Safe to share between threads. Every method raises ClusterError.

    `seconds` is how long one request may take.
    """

    def __init__(self, alias: str, config: ClientConfig, seconds: float = REQUEST_SECONDS) -> None:
        self.alias = alias
        self._seconds, self._config = seconds, config
        self._errors = ClusterErrors(alias, str(config.get("bootstrap.servers", "")))
        self.where = self._errors.where
        self._lock = threading.Lock()
        self._topics: dict[str, int] | ClusterError = {}
        self._topics_until = 0.0
        try:
            self._admin = self._new_admin()
        except KafkaException as error:
            raise self._errors.error("the client's configuration is not accepted", error.args[0]) from None

    def topics(self) -> dict[str, int]:
        """Return the number of partitions of every topic that the user may describe, except Kafka's internal ones.

        The answer may be TOPICS_SECONDS old. A cluster that is down is asked once in SILENCE_SECONDS.
        """
        with self._lock:
            if time.monotonic() >= self._topics_until:
                try:
                    listed = self._asked("topics", lambda: self._admin.list_topics(timeout=self._seconds)).topics
                    self._topics = {
                        name: len(topic.partitions) for name, topic in listed.items() if name not in _INTERNAL
                    }
                    self._topics_until = time.monotonic() + TOPICS_SECONDS
                except ClusterError as error:
                    self._topics = error
                    self._topics_until = time.monotonic() + SILENCE_SECONDS
            if isinstance(self._topics, ClusterError):
                raise self._topics
            return self._topics

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Return every partition of those topics that exist."""
        counts = self.topics()
        return [TopicPartition(topic, number) for topic in sorted(topics) for number in range(counts.get(topic, 0))]

    def forget(self) -> None:
        """Ask again for topics, even if the cluster did not answer before."""
        with self._lock:
            self._topics_until = 0.0
            self._errors.forget()

    def _configs(self, kind: Any, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        resources = [ConfigResource(kind, name) for name in names]
        if not resources:
            return {}
        asked = self._admin.describe_configs(resources, request_timeout=self._seconds)
        return {resource.name: self._result(f"configuration of {resource.name}", asked[resource]) for resource in asked}

    def _described_cluster(self) -> Any:
        asked = self._admin.describe_cluster(include_authorized_operations=True, request_timeout=self._seconds)
        return self._result("the user's rights", asked)

    def _repeated(
        self,
        wanted: Collection[K],
        ask: "Callable[[Collection[K]], Iterable[tuple[K, Future[Any]]]]",
        named: Callable[[K], str],
        read: Callable[[K, Any], T],
    ) -> dict[K, T]:
        """Return what is read from the answer for each of `wanted`, while the next ones are awaited. What a broker
        cannot answer only for a moment is asked again.
        """
        answers: dict[K, T] = {}
        left, until = list(wanted), time.monotonic() + self._seconds
        while left:
            again = []
            for key, future in ask(left):
                try:
                    answer = self._result(named(key), future)
                except ClusterError as error:
                    if error.kafka_code not in PASSING or time.monotonic() >= until:
                        raise
                    again.append(key)
                else:
                    answers[key] = read(key, answer)
            if left := again:
                threading.Event().wait(AGAIN_SECONDS)
        return answers

    def _once_loaded(self, what: str, ask: Callable[[], T]) -> T:
        """Return the answer. Brokers that have just started or taken groups over are asked again for a moment."""
        until = time.monotonic() + self._seconds
        while True:
            try:
                return self._asked(what, ask)
            except ClusterError as error:
                if error.kafka_code not in PASSING or time.monotonic() >= until:
                    raise
            threading.Event().wait(AGAIN_SECONDS)

    def _result(self, what: str, future: "Future[Any]") -> Any:
        answer = self._asked(what, lambda: future.result(self._seconds + 1))
        self._errors.reached = True
        return answer

    def _asked(self, what: str, ask: Callable[[], T]) -> T:
        try:
            answer = ask()
        except KafkaException as error:
            # Only then does the client report why it cannot reach a broker or is refused.
            self._admin.poll(0)
            raise self._errors.error(f"{what} could not be asked", error.args[0]) from None
        except TimeoutError:
            self._admin.poll(0)
            raise self._errors.error(f"{what} could not be asked", None) from None
        self._errors.answered = True
        return answer

    def _new_admin(self) -> AdminClient:
        return AdminClient(self._heard_config({"socket.timeout.ms": round(self._seconds * 1000)}))

    def _heard_config(self, own: ClientConfig) -> dict[str, Any]:
        return {**self._config, **own, "error_cb": self._errors.hear}
