"""Creates topics, produces records and consumes as groups in a region. The same seed produces the same records."""

import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # not in its stubs

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local.acls import REQUEST_SECONDS, retried
from kafka_replication.infra.local.endpoints import APP, Region
from kafka_replication.infra.machine.waiting import DeadlineError, NotYetError, wait_for

NULL_KEY_SHARE = 0.05
NULL_VALUE_SHARE = 0.05
DISTINCT_KEYS = 500
VALUE_BYTES = 100


@dataclass(frozen=True)
class Record:
    """A record to produce. Keys, values and header values may be null; header names may repeat."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def partition(self, number: int, partitions: int) -> int:
        """Return the partition of record `number`: by its key or else in turn; librdkafka would choose at random."""
        return (number if self.key is None else zlib.crc32(self.key)) % partitions


def records(topic: str, count: int, seed: int, first: int = 0, header: str | None = None) -> Iterator[Record]:
    """Yield `count` records of the topic's endless sequence for this seed; every seventh also carries `header`."""
    for number in range(first, first + count):
        # Each record has its own generator, so any part of the sequence can be produced without the part before it.
        chance = random.Random(f"{seed}/{topic}/{number}")
        key = None if chance.random() < NULL_KEY_SHARE else f"key-{chance.randrange(DISTINCT_KEYS)}".encode()
        text = f"{topic} {number} ".encode().ljust(VALUE_BYTES - 8, b".")[: VALUE_BYTES - 8]
        value = None if chance.random() < NULL_VALUE_SHARE else text + chance.randbytes(8)
        headers: list[tuple[str, bytes | None]] = [("trace", chance.randbytes(8)), ("seed", str(seed).encode())]
        if number % 10 == 0:
            headers += [("empty", b""), ("null", None), ("trace", b"again")]
        if header is not None and number % 7 == 0:
            headers.append((header, b"true"))
        yield Record(key, value, tuple(headers))


T = TypeVar("T")
FLUSH_SECONDS = CONSUME_SECONDS = 60.0

#: An offset for each topic and partition.
Positions = Mapping[tuple[str, int], int]


def create_topics(region: Region, partitions: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
    """Create the topics that do not exist. Raises CannotRunError, also for one with another number of partitions."""
    admin = AdminClient(region.client_config(APP))
    existing = admin.list_topics(timeout=REQUEST_SECONDS).topics
    for topic, wanted in partitions.items():
        if topic in existing and len(existing[topic].partitions) != wanted:
            what = f"topic {topic} has {len(existing[topic].partitions)} partitions, not {wanted}"
            why = "Kafka cannot remove partitions, and adding some would move keys to other partitions."
            remedy = f"delete the topic, or ask for {len(existing[topic].partitions)}"
            raise CannotRunError("topic-exists", what, region.alias, why, remedy)
    settings = dict(config or {})
    missing = [NewTopic(topic, partitions[topic], 1, config=settings) for topic in partitions if topic not in existing]
    if not missing:
        return
    for topic, future in admin.create_topics(missing, operation_timeout=REQUEST_SECONDS).items():
        try:
            future.result(REQUEST_SECONDS)
        except KafkaException as error:
            raise _refused(f"create topic {topic}", region, error) from error
    wait_for(f"topics {', '.join(partitions)}", lambda: _expect_leaders(admin, partitions), REQUEST_SECONDS)


def produce(
    region: Region, topic: str, count: int, *, seed: int, first: int = 0, header: str | None = None
) -> dict[int, int]:
    """Produce `records(...)`, and return the number of acknowledged records by partition. Raises CannotRunError."""
    producer = Producer({**region.client_config(APP), "enable.idempotence": True, "linger.ms": 20})
    what = f"read the metadata of {topic}"
    metadata = _asked(what, region, lambda: producer.list_topics(topic, timeout=REQUEST_SECONDS)).topics[topic]
    if metadata.error is not None:
        raise _refused(f"produce to {topic}", region, metadata.error)
    partitions = len(metadata.partitions)
    counts = dict.fromkeys(range(partitions), 0)
    failures: list[KafkaError] = []
    for number, record in enumerate(records(topic, count, seed, first=first, header=header), start=first):
        partition = record.partition(number, partitions)
        _send(producer, topic, partition, record, failures)
        counts[partition] += 1
    unsent = producer.flush(FLUSH_SECONDS)
    if failures or unsent:
        raise _refused(f"produce to {topic}", region, failures[0] if failures else f"{unsent} not acknowledged")
    return counts


def _send(producer: Producer, topic: str, partition: int, record: Record, failures: list[KafkaError]) -> None:
    """Pass the record to the producer, waiting while its queue is full."""

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    headers: list[tuple[str, str | bytes | None]] = list(record.headers)
    while True:
        try:
            producer.produce(topic, record.value, record.key, partition, on_delivery=delivered, headers=headers)
        except BufferError:
            producer.poll(1)
        else:
            producer.poll(0)
            return


def consume_to(region: Region, group: str, stop_at: Positions) -> None:
    """Consume as `group` up to these offsets, and commit them. Raises CannotRunError."""
    config = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({**region.client_config(APP), **config})
    reached = dict.fromkeys(stop_at, 0)

    def expect_end() -> None:
        for message in consumer.consume(500, timeout=0.5):
            place = (message.topic() or "", message.partition() or 0)
            offset = message.offset()
            if message.error() is None and offset is not None and place in stop_at:
                reached[place] = offset + 1
        behind = {place: reached[place] for place, stop in stop_at.items() if reached[place] < stop}
        if behind:
            raise NotYetError(f"positions {behind}")

    try:
        consumer.subscribe(sorted({topic for topic, _ in stop_at}))
        wait_for(f"group {group} to reach its offsets", expect_end, CONSUME_SECONDS, interval_seconds=0.01)
        places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in stop_at.items()]
        retried(lambda: consumer.commit(offsets=places, asynchronous=False))
    except (KafkaException, DeadlineError) as error:
        raise _refused(f"consume as group {group}", region, error) from error
    finally:
        consumer.close()


