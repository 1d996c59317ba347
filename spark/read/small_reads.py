"""Reads few records with one consumer in Spark's JVM: no plan, no task, and one connection for any number of ranges.

The consumer comes from the client library that Spark's reader uses, with the same properties. It belongs to no group,
commits nothing and creates no topic.
"""

import time
from binascii import a2b_base64
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.record_identity import Headers
from spark.java_json import JavaJson
from spark.read.credentials import ClientOptions
from spark.read.kafka_errors import JavaError, JavaObject

#: Ranges of one partition that are closer than this are read as one.
_MERGE_WITHIN_RECORDS = 64
_POLL_MS = 200
#: If the ranges of a read have this many offsets on average, this many polls pass from the JVM to Python together.
_LONG_RANGE, _POLLS_OF_LONG_RANGES = 1_000, 10
_CONSUMER = {
    "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "enable.auto.commit": "false",
    "allow.auto.create.topics": "false",
    # If retention has removed the beginning of a range, the rest of it is read.
    "auto.offset.reset": "earliest",
    # A batch passes from the JVM to Python as one text. Most ranges are shorter; the records after them are dropped.
    "max.poll.records": "200",
    "fetch.max.bytes": str(4 * 1024 * 1024),
    "max.partition.fetch.bytes": str(256 * 1024),
    # The end of one range must not keep the next one waiting.
    "fetch.max.wait.ms": "10",
}
_NOT_NEEDED = ("leaderEpoch", "serializedKeySize", "serializedValueSize", "timestampType", "deliveryCount")

#: A record as the JVM writes it: bytes are base64.
JsonRecord = Mapping[str, Any]


class KafkaRecord(NamedTuple):
    """`time_ms` is the record's timestamp in ms since 1970."""

    partition: TopicPartition
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class SilentError(Exception):
    """A cluster delivered nothing for too long; the text names the partitions that were not read."""


class SmallReads:
    """One consumer of a cluster. `java` gives a class of the JVM by its full name."""

    def __init__(
        self, java: Callable[[str], JavaObject], options: ClientOptions, isolation: str, timeout_seconds: float
    ) -> None:
        self._java, self._timeout_seconds = java, timeout_seconds
        properties = java("java.util.Properties")()
        settings = {
            "bootstrap.servers": options.bootstrap_servers,
            "isolation.level": isolation,
            "default.api.timeout.ms": str(round(timeout_seconds * 1000)),
            **_CONSUMER,
        }
        for key, value in {**options.properties, **settings}.items():
            properties.setProperty(key, value)
        self._consumer: JavaObject = java("org.apache.kafka.clients.consumer.KafkaConsumer")(properties)
        record = java("org.apache.kafka.clients.consumer.ConsumerRecord")("", 0, 0, b"", b"")
        self._json = JavaJson(java, [(record, _NOT_NEEDED), (record.headers(), ("isReadOnly",))])
        self._poll, self._at_once = map(java("java.time.Duration").ofMillis, (_POLL_MS, 0))
        self._partitions: dict[TopicPartition, JavaObject] = {}

    def close(self) -> None:
        # An interrupted read may still hold the consumer in the JVM, which then prevents others from closing it.
        with suppress(JavaError):
            self._consumer.close(self._java("java.time.Duration").ofSeconds(1))

    def records(self, ranges: Iterable[tuple[TopicPartition, OffsetRange]]) -> Iterator[KafkaRecord]:
        """The records of the ranges, several per partition, in the order of each partition. A record in two ranges
        is returned once.

        Records that retention removes meanwhile are left out. Raises what the client raises, and SilentError.
        """
        return map(decoded, chain.from_iterable(self.json_batches(ranges)))

    def json_batches(self, ranges: Iterable[tuple[TopicPartition, OffsetRange]]) -> Iterator[Sequence[JsonRecord]]:
        """`records` as JSON, several of one partition at a time."""
        for layer in layers(ranges):
            yield from self._layer(layer)

    def _layer(self, wanted: Mapping[TopicPartition, OffsetRange]) -> Iterator[Sequence[JsonRecord]]:
        left, heard = dict(wanted), time.monotonic()
        java = self._partitions
        for each in wanted.keys() - java.keys():
            java[each] = self._java("org.apache.kafka.common.TopicPartition")(*each)
        assigned = _listed(self._java, [java[each] for each in wanted])
        self._consumer.assign(assigned)
        # A partition that was assigned before is still paused.
        self._consumer.resume(assigned)
        for each, offsets in wanted.items():
            self._consumer.seek(java[each], offsets.start)
        places: dict[TopicPartition, int] = {}
        long = sum(each.size for each in wanted.values()) >= _LONG_RANGE * len(wanted)
        while left:
            reached: dict[TopicPartition, int] = {}
            for partition, batch in self._polled(_POLLS_OF_LONG_RANGES if long else 1):
                reached[partition] = batch[-1]["offset"] + 1
                if (asked := left.get(partition)) is not None:
                    yield [each for each in batch if asked.start <= each["offset"] < asked.end]
            if not reached:
                # After the last record there may be markers, or gaps from compaction and aborts. A call for each of
                # thousands of partitions takes longer than a batch, so they are made only after a poll without records.
                reached = {each: self._consumer.position(java[each]) for each in left}
            done = [each for each in reached.keys() & left.keys() if reached[each] >= left[each].end]
            for each in done:
                del left[each]
            if done:
                self._consumer.pause(_listed(self._java, [java[each] for each in done]))
            if reached != places:
                places, heard = reached, time.monotonic()
            if left and time.monotonic() - heard > self._timeout_seconds:
                raise SilentError(", ".join(map(str, sorted(left)[:5])))

    def _polled(self, at_most: int) -> Iterator[tuple[TopicPartition, Sequence[JsonRecord]]]:
        """The records of the next polls as JSON, by partition."""
        batches: JavaObject = self._java("java.util.ArrayList")()
        held = 0
        while held < at_most:
            batch = self._consumer.poll(self._at_once if held else self._poll)
            if batch.isEmpty():
                break
            batches.add(batch)
            held += 1
        if held:
            for each in self._json.read(batches):
                for records in each["records"].values():
                    yield TopicPartition(records[0]["topic"], records[0]["partition"]), records


