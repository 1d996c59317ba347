"""What runs beside a keeper that is measured: producers at a steady rate, and groups that commit every 200 ms."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.local.traffic import records
from tests.bench.drill_counting import Offsets
from tests.bench.drill_shapes import PARTITIONS, Shape

COMMIT_SECONDS = 0.2
_TICK_SECONDS, _CALL_SECONDS, _SESSION_MS = 0.05, 3.0, 10_000
#: Records that are written together, perhaps in a transaction, of which every third is aborted.
_TRANSACTION = 25


class Group:
    """A group that consumes on the source and commits every 200 ms. `slow` lets it fall behind."""

    def __init__(self, region: Region, name: str, topics: tuple[str, ...], *, slow: bool = False) -> None:
        self.name, self.slow = name, slow
        self._region, self._topics, self._batch = region, topics, 8 if slow else 1_000
        #: When each commit was asked for, and whether Kafka has confirmed it.
        self.commits: list[tuple[float, Offsets, bool]] = []
        self._answers = 0

    def consume(self, over: Event) -> None:
        """Consume until the event is set."""
        # A commit that is waited for would wait without end for a broker that was killed.
        consumer = Consumer(
            {
                **self._region.client_config(ADMIN),
                "group.id": self.name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "on_commit": self._answered,
                "session.timeout.ms": _SESSION_MS,
            }
        )
        consumer.subscribe(list(self._topics))
        read: dict[tuple[str, int], int] = {}
        committed_at = time.monotonic()
        while not over.wait(_TICK_SECONDS):
            for message in consumer.consume(self._batch, 0):
                if message.error() is None:
                    read[message.topic() or "", message.partition() or 0] = (message.offset() or 0) + 1
            waiting = self._answers < len(self.commits)
            if read and not waiting and time.monotonic() - committed_at >= COMMIT_SECONDS:
                committed_at = time.monotonic()
                self.commits.append((time.time(), read, False))
                consumer.commit(offsets=[TopicPartition(*place, offset) for place, offset in read.items()])
                read = {}
        ended = time.monotonic()
        while self._answers < len(self.commits) and time.monotonic() < ended + _CALL_SECONDS:
            consumer.consume(1, _TICK_SECONDS)
        with suppress(KafkaException):
            consumer.close()

    def _answered(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        """Note Kafka's answer to the newest commit."""
        self._answers += 1
        at, offsets, _ = self.commits[-1]
        self.commits[-1] = at, offsets, error is None and not any(place.error for place in places)

    @property
    def reached(self) -> Offsets:
        """The newest offsets that Kafka has confirmed."""
        found: dict[tuple[str, int], int] = {}
        for _, offsets, confirmed in self.commits:
            found |= offsets if confirmed else {}
        return found

    def consumed_at(self, place: tuple[str, int], offset: int) -> float:
        """When the group had consumed the record at this offset, in seconds since 1970."""
        return next(at for at, offsets, _ in self.commits if offsets.get(place, 0) > offset)


@contextmanager
def running(
    regions: Mapping[str, tuple[Region, Iterable[Shape]]], groups: Iterable[Group], rate: float, seed: int
) -> Iterator[Event]:
    """Write `rate` records a second of each shape to each region, while groups consume."""
    over = Event()
    threads = [Thread(target=group.consume, args=(over,), daemon=True) for group in groups]
    for side, (region, shapes) in enumerate(regions.values()):
        for shape in shapes:
            each = rate / len(shape.topics)
            producing = [
                Producing(region, topic, each, 2 * seed + side, transactions=shape.transactions)
                for topic in shape.topics
            ]
            threads += [Thread(target=topic.run, args=(over,), daemon=True) for topic in producing]
    for thread in threads:
        thread.start()
    try:
        yield over
    finally:
        over.set()
        for thread in threads:
            thread.join()


@dataclass
class Producing:
    """A producer that writes to a topic at a steady rate, each record once, and goes on after its broker was down."""

    region: Region
    topic: str
    rate: float
    seed: int
    transactions: bool
    _sent: int = 0

    def run(self, over: Event) -> None:
        began = time.monotonic()
        kind = {"transactional.id": f"drill-{self.topic}"} if self.transactions else {"enable.idempotence": True}
        while not over.is_set():
            producer = Producer({**self.region.client_config(ADMIN), "linger.ms": 5, **kind})
            with suppress(KafkaException, BufferError):
                if self.transactions:
                    producer.init_transactions(_CALL_SECONDS)
                while not over.wait(_TICK_SECONDS):
                    # A transaction whose end is unknown is not repeated.
                    while self._sent + _TRANSACTION <= (time.monotonic() - began) * self.rate:
                        self._sent += _TRANSACTION
                        self._write(producer, self._sent - _TRANSACTION)
                producer.flush(_CALL_SECONDS)

    def _write(self, producer: Producer, first: int) -> None:
        if self.transactions:
            producer.begin_transaction()
        for number, record in enumerate(records(self.topic, _TRANSACTION, self.seed, first), start=first):
            partition = record.partition(number, PARTITIONS)
            producer.produce(self.topic, record.value, record.key, partition, headers=list(record.headers))
        producer.poll(0)
        if self.transactions and first // _TRANSACTION % 3 == 2:
            producer.abort_transaction(_CALL_SECONDS)
        elif self.transactions:
            producer.commit_transaction(_CALL_SECONDS)
