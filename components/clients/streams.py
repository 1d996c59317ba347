"""Reads records: one partition after the other, or ranges of many partitions at once. Holds no more than a batch.

A consumer belongs to no group, commits nothing and creates no topic.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from kafka_replication.components.clients.errors import NO_ANSWER, ClusterErrors
from kafka_replication.components.clients.login import ClientConfig
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord

#: Seconds without a record after which a cluster counts as silent.
SILENT_SECONDS = 15.0
#: A poll waits for a whole batch, so it must be short for the last records of a partition.
_POLL_SECONDS, _BATCH = 0.02, 1_000
#: Ranges of one partition that are closer than this are read as one.
_MERGE_WITHIN_RECORDS = 64
#: A reader with explicit offsets needs no permission for a group, but the client still looks for its coordinator.
_HARMLESS = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED})
#: The end of a partition is known only after a fetch that found nothing, so that one must not wait for records.
_CONSUMER: ClientConfig = {
    "group.id": "replicate-positions",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 10,
}
#: A range whose beginning has expired meanwhile must be an error: with a reset it would look like a partition without
#: records.
STREAM_CONFIG: ClientConfig = {**_CONSUMER, "auto.offset.reset": "error", "queued.max.messages.kbytes": 16_384}
#: If retention has removed the beginning of a range, the rest of it is read. Most ranges are short, and what is fetched
#: after their ends is dropped.
RANGES_CONFIG: ClientConfig = {
    **_CONSUMER,
    "auto.offset.reset": "earliest",
    "fetch.message.max.bytes": 256 * 1024,
    "queued.max.messages.kbytes": 16_384,
}


class SilentError(Exception):
    """A cluster delivered nothing for too long; the text names the partitions that were not read."""


class HeaderNameError(Exception):
    """A header has a name that is not UTF-8, which this client cannot show; the text names the record."""


def record_of(message: Message, partition: TopicPartition) -> KafkaRecord:
    """Return the record in a message of that partition that is no error. Raises HeaderNameError."""
    try:
        headers: Any = message.headers() or []
    except (SystemError, UnicodeDecodeError):
        raise HeaderNameError(f"{partition} at {message.offset()}") from None
    return KafkaRecord(
        partition, message.offset() or 0, message.timestamp()[1], message.key(), message.value(), headers
    )


class RecordStream:
    """One consumer that reads one partition after the other."""

    def __init__(self, consumer: Consumer, errors: ClusterErrors) -> None:
        self._consumer, self._errors = consumer, errors

    def records(self, partition: TopicPartition, offsets: OffsetRange) -> Iterator[KafkaRecord]:
        """Yield the records of a range in order; another range must not begin before the last one was read or dropped.

        Raises ClusterError.
        """
        if not offsets.size:
            return
        self._consumer.assign([Place(partition.topic, partition.partition, offsets.start)])
        heard = time.monotonic()
        while True:
            batch = self._consumer.consume(_BATCH, _POLL_SECONDS)
            if batch:
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENT_SECONDS:
                what = f"records of {partition} did not come within {SILENT_SECONDS:g} s"
                raise self._errors.error(what, None)
            for message in batch:
                if (message.topic(), message.partition()) != partition:
                    continue
                if message.error() is not None:
                    try:
                        ends = _is_end(message)
                    except KafkaException as error:
                        raise self._errors.error(f"records of {partition} could not be read", error.args[0]) from None
                    if ends:
                        self._expect_no_loss(partition, offsets, message)
                        return
                    continue
                offset = message.offset() or 0
                if offset < offsets.end:
                    try:
                        yield record_of(message, partition)
                    except HeaderNameError as error:
                        raise self._errors.unreadable_header(str(error)) from None
                if offset + 1 >= offsets.end:
                    return

    def _expect_no_loss(self, partition: TopicPartition, offsets: OffsetRange, end: Message) -> None:
        """A log never ends before an earlier end, unless it was truncated or its topic was created again."""
        now = end.offset()
        if now is not None and now < offsets.end:
            why = "an unclean leader election lost records, or the topic was created again"
            raise self._errors.error(f"{partition} ends at {now}, and ended at {offsets.end} before", why)


class RangeReader:
    """One consumer that reads ranges of many partitions at once."""

    def __init__(self, consumer: Consumer, silent_seconds: float) -> None:
        self._consumer, self._silent_seconds = consumer, silent_seconds
        self._paused: list[TopicPartition] = []

    def close(self) -> None:
        self._consumer.close()

    def records(
        self,
        ranges: Iterable[tuple[TopicPartition, OffsetRange]],
        is_last: Callable[[KafkaRecord], bool] = lambda _: False,
        within_seconds: float = math.inf,
    ) -> Iterator[KafkaRecord]:
        """Yield the records of the ranges, several per partition, in the order of each partition. A record in two
        ranges is returned once. A partition is read until a record `is_last`.

        Records that retention removes meanwhile are left out. Raises KafkaException, HeaderNameError, SilentError, and
        TimeoutError after `within_seconds`.
        """
        until = time.monotonic() + within_seconds
        for layer in layers(ranges):
            yield from self._layer(layer, is_last, until)

    def _layer(
        self, wanted: Mapping[TopicPartition, OffsetRange], is_last: Callable[[KafkaRecord], bool], until: float
    ) -> Iterator[KafkaRecord]:
        # Only before the next assignment: librdkafka starts to fetch in another thread, and a partition that is resumed
        # at that moment may stay silent for ever, because all its messages then count as older than the resumption.
        self._consumer.resume([Place(*partition) for partition in self._paused])
        self._paused.clear()
        self._consumer.assign([Place(*partition, offsets.start) for partition, offsets in wanted.items()])
        left, heard = dict(wanted), time.monotonic()
        while left:
            if time.monotonic() >= until:
                raise TimeoutError
            batch = self._consumer.consume(_BATCH, _POLL_SECONDS)
            for message in batch:
                if _is_end(message):
                    partition, offset = _place(message)
                    # A log may end early for a moment, while another broker takes the partition over.
                    if partition in left and offset >= left[partition].end:
                        heard = time.monotonic()
                        del left[partition]
                elif message.error() is None:
                    heard = time.monotonic()
                    yield from self._taken(message, left, is_last)
            if left and time.monotonic() - heard > self._silent_seconds:
                raise SilentError(", ".join(map(str, sorted(left)[:5])))

    def _taken(
        self, message: Message, left: dict[TopicPartition, OffsetRange], is_last: Callable[[KafkaRecord], bool]
    ) -> Iterator[KafkaRecord]:
        partition, offset = _place(message)
        offsets = left.get(partition)
        if offsets is None:
            return
        ends = offset + 1 >= offsets.end
        if offsets.start <= offset < offsets.end:
            record = record_of(message, partition)
            ends = is_last(record) or ends
            yield record
        if ends:
            del left[partition]
            self._consumer.pause([Place(*partition)])
            self._paused.append(partition)


def _place(message: Message) -> tuple[TopicPartition, int]:
    return TopicPartition(message.topic() or "", message.partition() or 0), message.offset() or 0


def _is_end(message: Message) -> bool:
    """Return whether the message says that its partition ends here. Raises KafkaException."""
    error = message.error()
    if error is None or error.code() in _HARMLESS | NO_ANSWER:
        return False
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    raise KafkaException(error)


def layers(ranges: Iterable[tuple[TopicPartition, OffsetRange]]) -> list[dict[TopicPartition, OffsetRange]]:
    """Return `ranges` in as few sets as possible. A set has each partition at most once, because a consumer has only
    one position in a partition.

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
    columns = ([(partition, one) for one in parts] for partition, parts in joined.items())
    return [dict(filter(None, layer)) for layer in itertools.zip_longest(*columns)]
