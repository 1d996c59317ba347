"""Counts, record by record, what a group skips and reads again if it continues at its position. Only reads."""

from collections import Counter
from dataclasses import dataclass
from typing import cast

from components.clients.reader import KafkaReader
from components.clients.streams import RecordStream
from components.contract.parameters import FlowParameters
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.record_identity import Headers, identity, without_mark
from infra.operate.move.facts import Move

#: How many source records before a position are read, to recognize those that the group reads again.
_BEFORE = 100_000


@dataclass(frozen=True)
class Count:
    """Numbers of records: those that the group had to read on the target, those that it skipped, those read again."""

    expected: int
    skipped: int
    read_again: int


def count(
    flow: FlowParameters,
    source: KafkaReader,
    target: KafkaReader,
    move: Move,
    source_log: OffsetRange,
) -> Count:
    """Read from the group's position to the end, and compare with the records that the group has not consumed.

    `source_log` ends where the drill began: later records are not expected. Raises NoAnswerError.
    """
    isolation = flow.exactly_once
    end = target.logs([move.target], committed=isolation)[move.target].end
    begin = max(source_log.start, move.committed - _BEFORE)
    with source.stream(committed=isolation) as on_source:
        consumed = _records(flow, on_source, move.source, OffsetRange(begin, move.committed))
        to_read = _records(flow, on_source, move.source, OffsetRange(move.committed, source_log.end))
    with target.stream(committed=isolation) as on_target:
        found = _records(flow, on_target, move.target, OffsetRange(move.offset, end))
    more = found - to_read
    again = sum(number for each, number in more.items() if each in consumed)
    return Count(to_read.total(), (to_read - found).total(), again)


def _records(
    flow: FlowParameters, stream: RecordStream, partition: TopicPartition, offsets: OffsetRange
) -> Counter[bytes]:
    """The records of a range by identity. Without the guard's mark, both clusters of a pair hold equal records."""
    marks = (flow.guard.filter, flow.guard.mark) if flow.guard else ()
    found: Counter[bytes] = Counter()
    for message in stream.messages(partition, offsets):
        headers = cast(Headers, message.headers() or ())
        for mark in marks:
            headers = without_mark(headers, mark)
        found[identity(message.key(), message.value(), headers, message.timestamp()[1])] += 1
    return found
