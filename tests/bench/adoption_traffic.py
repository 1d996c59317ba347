"""Traffic at a steady rate while a flow is adopted, and which of its records the target holds at the end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from confluent_kafka import KafkaError, Message, Producer

from kafka_replication.infra.local.endpoints import APP, Endpoints
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.bench.drill_counting import everything, read_log

#: Partitions by topic.
TOPICS = {"orders": 3, "payments-cards": 2}
PLACES = [(topic, partition) for topic, count in TOPICS.items() for partition in range(count)]
_VALUE_BYTES = 100
_TICK_SECONDS = 0.02
_FLUSH_SECONDS = 60.0
_DRAIN_SECONDS = 300.0


class Traffic:
    """A producer of numbered records to all topics in turn. `sent` are the acknowledged ones.

    The number is the header `trace`.
    """

    def __init__(self, endpoints: Endpoints, rate: float) -> None:
        config = {"enable.idempotence": True, "linger.ms": 20}
        self._producer = Producer({**endpoints.regions["useast"].client_config(APP), **config})
        self._rate = rate
        self._over = Event()
        self.sent = 0
        self.seconds = 0.0
        self.failures: list[KafkaError] = []

    @contextmanager
    def running(self) -> Iterator["Traffic"]:
        """The producer writes while the body runs; at its end everything is acknowledged."""
        writer = Thread(target=self._write)
        began = time.monotonic()
        writer.start()
        try:
            yield self
        finally:
            self._over.set()
            writer.join()
            self.seconds = time.monotonic() - began
            unsent = self._producer.flush(_FLUSH_SECONDS)
        if unsent or self.failures:
            raise RuntimeError(f"{unsent} records not acknowledged, {self.failures[:3]}")

    def _write(self) -> None:
        """Send what is due since the start, so that a pause of this process does not lower the rate."""
        began, number = time.monotonic(), 0
        while not self._over.wait(_TICK_SECONDS):
            due = int((time.monotonic() - began) * self._rate)
            for each in range(number, due):
                self._send(each)
            number = due

    def _send(self, number: int) -> None:
        topic = list(TOPICS)[number % len(TOPICS)]
        trace = number.to_bytes(8, "big")
        value = f"{topic} {number} ".encode().ljust(_VALUE_BYTES, b".")
        key = f"key-{number % 997}".encode()
        self._producer.produce(topic, value, key, headers=[("trace", trace)], on_delivery=self._delivered)
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.sent += 1
        else:
            self.failures.append(error)


@dataclass(frozen=True)
class Arrived:
    """The number of records on the source, and how many of them the target holds twice or not at all."""

    records: int
    twice: int
    missing: int


def drained(endpoints: Endpoints) -> Arrived:
    """Wait until no record is missing on the target, then count. Raises DeadlineError if some stay missing."""
    source, target = endpoints.regions["useast"], endpoints.regions["uswest"]
    sent = everything(read_log(source, TOPICS))

    def arrived() -> Arrived:
        found = everything(read_log(target, [f"useast.{topic}" for topic in TOPICS]))
        twice = sum(count - sent[mark] for mark, count in found.items() if count > sent[mark])
        return Arrived(sent.total(), twice, (sent - found).total())

    def everything_arrived() -> Arrived:
        found = arrived()
        if found.missing:
            raise NotYetError(f"{found.missing} records are missing")
        return found

    return wait_for("records to cross", everything_arrived, _DRAIN_SECONDS, 1)
