"""Reads the records of one partition after the other with one connection, and holds no more than a batch of them."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from components.clients.errors import NoAnswerError
from components.clients.login import ClientConfig
from components.kafka.positions import OffsetRange
from components.kafka.positions import TopicPartition as Partition

#: Seconds without a record after which a cluster counts as silent.
SILENT_SECONDS = 15.0
#: A poll waits for a whole batch, so it must be short for the last records of a partition.
_POLL_SECONDS, _BATCH = 0.02, 1_000
#: A reader with explicit offsets needs no permission for a group, but the client still looks for its coordinator.
HARMLESS = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED})
#: Errors of every request if the cluster cannot be reached or refuses the login.
NO_ANSWER = frozenset({KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN})
#: The end of a partition is known only after a fetch that found nothing, so that one must not wait for records. A range
#: whose beginning has expired meanwhile must be an error: with a reset it would look like a partition without records.
STREAM_CONFIG: ClientConfig = {
    "auto.offset.reset": "error",
    "group.id": "replicate-positions",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 10,
    "queued.max.messages.kbytes": 16_384,
}


class RecordStream:
    """One consumer; `failed` creates the error for what could not be read."""

    def __init__(self, consumer: Consumer, failed: Callable[[str, Any], NoAnswerError]) -> None:
        self._consumer, self._failed = consumer, failed

    def messages(self, partition: Partition, offsets: OffsetRange) -> Iterator[Message]:
        """The records of a range in order; another range must not begin before the last one was read or dropped.

        Raises NoAnswerError.
        """
        if not offsets.size:
            return
        self._consumer.assign([TopicPartition(partition.topic, partition.partition, offsets.start)])
        heard = time.monotonic()
        while True:
            batch = self._consumer.consume(_BATCH, _POLL_SECONDS)
            if batch:
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENT_SECONDS:
                raise self._failed(f"records of {partition} did not come within {SILENT_SECONDS:g} s", None)
            for message in batch:
                if (message.topic(), message.partition()) != partition:
                    continue
                if self._is_end(partition, message):
                    self._expect_no_loss(partition, offsets, message)
                    return
                offset = message.offset() or 0
                if message.error() is None and offset < offsets.end:
                    yield message
                if message.error() is None and offset + 1 >= offsets.end:
                    return

    def _expect_no_loss(self, partition: Partition, offsets: OffsetRange, end: Message) -> None:
        """A log never ends before an earlier end, unless it was truncated or its topic was created again."""
        now = end.offset()
        if now is not None and now < offsets.end:
            why = "an unclean leader election lost records, or the topic was created again"
            raise self._failed(f"{partition} ends at {now}, and ended at {offsets.end} before", why)

    def _is_end(self, partition: Partition, message: Message) -> bool:
        error = message.error()
        if error is None or error.code() in HARMLESS | NO_ANSWER:
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            return True
        raise self._failed(f"records of {partition} could not be read", error)
