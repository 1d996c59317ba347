"""Makes traffic in a region: topics, records that are the same for the same seed, and groups that stop where told."""

import random
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # not re-exported by its stubs

from infra.local.endpoints import Region
from infra.local.errors import LocalStackError
from infra.local.users import APP
from infra.local.waiting import DeadlineError, NotYetError, wait_for

REQUEST_SECONDS = 20.0
NULL_KEY_SHARE = 0.05
NULL_VALUE_SHARE = 0.05
DISTINCT_KEYS = 500

_NOT_LEADING_YET = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}

Positions = Mapping[tuple[str, int], int]
"""An offset for each topic and partition."""


@dataclass(frozen=True)
class Record:
    """A record to be produced. Keys, values and header values may be null; headers may repeat a name."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def partition(self, number: int, partitions: int) -> int:
        """Where record `number` goes: by its key, or in turn without one. Librdkafka would choose by chance then."""
        return (number if self.key is None else zlib.crc32(self.key)) % partitions


def records(
    topic: str, count: int, seed: int, value_bytes: int = 100, first: int = 0, header: str | None = None
) -> Iterator[Record]:
    """Records number `first` to `first + count - 1` of the topic's endless sequence for this seed.

    Every seventh carries a header of the name `header` as well, if one is given.
    """
    for number in range(first, first + count):
        # A generator for each record: any part of the sequence can be made without what is before it.
        chance = random.Random(f"{seed}/{topic}/{number}")
        key = None if chance.random() < NULL_KEY_SHARE else f"key-{chance.randrange(DISTINCT_KEYS)}".encode()
        value = None if chance.random() < NULL_VALUE_SHARE else _value(topic, number, value_bytes, chance)
        headers: list[tuple[str, bytes | None]] = [("trace", chance.randbytes(8)), ("seed", str(seed).encode())]
        if number % 10 == 0:
            headers += [("empty", b""), ("null", None), ("trace", b"again")]
        if header is not None and number % 7 == 0:
            headers.append((header, b"true"))
        yield Record(key, value, tuple(headers))


def _value(topic: str, number: int, size: int, chance: random.Random) -> bytes:
    return f"{topic} {number} ".encode().ljust(size, b".")[: max(size - 8, 0)] + chance.randbytes(min(8, size))


def create_topics(region: Region, partitions: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
    """Create the topics that do not exist, each with its number of partitions and one replica.

    Raises LocalStackError if one exists with another number of partitions, or cannot be created.
    """
    admin = AdminClient(region.client_config(APP))
    existing = admin.list_topics(timeout=REQUEST_SECONDS).topics
    for topic, wanted in partitions.items():
        if topic in existing and len(existing[topic].partitions) != wanted:
            raise LocalStackError(
                f"topic {topic} in {region.alias} has {len(existing[topic].partitions)} partitions, not {wanted}",
                f"delete the topic, or ask for {len(existing[topic].partitions)}",
            )
    missing = [
        NewTopic(topic, wanted, 1, config=dict(config or {}))
        for topic, wanted in partitions.items()
        if topic not in existing
    ]
    if not missing:
        return
    for topic, future in admin.create_topics(missing, operation_timeout=REQUEST_SECONDS).items():
        try:
            future.result(REQUEST_SECONDS)
        except KafkaException as error:
            raise _refused(f"create topic {topic}", region, error) from error
    wait_for(f"topics {', '.join(partitions)}", lambda: _expect_leaders(admin, partitions), REQUEST_SECONDS)


def produce(
    region: Region,
    topic: str,
    count: int,
    *,
    seed: int,
    value_bytes: int = 100,
    first: int = 0,
    timestamp_ms: int | None = None,
    header: str | None = None,
) -> dict[int, int]:
    """Produce `records(...)` and wait until all are acknowledged; the number of them by partition.

    `timestamp_ms` is the time of every record, by default now. Raises LocalStackError if one is not accepted.
    """
    # Level 3: a broker that just started makes librdkafka warn that it asks for its producer id once more.
    config = {**region.client_config(APP), "enable.idempotence": True, "linger.ms": 20, "log_level": 3}
    producer = Producer(config)
    partitions = _partition_count(producer, region, topic)
    counts = dict.fromkeys(range(partitions), 0)
    failures: list[KafkaError] = []
    for number, record in enumerate(records(topic, count, seed, value_bytes, first, header), start=first):
        partition = record.partition(number, partitions)
        _send(producer, topic, partition, record, timestamp_ms or 0, failures)
        counts[partition] += 1
    unsent = producer.flush(60)
    if failures or unsent:
        raise _refused(f"produce to {topic}", region, failures[0] if failures else f"{unsent} not acknowledged")
    return counts


def _send(
    producer: Producer, topic: str, partition: int, record: Record, timestamp_ms: int, failures: list[KafkaError]
) -> None:
    """Hand the record to the producer, waiting while its queue is full; 0 as timestamp means now."""

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition,
                on_delivery=delivered,
                timestamp=timestamp_ms,
                headers=list(record.headers),
            )
        except BufferError:
            producer.poll(1)
        else:
            producer.poll(0)
            return


def commit(region: Region, group: str, offsets: Positions) -> None:
    """Commit the offsets for a group that has no members at the moment, whether or not records are there."""
    consumer = Consumer({**region.client_config(APP), "group.id": group, "enable.auto.commit": False})
    try:
        consumer.commit(offsets=_topic_partitions(offsets), asynchronous=False)
    except KafkaException as error:
        raise _refused(f"commit for group {group}", region, error) from error
    finally:
        consumer.close()


def consume_to(region: Region, group: str, stop_at: Positions, deadline_seconds: float = 60.0) -> int:
    """Consume as a member of `group` up to the given offsets, commit exactly those and leave.

    Returns the number of records read. Raises LocalStackError if the offsets are not reached in time.
    """
    consumer = Consumer(
        {
            **region.client_config(APP),
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    reached = dict.fromkeys(stop_at, 0)
    read = 0

    def expect_end() -> None:
        nonlocal read
        for message in consumer.consume(500, timeout=0.5):
            place = (message.topic() or "", message.partition() or 0)
            offset = message.offset()
            if message.error() is not None or offset is None or place not in stop_at:
                continue
            read += offset < stop_at[place]
            reached[place] = offset + 1
        behind = {place: reached[place] for place, stop in stop_at.items() if reached[place] < stop}
        if behind:
            raise NotYetError(f"positions {behind}")

    try:
        consumer.subscribe(sorted({topic for topic, _ in stop_at}))
        wait_for(f"group {group} to reach its offsets", expect_end, deadline_seconds, interval_seconds=0.01)
        consumer.commit(offsets=_topic_partitions(stop_at), asynchronous=False)
    except (KafkaException, DeadlineError) as error:
        raise _refused(f"consume as group {group}", region, error) from error
    finally:
        consumer.close()
    return read


def end_offsets(region: Region, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The offset after the last record of each partition of the topics; waits for partitions that just got a leader."""
    consumer = Consumer({**region.client_config(APP), "group.id": "unused"})
    try:
        known = consumer.list_topics(timeout=REQUEST_SECONDS).topics
        places = [(topic, partition) for topic in topics for partition in known[topic].partitions]
        return {
            place: wait_for(
                f"the end of {place[0]}-{place[1]}", partial(_end_offset, consumer, *place), REQUEST_SECONDS
            )
            for place in places
        }
    except (KafkaException, DeadlineError) as error:
        raise _refused("read end offsets", region, error) from error
    finally:
        consumer.close()