def end_offsets(region: Region, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """Return the offset after the last record of each partition. Raises KeyError for a topic that does not exist."""
    consumer = Consumer({**region.client_config(APP), "group.id": "unused"})
    wanted = tuple(topics)

    def ends() -> dict[tuple[str, int], int]:
        known = consumer.list_topics(timeout=REQUEST_SECONDS).topics
        places = [TopicPartition(topic, partition) for topic in wanted for partition in known[topic].partitions]
        return {
            (place.topic, place.partition): consumer.get_watermark_offsets(place, timeout=REQUEST_SECONDS)[1]
            for place in places
        }

    try:
        return _asked("read end offsets", region, ends)
    finally:
        consumer.close()


def _asked(what: str, region: Region, call: Callable[[], T]) -> T:
    """Repeat a call while Kafka is starting, and return its answer. Raises CannotRunError if it is refused."""
    try:
        return retried(call)
    except KafkaException as error:
        raise _refused(what, region, error) from error


def _expect_leaders(admin: AdminClient, partitions: Mapping[str, int]) -> None:
    known = admin.list_topics(timeout=REQUEST_SECONDS).topics
    for topic, wanted in partitions.items():
        known_partitions = known[topic].partitions if topic in known else {}
        leaders = [partition for partition in known_partitions.values() if partition.leader >= 0]
        if len(leaders) != wanted:
            raise NotYetError(f"{topic} has {len(leaders)} of {wanted} partitions")


def _refused(what: str, region: Region, why: object) -> CannotRunError:
    return CannotRunError(
        "kafka-refused",
        f"could not {what}: {why.what if isinstance(why, DeadlineError) else why}",
        region.alias,
        "Kafka refused it or did not answer in time.",
        "check that the region is running (`replicate local status`), that the topic exists and that its user is "
        "allowed to do this",
    )


@dataclass(frozen=True)
class Example:
    """Partitions by topic; by group, the topics that it reads and the share of each partition that it consumes."""

    topics: Mapping[str, int]
    groups: Mapping[str, tuple[tuple[str, ...], float]]


#: For the stack `local`, whose flow selects neither the topic `audit` nor the group `reporting`.
ORDERS = Example(
    topics={"orders": 3, "payments-cards": 2, "payments-refunds": 1, "audit": 1},
    groups={
        "checkout-web": (("orders", "payments-cards"), 0.6),
        "checkout-risk": (("orders",), 0.9),
        "checkout-ledger": (("orders", "payments-cards", "payments-refunds"), 1.0),
        "reporting": (("orders", "audit"), 0.5),
    },
)
#: For each region of the stack `local-pair`.
LEDGER = Example(topics={"ledger": 3}, groups={})
#: For the stack `local-split`.
SALES = Example(
    topics={"sales-web": 2, "sales-stores": 1, "clicks": 3, "logs-app": 2},
    groups={"shop-stock": (("sales-web", "sales-stores"), 0.7), "shop-trends": (("clicks", "logs-app"), 0.5)},
)
#: For the stack `local-mirrormaker2`.
STOCK = Example(
    topics={"stock-levels": 2, "stock-moves": 1},
    groups={"warehouse-north": (("stock-levels", "stock-moves"), 0.7), "warehouse-south": (("stock-moves",), 1.0)},
)


@dataclass(frozen=True)
class Traffic:
    """What a run made: the number of records by topic and partition, and the committed offsets by group."""

    produced: Mapping[tuple[str, int], int]
    committed: Mapping[str, Positions]


def make_example_traffic(region: Region, records_per_topic: int, seed: int, example: Example = ORDERS) -> Traffic:
    """Create the topics, produce to each, and let each group consume its share of what is new. May be repeated."""
    create_topics(region, example.topics)
    before = end_offsets(region, example.topics)
    produced: dict[tuple[str, int], int] = {}
    for topic in example.topics:
        # Continue the sequence where the last run ended, so that no two records of a topic are equal.
        first = sum(end for place, end in before.items() if place[0] == topic)
        for partition, count in produce(region, topic, records_per_topic, seed=seed, first=first).items():
            produced[topic, partition] = count
    committed = {}
    for group, (topics, share) in example.groups.items():
        stop_at = {place: before[place] + int(count * share) for place, count in produced.items() if place[0] in topics}
        consume_to(region, group, stop_at)
        committed[group] = stop_at
    return Traffic(produced=produced, committed=committed)
