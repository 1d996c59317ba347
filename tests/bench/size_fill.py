"""Fills both sides of forged flows with many records, or with many partitions and groups."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # not in its stubs

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.endpoints import ADMIN, APP, Region
from tests.spark import forging
from tests.spark.scenes import Headers, Scene, produce

PARTITIONS = 4
GROUPS = 4
CALL_SECONDS = 120
#: Records in each partition of a flow with many partitions; a group has committed the first 15.
IN_A_PARTITION, COMMITTED, SYNCED = 20, 15, 10
TOPIC_PARTITIONS = 10
COMMITS_OF_A_GROUP = 20
_AT_ONCE = 100
_FAST = {"linger.ms": 50, "batch.size": 1_000_000, "queue.buffering.max.messages": 500_000}


class Large:
    """A flow with one topic, `name`; both sides grow by the same records of `size` bytes."""

    def __init__(self, scene: Scene, size: int) -> None:
        self.scene, self.records, self._size = scene, 0, size
        self._pool = random.Random(1).randbytes((1 << 20) + size)
        self._first_ms = scene.began_ms - 100_000_000
        regions = (scene.source, scene.name), (scene.target, scene.remote(scene.name))
        self._sides = [(topic, Producer({**region.client_config(APP), **_FAST})) for region, topic in regions]
        scene.replicate(records=0, partitions=PARTITIONS)

    def grow(self, records: int) -> None:
        """Write so many more records in turn to the partitions, a millisecond apart, first to the source."""
        numbers = range(self.records, self.records + records)
        for topic, producer in self._sides:
            for number in numbers:
                self._produce(topic, producer, number)
            _flush(producer)
        self.records += records
        each = self.records // PARTITIONS
        for partition in range(PARTITIONS):
            self.scene.sync(self.scene.name, partition, (each - 1, each - 1))

    def commit(self) -> None:
        """Commit groups at offsets across each partition, with offset syncs, checkpoints and offsets on the target."""
        each = self.records // PARTITIONS
        for partition in range(PARTITIONS):
            every = each // (2 * GROUPS + 2)
            self.scene.sync(self.scene.name, partition, *((offset, offset) for offset in range(0, each, every)))
            for number in range(GROUPS):
                at = every * 2 * (number + 1) + 1
                self.scene.translate(f"{self.scene.name}-{number}", at + every // 2, at, partition)

    @contextmanager
    def growing(self, a_second: int) -> Iterator[None]:
        """Write records to both sides while the body runs, like a connector that keeps up."""
        done = threading.Event()
        writer = threading.Thread(target=self._write, args=(done, a_second), name="writer", daemon=True)
        writer.start()
        try:
            yield
        finally:
            done.set()
            writer.join()

    def _write(self, done: threading.Event, a_second: int) -> None:
        began, written = time.monotonic(), 0
        while not done.wait(0.1):
            due = round((time.monotonic() - began) * a_second)
            for topic, producer in self._sides:
                for number in range(written, due):
                    self._produce(topic, producer, self.records + number)
                _flush(producer)
            written = due
        self.records += written

    def _produce(self, topic: str, producer: Producer, number: int) -> None:
        begin = number * 7919 % (1 << 20)
        value = self._pool[begin : begin + self._size]
        while True:
            try:
                producer.produce(topic, value, None, number % PARTITIONS, timestamp=self._first_ms + number)
            except BufferError:
                producer.poll(0.1)
            else:
                return


class Wide:
    """A flow with many groups, and many partitions of few records."""

    def __init__(self, scene: Scene, partitions: int, groups: int) -> None:
        self.scene, self.groups = scene, groups
        self.topics = [f"{scene.name}-t{number:04}" for number in range(partitions // TOPIC_PARTITIONS)]

    @property
    def positions(self) -> int:
        return self.groups * COMMITS_OF_A_GROUP

    def fill(self) -> None:
        """Write the topics of both sides, their records and offset syncs, and each group's offsets and checkpoints."""
        scene = self.scene
        scene.replicate(records=0, partitions=1)
        for region, topics in (
            (scene.source, self.topics),
            (scene.target, [scene.remote(topic) for topic in self.topics]),
        ):
            _create(region, topics)
            producer = Producer({**region.client_config(APP), **_FAST})
            for topic in topics:
                for partition in range(TOPIC_PARTITIONS):
                    for number in range(IN_A_PARTITION):
                        value = f"{partition} {number}".encode()
                        producer.produce(topic, value, b"k", partition, timestamp=scene.began_ms + number)
                producer.poll(0)
            _flush(producer)
        self._sync()
        self._commit()

    def _sync(self) -> None:
        rows: list[tuple[bytes | None, bytes | None, int, Headers]] = []
        for topic in self.topics:
            for partition in range(TOPIC_PARTITIONS):
                key = forging.offset_sync_key(topic, partition)
                for at in (0, SYNCED, IN_A_PARTITION - 1):
                    rows.append((key, forging.offset_sync_value(at, at), self.scene.began_ms, []))
        produce(self.scene.source, self.scene.syncs_topic, 0, rows)

    def _commit(self) -> None:
        scene = self.scene
        names = [f"{scene.name}-g{number:04}" for number in range(self.groups)]
        rows: list[tuple[bytes | None, bytes | None, int, Headers]] = []
        sides: dict[str, list[ConsumerGroupTopicPartitions]] = {"source": [], "target": []}
        for number, group in enumerate(names):
            places = [
                (self.topics[(number * 2 + step // TOPIC_PARTITIONS) % len(self.topics)], step % TOPIC_PARTITIONS)
                for step in range(COMMITS_OF_A_GROUP)
            ]
            for topic, partition in places:
                key = forging.checkpoint_key(group, scene.remote(topic), partition)
                rows.append((key, forging.checkpoint_value(COMMITTED, SYNCED + 1), scene.began_ms, []))
            here = [Place(topic, partition, COMMITTED) for topic, partition in places]
            there = [Place(scene.remote(topic), partition, SYNCED + 1) for topic, partition in places]
            sides["source"].append(ConsumerGroupTopicPartitions(group, here))
            sides["target"].append(ConsumerGroupTopicPartitions(group, there))
        produce(scene.target, scene.checkpoints_topic, 0, rows)
        for region, every in ((scene.source, sides["source"]), (scene.target, sides["target"])):
            admin = AdminClient(region.client_config(ADMIN))
            for first in range(0, len(every), _AT_ONCE):
                _all([admin.alter_consumer_group_offsets([each]) for each in every[first : first + _AT_ONCE]])


def _create(region: Region, topics: Sequence[str]) -> None:
    admin = AdminClient(region.client_config(ADMIN))
    for first in range(0, len(topics), _AT_ONCE):
        new = [NewTopic(topic, TOPIC_PARTITIONS, 1) for topic in topics[first : first + _AT_ONCE]]
        _all([admin.create_topics(new, request_timeout=CALL_SECONDS)])


def _all(answers: Sequence["dict[str, Future[object]]"]) -> None:
    for answer in answers:
        for future in answer.values():
            future.result(CALL_SECONDS)


def _flush(producer: Producer) -> None:
    left = producer.flush(CALL_SECONDS)
    if left:
        raise CannotRunError(
            "not-acknowledged",
            f"{left} records were not acknowledged",
            "a forged flow",
            "The bench needs them all.",
            "see `replicate local status`",
        )