def layers(ranges: Iterable[tuple[TopicPartition, OffsetRange]]) -> list[dict[TopicPartition, OffsetRange]]:
    """`ranges` in as few sets as possible. A set has each partition at most once, because a consumer has only one
    position in a partition.

    Ranges of a partition that overlap or nearly touch are joined first.
    """
    joined: dict[TopicPartition, list[OffsetRange]] = {}
    for partition, offsets in sorted(ranges):
        if not offsets.size:
            continue
        known = joined.setdefault(partition, [])
        if known and offsets.start <= known[-1].end + _MERGE_WITHIN_RECORDS:
            known[-1] = OffsetRange(known[-1].start, max(known[-1].end, offsets.end))
        else:
            known.append(offsets)
    deepest = max((len(each) for each in joined.values()), default=0)
    return [{partition: each[n] for partition, each in joined.items() if n < len(each)} for n in range(deepest)]


def decoded(record: JsonRecord) -> KafkaRecord:
    """A record from its JSON."""
    return KafkaRecord(
        TopicPartition(record["topic"], record["partition"]),
        record["offset"],
        record["timestamp"],
        _bytes(record["key"]),
        _bytes(record["value"]),
        headers_of(record),
    )


def headers_of(record: JsonRecord) -> Headers:
    """The headers of a record in JSON. A header that has not been read yet is still in its buffers."""
    headers = record["headers"]["headers"]
    named = (named_header(each, "replace") for each in headers) if headers else ()
    return [(name, _bytes(value)) for name, value in named]


def named_header(header: Mapping[str, Any], errors: str = "strict") -> tuple[str, str | None]:
    """The name and the value as base64; raises UnicodeDecodeError, unless `errors` says otherwise."""
    buffered = _bytes(header["keyBuffer"])
    name = header["key"] if buffered is None else buffered.decode(errors=errors)
    return name, header["value"] if header["valueBuffer"] is None else header["valueBuffer"]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else a2b_base64(text)


def _listed(java: Callable[[str], JavaObject], items: Collection[object]) -> JavaObject:
    found = java("java.util.ArrayList")()
    for item in items:
        found.add(item)
    return found
