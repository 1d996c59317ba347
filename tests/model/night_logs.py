"""Logs in memory behind the interfaces with which a failover and a failback read Kafka."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.streams import RecordStream
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.record_identity import KafkaRecord
from kafka_replication.infra.operate.partition_logs import PartitionLog
from tests.model.partition import ORDERS


class Written(NamedTuple):
    """A record of a log. Only copies have the same number. `marks` are headers of a pair's guards."""

    at: int
    number: int
    time_ms: int
    marks: tuple[str, ...] = ()

    @property
    def record(self) -> KafkaRecord:
        headers = [(mark, None) for mark in self.marks]
        return KafkaRecord(ORDERS, self.at, self.time_ms, None, b"%d" % self.number, headers)


@dataclass(frozen=True)
class Broker:
    """Answers for one partition as a broker does."""

    held: Sequence[Written]

    def offset_at(self, _: TopicPartition, time_ms: int) -> int | None:
        return next((written.at for written in self.held if written.time_ms >= time_ms), None)

    def records(self, _: TopicPartition, offsets: OffsetRange) -> Iterator[KafkaRecord]:
        return (written.record for written in self.held if offsets.start <= written.at < offsets.end)


def partition_log(records: Sequence[Written], log: OffsetRange) -> PartitionLog:
    """What a command reads of a partition that holds these records."""
    broker = Broker([each for each in records if log.start <= each.at < log.end])
    return PartitionLog(cast(KafkaReader, broker), cast(RecordStream, broker), ORDERS, log)


def time_of(number: int, disorder: int) -> int:
    """Timestamp of a record in ms; with `disorder` producers' clocks differ by up to 20 records."""
    return 1_000 + number * 10 - disorder * (number * 7919 % 3) * 100