def _end_offset(consumer: Consumer, topic: str, partition: int) -> int:
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=REQUEST_SECONDS)[1]
    except KafkaException as error:
        # The broker that the metadata names leads the partition a moment later than it is named.
        if error.args[0].code() in _NOT_LEADING_YET:
            raise NotYetError(str(error)) from error
        raise


def _topic_partitions(offsets: Positions) -> list[TopicPartition]:
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]


def _expect_leaders(admin: AdminClient, partitions: Mapping[str, int]) -> None:
    known = admin.list_topics(timeout=REQUEST_SECONDS).topics
    for topic, wanted in partitions.items():
        found = known[topic].partitions if topic in known else {}
        leaders = [partition for partition in found.values() if partition.leader >= 0]
        if len(leaders) != wanted:
            raise NotYetError(f"{topic} has {len(leaders)} of {wanted} partitions")


def _partition_count(producer: Producer, region: Region, topic: str) -> int:
    try:
        found = producer.list_topics(topic, timeout=REQUEST_SECONDS).topics[topic]
    except KafkaException as error:
        raise _refused(f"read the metadata of {topic}", region, error) from error
    if found.error is not None:
        raise _refused(f"produce to {topic}", region, found.error)
    return len(found.partitions)


def _refused(what: str, region: Region, why: object) -> LocalStackError:
    return LocalStackError(
        f"could not {what} in {region.alias}: {why}",
        "see that the region runs (`replicate local status`), that the topic exists and that its user may do this",
    )
